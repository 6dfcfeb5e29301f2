"""Streams: resumed behind the last whole row, whole at the end, paid once."""

import asyncio
import json
import random
from contextlib import aclosing
from typing import Any

import httpx
import pytest

import mercato
from mercato.core import stream
from tests.fake import Fake, answers, refusal


def ids(rows: Any) -> list[int]:
    return [row["id"] for row in rows]


@pytest.mark.parametrize("seed", range(20))
def test_resumes_wherever_it_is_cut(seed: int) -> None:
    rng = random.Random(seed)
    fake = Fake(cuts=[rng.randrange(0, 500) for _ in range(6)])
    assert ids(fake.client().dataset("numbers").stream(columns=["id"])) == list(range(25))
    assert fake.credits == 1_000_000 - 25
    assert len(set(fake.keys())) == 1
    assert len({request.content for request in fake.requests}) == 1


def test_resumes_behind_whole_rows() -> None:
    fake = Fake(cuts=[40, 3, None])
    assert len(list(fake.client().dataset("numbers").stream())) == 25
    whole = b'{"id": 0, "name": "n0"}\n'
    assert [request.url.params.get("afterRows") for request in fake.requests] == [None, str(40 // len(whole)), "1"]


def test_gives_up_when_nothing_comes() -> None:
    fake = Fake(cuts=[0] * 9)
    with pytest.raises(mercato.ConnectionError):
        list(fake.client().dataset("numbers").stream())
    assert len(fake.requests) == 5


def test_tries_are_counted_anew_while_rows_come() -> None:
    fake = Fake(cuts=[40] * 26)
    assert len(list(fake.client().dataset("numbers").stream())) == 25


def test_missing_end_is_a_cut() -> None:
    fake = Fake()
    whole = b'{"id": 0, "name": "n0"}\n'

    def short(request: httpx.Request) -> httpx.Response:
        fake._charge(request.headers["Idempotency-Key"], 25)
        return httpx.Response(200, headers={"X-Dataset-Version": "1.0.0"}, content=whole)

    fake.faults = [short]
    assert ids(fake.client().dataset("numbers").stream()) == list(range(25))


def test_begins_anew_where_nothing_was_charged() -> None:
    fake = Fake(cuts=[300, 200, None])

    def forgotten(request: httpx.Request) -> None:
        fake.credits += fake.paid.pop(request.headers["Idempotency-Key"])

    fake.faults = [lambda request: None, forgotten]
    assert ids(fake.client().dataset("numbers").stream()) == list(range(25))
    first, refused, anew, resumed = fake.requests
    assert first.content == refused.content
    assert json.loads(anew.content)["version"] == "1.0.0"
    assert anew.headers["Idempotency-Key"] == resumed.headers["Idempotency-Key"] != first.headers["Idempotency-Key"]
    assert "afterRows" not in anew.url.params
    assert anew.content == resumed.content
    assert fake.credits == 1_000_000 - 25


def test_version_must_not_change_within_a_stream() -> None:
    fake = Fake(cuts=[100])
    rows = fake.client().dataset("numbers").stream()
    next(rows)
    fake.version = "2.0.0"
    with pytest.raises(mercato.UnexpectedAnswer, match=r"2\.0\.0"):
        list(rows)


def test_goes_on_behind_a_million_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAM_ROWS_MAX", 10)
    fake = Fake(cuts=[None, 100, None])
    assert ids(fake.client().dataset("numbers").stream({"id_min": 2}, limit=22)) == list(range(2, 24))
    bodies = fake.bodies("/stream")
    assert [body["limit"] for body in bodies] == [10, 10, 10, 2]
    assert ["cursor" in body for body in bodies] == [False, True, True, True]
    assert all(body["filters"] == {"id_min": 2} for body in bodies)
    assert fake.credits == 1_000_000 - 22


def test_takes_shorter_streams_on_the_free_plan() -> None:
    fake = Fake(is_free=True)
    assert ids(fake.client().dataset("numbers").stream()) == list(range(25))
    assert [body["limit"] for body in fake.bodies("/stream")] == [1_000_000, 10, 10, 10]


def test_passes_other_refusals_on() -> None:
    fake = Fake(faults=[lambda request: refusal(402, "NO_CREDITS", "none", reason="INSUFFICIENT_CREDITS", available=4)])
    with pytest.raises(mercato.PaymentRequired):
        list(fake.client().dataset("numbers").stream())


@pytest.mark.parametrize("content", [b"[1]\n", b"no json\n", b'{"$end": {}}\n{"id": 1}\n', b"\xff\n", b"5\n"])
def test_refuses_what_is_no_row(content: bytes) -> None:
    fake = Fake(faults=[lambda request: httpx.Response(200, content=content)])
    with pytest.raises(mercato.UnexpectedAnswer):
        list(fake.client().dataset("numbers").stream())


def test_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINE_BYTES_MAX", 100)
    fake = Fake(faults=[lambda request: httpx.Response(200, content=b"x" * 1000)])
    with pytest.raises(mercato.UnexpectedAnswer, match="does not end"):
        list(fake.client().dataset("numbers").stream())


def test_column_named_like_the_end_is_a_column() -> None:
    fake = Fake(rows=[{"id": 1, "$end": "x"}, {"id": 2, "$end": None}])
    assert [row["$end"] for row in fake.client().dataset("numbers").stream()] == ["x", None]


def test_waits_while_the_cut_is_not_noticed() -> None:
    fake = Fake(cuts=[100])
    busy = answers(409, {"Retry-After": "0"}, reason="IDEMPOTENCY_KEY_IN_USE")
    fake.faults = [lambda request: None, busy, busy]
    assert ids(fake.client().dataset("numbers").stream()) == list(range(25))


def test_leaving_early_closes_the_connection() -> None:
    closed: list[bool] = []

    class Body(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            while True:
                yield b'{"id": 1}\n'

        def close(self) -> None:
            closed.append(True)

    fake = Fake(faults=[lambda request: httpx.Response(200, stream=Body())])
    rows = fake.client().dataset("numbers").stream()
    next(rows)
    assert not closed
    rows.close()  # type: ignore[attr-defined]
    assert closed


def test_awaits_the_same() -> None:
    async def read(fake: Fake) -> list[int]:
        async with fake.async_client() as client, aclosing(client.dataset("numbers").stream()) as rows:  # type: ignore[type-var]
            return [row["id"] async for row in rows]

    assert asyncio.run(read(Fake(cuts=[100, 0, 33]))) == list(range(25))
