"""What the server says beside an answer becomes a warning, at the line of the caller."""

import warnings

import pytest

import mercato
from tests.fake import KEY, Fake, data


def told(headers: dict[str, str], *sentences: str) -> list[warnings.WarningMessage]:
    fake = Fake(faults=[lambda request: data({}, headers, **({"warnings": list(sentences)} if sentences else {}))])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fake.client().account()
    return caught


def test_nothing_to_say() -> None:
    assert told({}) == []


@pytest.mark.parametrize(("headers", "sentences", "kind", "texts"), [
    ({"X-Credits-Warning": "day-cap; spent=850; cap=1000, low-balance; remaining=312"}, (), mercato.CreditsWarning,
     ["day-cap: the key has spent most of its credits of this day", "low-balance: the account has few credits left"]),
    ({"X-Credits-Warning": "new-kind"}, (), mercato.CreditsWarning, ["new-kind"]),
    ({"X-Warnings": '"NaN became null", "say \\"hi\\", too"'}, (), mercato.MercatoWarning,
     ["NaN became null", 'say "hi", too']),
    ({}, ("NaN became null",), mercato.MercatoWarning, ["NaN became null"]),
    ({"Deprecation": "@1700000000", "Sunset": "Thu, 31 Dec 2026 00:00:00 GMT"}, (), mercato.ServerDeprecationWarning,
     ["the server calls this deprecated; it ends on Thu, 31 Dec 2026 00:00:00 GMT"]),
    ({}, (f"you sent {KEY}",), mercato.MercatoWarning, ["you sent mk_…"]),
])
def test_warns_by_kind(headers: dict[str, str], sentences: tuple[str, ...], kind: type[Warning],
                       texts: list[str]) -> None:
    caught = told(headers, *sentences)
    assert [str(one.message) for one in caught] == texts
    assert all(one.category is kind for one in caught)
    assert all(one.filename == __file__ for one in caught), "the line of the caller is named"


def test_amounts_stand_beside_the_text() -> None:
    caught = told({"X-Credits-Warning": "day-cap; spent=850; cap=1000; resetsAt=2026-11-23T00:00:00Z"})
    warning = caught[0].message
    assert isinstance(warning, mercato.CreditsWarning)
    assert (warning.name, warning.details) == (
        "day-cap", {"spent": "850", "cap": "1000", "resetsAt": "2026-11-23T00:00:00Z"})


def test_walk_warns_once() -> None:
    fake = Fake()

    def falling(request: object) -> None:
        fake.headers = {"X-Credits-Warning": f"low-balance; remaining={fake.credits}"}

    fake.faults = [falling] * 9  # type: ignore[list-item]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert len(fake.client().dataset("numbers").query(page_size=3).to_list()) == 25
    assert [str(one.message) for one in caught] == ["low-balance: the account has few credits left"]


def test_kinds_can_be_errors() -> None:
    fake = Fake(headers={"X-Credits-Warning": "low-balance; remaining=3"})
    with warnings.catch_warnings():
        warnings.simplefilter("error", mercato.CreditsWarning)
        with pytest.raises(mercato.CreditsWarning):
            fake.client().dataset("numbers").query(limit=1).to_list()
