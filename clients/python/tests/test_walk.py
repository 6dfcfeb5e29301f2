"""Walks over pages: every page asks the same, reads the same version, and is paid once."""

import asyncio
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import mercato
from tests.fake import Fake, answers, breaks, data

QUESTION: dict[str, Any] = {"filters": {"id_min": 3}, "columns": ["name"], "sort_by": "id", "descending": True}


def test_page_two_sends_what_page_one_sent() -> None:
    fake = Fake()
    rows = list(fake.client().dataset("numbers").query(**QUESTION, offset=2, version="1.0.0", page_size=10))
    assert rows == [{"name": f"n{number}"} for number in range(22, 2, -1)]
    first, second = fake.bodies("/query")
    cursor = second.pop("cursor")
    assert cursor
    assert first == second == {"filters": {"id_min": 3}, "columns": ["name"], "sortBy": "id", "sortDirection": "desc",
                               "offset": 2, "version": "1.0.0", "limit": 10}


def test_question_is_frozen_when_it_is_asked() -> None:
    fake = Fake()
    filters, columns = {"id_min": 3}, ["id"]
    query = fake.client().dataset("numbers").query(filters, columns, page_size=5)
    rows = iter(query)
    next(rows)
    filters["id_min"] = 20
    columns.append("name")
    assert [row["id"] for row in rows] == list(range(4, 25))
    assert all(body["filters"] == {"id_min": 3} and body["columns"] == ["id"] for body in fake.bodies("/query"))


def test_pages_grow() -> None:
    fake = Fake(rows=[{"id": number} for number in range(25_000)])
    assert len(fake.client().dataset("numbers").query().to_list()) == 25_000
    assert [body["limit"] for body in fake.bodies("/query")] == [100, 1_000, 10_000, 10_000, 10_000]


def test_takes_shorter_pages_without_credits() -> None:
    fake = Fake(is_free=True)
    assert [row["id"] for row in fake.client().dataset("numbers").query()] == list(range(25))
    assert [body["limit"] for body in fake.bodies("/query")] == [100, 10, 10, 10]


def test_loop_that_stops_early_pays_for_one_page() -> None:
    fake = Fake()
    for _ in fake.client().dataset("numbers").query(page_size=10):
        break
    assert fake.credits == 1_000_000 - 10


@pytest.mark.parametrize(("limit", "limits"), [
    (7, [7]), (10, [10]), (17, [10, 7]), (25, [10, 10, 5]), (99, [10, 10, 10])])
def test_limit_is_of_all_pages(limit: int, limits: list[int]) -> None:
    fake = Fake()
    rows = fake.client().dataset("numbers").query(limit=limit, page_size=10).to_list()
    assert [row["id"] for row in rows] == list(range(min(limit, 25)))
    assert [body["limit"] for body in fake.bodies("/query")] == limits


def test_pages_tell_cost_and_cursor() -> None:
    fake = Fake()
    dataset = fake.client().dataset("numbers")
    pages = list(dataset.query(page_size=10).pages())
    assert [(len(page.rows), page.credits_charged, page.credits_remaining) for page in pages] == [
        (10, 10, 999_990), (10, 10, 999_980), (5, 5, 999_975)]
    assert pages[-1].next_cursor is None
    rest = dataset.query(page_size=10, cursor=pages[0].next_cursor).to_list()
    assert [row["id"] for row in rest] == list(range(10, 25))


def test_walk_stays_on_its_version() -> None:
    fake = Fake()
    rows = iter(fake.client().dataset("numbers").query(page_size=10))
    next(rows)
    fake.version = "2.0.0"
    with pytest.raises(mercato.UnexpectedAnswer, match=r"began on version 1\.0\.0"):
        list(rows)


def test_retry_repeats_key_and_bytes() -> None:
    fake = Fake(faults=[breaks, answers(503, {"Retry-After": "0"}), answers(409, {"Retry-After": "0"},
                                                                            reason="IDEMPOTENCY_KEY_IN_USE")])
    rows = fake.client().dataset("numbers").query(page_size=25).to_list()
    assert len(rows) == 25
    assert len(fake.requests) == 4
    assert len(set(fake.keys())) == 1
    assert len({request.content for request in fake.requests}) == 1
    assert fake.credits == 1_000_000 - 25


def test_answer_that_is_lost_is_paid_once() -> None:
    fake = Fake()

    def lost(request: Any) -> Any:
        fake._page(request)
        return breaks(request)

    fake.faults = [lost]
    assert len(fake.client().dataset("numbers").query(page_size=25).to_list()) == 25
    assert fake.credits == 1_000_000 - 25


