"""Prices, and `max_credits`: nothing is paid beyond it."""

import asyncio
from typing import Any

import httpx
import pytest

import mercato
from tests.fake import Fake, data

MILLION = 1_000_000


class Many(Fake):
    """A dataset of so many rows, of which only the number matters."""

    def __init__(self, total: int, matching: int, is_free: bool = False) -> None:
        super().__init__(is_free=is_free)
        self.total, self.matching = total, matching

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/estimate"):
            import json
            body = json.loads(request.content)
            assert body["limit"] <= (MILLION if body["for"] == "stream" else 10_000)
            count = self.matching if "filters" in body else self.total
            offset, limit, told = body.get("offset", 0), body["limit"], {}
            if "filters" in body and min(count, offset + limit) > 10_000:
                count, told = self.total, {"rowsAtLeast": max(0, min(limit, 10_000 - offset))}
            rows = max(0, min(count - offset, limit))
            is_free = self.is_free and limit <= 100
            return data({"rows": rows, "creditsRequired": 0 if is_free else rows,
                         "creditsAvailable": 0 if self.is_free else 5 * MILLION,
                         "affordable": is_free or not self.is_free} | told)
        if request.url.path.endswith("/account"):
            return data({"freeQueriesRemaining": 88, "freeRowsPerQuery": 100})
        return data({"currentVersion": "1.0.0", "rowCount": self.total,
                     "versions": [{"version": "1.0.0", "rowCount": self.total}]})


@pytest.mark.parametrize(("matching", "limit", "offset", "rows", "least", "requests"), [
    (7, None, 0, 7, None, 1),
    (7, 3, 0, 3, None, 1),
    (10_000, None, 0, 10_000, None, 2),
    (10_000, 10_000, 0, 10_000, None, 1),
    (500_000, None, 0, 60_000_000, 10_000, 3),
    (500_000, 20_000, 0, 20_000, 10_000, 2),
    (MILLION, MILLION, 0, MILLION, 10_000, 2),
    (3_456_789, 2_000_000, 0, 2_000_000, 10_000, 3),
    (3_456_789, None, 1_000_000, 59_000_000, 0, 3),
    (3_456_789, 3_000, 1_000_000, 3_000, 0, 1),
])
def test_counts_without_paying(
    matching: int, limit: int | None, offset: int, rows: int, least: int | None, requests: int,
) -> None:
    fake = Many(60_000_000, matching)
    query = fake.client().dataset("numbers").query({"a": 1}, limit=limit, offset=offset)
    cost = query.cost()
    assert len(fake.requests) == requests
    assert (cost, cost.rows, cost.credits_required, cost.rows_at_least) == (rows, rows, rows, least)
    assert cost.affordable == (rows <= 5 * MILLION)
    if least is None:
        assert query.count() == rows
    else:
        with pytest.raises(ValueError, match=f"{least:,} to {rows:,} rows"):
            query.count()


def test_counts_all_rows_by_the_header() -> None:
    fake = Many(60_000_000, 0)
    assert fake.client().dataset("numbers").query().count() == 60_000_000
    assert len(fake.requests) == 3


def test_free_plan_costs_nothing() -> None:
    for rows, limit, expected in [(8_800, None, (0, 8_800, True)), (8_801, None, (8_801, 8_801, False)),
                                  (50_000, 70, (0, 70, True)), (50_000, 8_000, (0, 8_000, True))]:
        fake = Many(60_000_000, rows, is_free=True)
        cost = fake.client().dataset("numbers").query({"a": 1}, limit=limit).cost()
        assert (int(cost), cost.rows, cost.affordable) == expected


def test_refuses_a_price_above_before_paying() -> None:
    for read in (lambda query: query.to_list(), lambda query: next(iter(query)), lambda query: list(query.pages())):
        fake = Fake()
        with pytest.raises(mercato.MaxCreditsExceeded) as caught:
            read(fake.client().dataset("numbers").query(max_credits=24))
        assert (caught.value.required, caught.value.max_credits) == (25, 24)
        assert fake.credits == MILLION
    fake = Fake()
    with pytest.raises(mercato.MaxCreditsExceeded):
        list(fake.client().dataset("numbers").stream(max_credits=24))
    assert fake.credits == MILLION


def test_holds_also_when_rows_are_added_after_the_estimate() -> None:
    for take in (lambda dataset: dataset.query(max_credits=25, page_size=10),
                 lambda dataset: dataset.stream(max_credits=25)):
        fake = Fake()

        def published(request: httpx.Request, fake: Fake = fake) -> None:
            fake.rows = [{"id": number, "name": ""} for number in range(100)]

        fake.faults = [lambda request: None, published]
        rows: list[Any] = []
        with pytest.raises(mercato.MaxCreditsExceeded):
            rows.extend(take(fake.client().dataset("numbers")))
        assert fake.credits == MILLION - 25


def test_exact_budget_suffices() -> None:
    fake = Fake()
    assert len(fake.client().dataset("numbers").query(max_credits=25, page_size=10).to_list()) == 25
    assert len(list(fake.client().dataset("numbers").stream(max_credits=25))) == 25


def test_budget_of_nothing() -> None:
    fake = Fake(is_free=True)
    assert len(fake.client().dataset("numbers").query(max_credits=0).to_list()) == 25
    fake = Fake()
    assert fake.client().dataset("numbers").query({"id_min": 99}, max_credits=0).to_list() == []
    assert list(fake.client().dataset("numbers").stream({"id_min": 99}, max_credits=0)) == []
    with pytest.raises(mercato.MaxCreditsExceeded):
        fake.client().dataset("numbers").query(max_credits=0).to_list()
    assert fake.credits == MILLION


def test_cost_of_a_download() -> None:
    fake = Fake()
    assert fake.client().dataset("numbers").download_cost() == 25
    assert fake.bodies("/estimate") == [{"for": "download"}]


def test_awaits_the_same() -> None:
    async def cost() -> tuple[int, int]:
        async with Fake().async_client() as client:
            query = client.dataset("numbers").query()
            return await query.count(), await query.cost()

    assert asyncio.run(cost()) == (25, 25)


def test_cost_survives_pickling() -> None:
    import pickle
    cost = mercato.Cost(5, 7, 9, True)
    copy = pickle.loads(pickle.dumps(cost))
    assert (copy, repr(copy)) == (5, repr(cost))