def test_each_page_has_a_key_of_its_own() -> None:
    fake = Fake()
    query = fake.client().dataset("numbers").query(page_size=10)
    list(query)
    list(query)
    assert len(set(fake.keys())) == len(fake.keys()) == 6


def test_key_of_the_caller_makes_a_second_run_free() -> None:
    fake = Fake()
    query = fake.client().dataset("numbers").query(page_size=10, idempotency_key="report-7")
    assert list(query) == list(query)
    assert fake.keys() == ["report-7.page-1", "report-7.page-2", "report-7.page-3"] * 2
    assert fake.credits == 1_000_000 - 25


def test_retries_wait_as_the_server_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    fake = Fake(faults=[answers(429, {"Retry-After": "30"})])
    list(fake.client().dataset("numbers").query(limit=1))
    assert len(waits) == 1
    assert 30 <= waits[0] <= 31


def test_wait_of_a_day_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("waited"))
    fake = Fake(faults=[answers(429, {"Retry-After": "40000"}, reason="DAILY_QUOTA_EXCEEDED")])
    with pytest.raises(mercato.RateLimited) as caught:
        list(fake.client().dataset("numbers").query())
    assert caught.value.retry_after == 40_000


def test_gives_up_after_all_tries() -> None:
    fake = Fake(faults=[breaks] * 9)
    with pytest.raises(mercato.ConnectionError):
        list(fake.client().dataset("numbers").query())
    assert len(fake.requests) == 5


def test_cursor_without_rows_is_no_endless_walk() -> None:
    stuck = data({"results": [], "rowsReturned": 0, "nextCursor": "again", "totalRows": None})
    with pytest.raises(mercato.UnexpectedAnswer):
        list(Fake(faults=[lambda request: stuck]).client().dataset("numbers").query())


def test_literals_of_filters() -> None:
    fake = Fake(faults=[lambda request: data({"rows": 0, "creditsRequired": 0, "creditsAvailable": 0,
                                              "affordable": True})])
    fake.client().dataset("numbers").query({
        "day": {"gte": date(2026, 1, 31)}, "at": datetime(2026, 1, 31, tzinfo=timezone.utc), "set": {7},
        "exact": Decimal("901.10"), "long": Decimal("0.12345678901234567890"), "pair": (1, 2),
    }).count()
    assert fake.bodies("/estimate")[0]["filters"] == {
        "day": {"gte": "2026-01-31"}, "at": "2026-01-31T00:00:00+00:00", "set": [7], "exact": 901.1,
        "long": "0.12345678901234567890", "pair": [1, 2]}


@pytest.mark.parametrize(("arguments", "error"), [
    ({"columns": "id"}, TypeError), ({"filters": [1]}, TypeError), ({"filters": {"a": object()}}, TypeError),
    ({"filters": {"a": b"x"}}, TypeError), ({"filters": {"a": float("nan")}}, ValueError), ({"limit": 0}, ValueError),
    ({"offset": -1}, ValueError), ({"max_credits": -1}, ValueError), ({"page_size": 10_001}, ValueError),
    ({"page_size": 0}, ValueError), ({"idempotency_key": " a"}, ValueError), ({"idempotency_key": ""}, ValueError),
])
def test_refuses_wrong_arguments_before_sending(arguments: dict[str, Any], error: type[Exception]) -> None:
    fake = Fake()
    with pytest.raises(error):
        fake.client().dataset("numbers").query(**arguments)
    assert not fake.requests


def test_numbers_are_exact_on_demand() -> None:
    fake = Fake(rows=[{"id": 2**100, "price": 901.5}])
    assert fake.client().dataset("numbers").query().to_list() == [{"id": 2**100, "price": 901.5}]
    exact = fake.client(exact_numbers=True).dataset("numbers").query().to_list()[0]["price"]
    assert (type(exact), exact) == (Decimal, Decimal("901.5"))


def test_awaits_the_same() -> None:
    async def walk(fake: Fake) -> list[Any]:
        async with fake.async_client() as client:
            query = client.dataset("numbers").query(**QUESTION, page_size=10)
            rows = [row async for row in query]
            assert rows == await query.to_list()
            assert len([page async for page in query.pages()]) == 3
            return rows

    fake = Fake(faults=[breaks, answers(503, {"Retry-After": "0"})])
    assert asyncio.run(walk(fake)) == [{"name": f"n{number}"} for number in range(24, 2, -1)]
