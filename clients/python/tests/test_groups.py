"""Groups: what is sent, what is refused before it is sent, and what `having` leaves unknown."""

import asyncio
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import mercato
from mercato import (
    avg,
    bucket,
    count,
    count_distinct,
    day,
    hour,
    max_,
    median,
    min_,
    month,
    quantile,
    quarter,
    sum_,
    week,
    year,
)
from tests.fake import Fake, data

OPTIONS: dict[str, Any] = {"filters": {"id_min": 3}, "having": {"n_min": 1}, "sort_by": "n", "descending": True,
                           "offset": 2, "version": "1.0.0"}
SENT = {"filters": {"id_min": 3}, "groupBy": ["name", {"column": "at", "by": "month", "as": "month"}],
        "aggregates": {"n": {"op": "count"}, "total": {"op": "sum", "column": "x"}}, "having": {"n_min": 1},
        "sortBy": "n", "sortDirection": "desc", "offset": 2, "version": "1.0.0"}


def asked(dataset: Any, **more: Any) -> Any:
    return dataset.group_by("name", month("at", as_="month"), **OPTIONS, **more).agg(n=count(), total=sum_("x"))


def test_pages_streams_and_prices_send_the_same() -> None:
    fake = Fake()
    query = asked(fake.client().dataset("numbers"), page_size=10)
    assert not fake.requests
    rows = query.to_list()
    assert rows == list(query.stream())
    first, second = fake.bodies("/query")
    assert second.pop("cursor")
    assert first == second == {**SENT, "limit": 10}
    assert fake.bodies("/stream") == [{**SENT, "limit": 1_000_000}]
    assert len(list(query.pages())) == 2
    assert query.cost() == len(rows)
    estimated = {name: value for name, value in SENT.items() if name != "having"}
    assert fake.bodies("/estimate") == [{**estimated, "for": "page", "limit": 10_000}]
    query = asked(fake.client().dataset("numbers"), cursor="MA==")
    query.cost()
    assert fake.bodies("/estimate")[1] == {**SENT, "cursor": "MA==", "for": "page", "limit": 10_000}


def test_awaits_the_same() -> None:
    fake = Fake()

    async def walk() -> list[Any]:
        async with fake.async_client() as client:
            query = asked(client.dataset("numbers"), page_size=10)
            rows = [row async for row in query]
            assert rows == [row async for row in query.stream()] == await query.to_list()
            assert await query.cost() == len(rows)
            return rows

    assert asyncio.run(walk()) == asked(fake.client().dataset("numbers")).to_list()
    assert fake.bodies("/query")[0] == {**SENT, "limit": 10}
    assert fake.bodies("/stream") == [{**SENT, "limit": 1_000_000}]


@pytest.mark.parametrize(("column", "sent"), [
    ("c", "c"), (year("c"), {"column": "c", "by": "year"}), (quarter("c"), {"column": "c", "by": "quarter"}),
    (month("c"), {"column": "c", "by": "month"}), (week("c"), {"column": "c", "by": "week"}),
    (day("c", as_="d"), {"column": "c", "by": "day", "as": "d"}), (hour("c"), {"column": "c", "by": "hour"}),
    (bucket("c", 10), {"column": "c", "width": 10}), (bucket("c", 0.5, "b"), {"column": "c", "width": 0.5, "as": "b"}),
    (bucket("c", Decimal("0.1")), {"column": "c", "width": 0.1}),
])
def test_columns(column: Any, sent: Any) -> None:
    fake = Fake()
    fake.client().dataset("numbers").group_by(column).agg().to_list()
    assert fake.bodies("/query") == [{"groupBy": [sent], "limit": 100}]


@pytest.mark.parametrize(("aggregate", "sent"), [
    (count(), {"op": "count"}), (count("x"), {"op": "count", "column": "x"}),
    (count_distinct("x"), {"op": "countDistinct", "column": "x"}), (sum_("x"), {"op": "sum", "column": "x"}),
    (avg("x"), {"op": "avg", "column": "x"}), (min_("x"), {"op": "min", "column": "x"}),
    (max_("x"), {"op": "max", "column": "x"}), (median("x"), {"op": "median", "column": "x"}),
    (quantile("x", 0.95), {"op": "quantile", "column": "x", "q": 0.95}),
    (quantile("x", Decimal("0.9")), {"op": "quantile", "column": "x", "q": 0.9}),
    (quantile("x", 0), {"op": "quantile", "column": "x", "q": 0}),
])
def test_aggregates(aggregate: mercato.Aggregate, sent: Any) -> None:
    fake = Fake()
    fake.client().dataset("numbers").group_by().agg(self=aggregate).to_list()
    assert fake.bodies("/query") == [{"aggregates": {"self": sent}, "limit": 100}]


def test_question_is_frozen_when_it_is_asked() -> None:
    fake = Fake()
    having: dict[str, Any] = {"day": {"gte": date(2026, 1, 31)}, "n": [1, 2]}
    groups = fake.client().dataset("numbers").group_by("c", having=having)
    having["n"].append(3)
    groups.agg(n=count()).to_list()
    groups.agg(m=count()).to_list()
    first, second = fake.bodies("/query")
    assert first["having"] == second["having"] == {"day": {"gte": "2026-01-31"}, "n": [1, 2]}
    assert (list(first["aggregates"]), list(second["aggregates"])) == (["n"], ["m"])


@pytest.mark.parametrize(("ask", "error"), [
    (lambda dataset: dataset.group_by().agg(), ValueError),
    (lambda dataset: dataset.group_by(having={"n": 1}).agg(), ValueError),
    (lambda dataset: dataset.group_by(["c"]), TypeError),
    (lambda dataset: dataset.group_by("c", having=[1]), TypeError),
    (lambda dataset: dataset.group_by("c", filters=[1]), TypeError),
    (lambda dataset: dataset.group_by("c", limit=0), ValueError),
    (lambda dataset: dataset.group_by("c").agg(n="count"), TypeError),
    (lambda dataset: dataset.group_by("c").agg(n=count), TypeError),
    (lambda dataset: dataset.group_by("c").agg(n=quantile("x", float("nan"))), ValueError),
    (lambda dataset: dataset.group_by(bucket("c", "10")), ValueError),
    (lambda dataset: dataset.group_by(bucket("c", Decimal("0.12345678901234567890"))), ValueError),
])
def test_refuses_wrong_arguments_before_sending(ask: Callable[[Any], Any], error: type[Exception]) -> None:
    fake = Fake()
    with pytest.raises(error):
        ask(fake.client().dataset("numbers"))
    assert not fake.requests


def test_price_beside_having_is_a_bound() -> None:
    fake = Fake()
    groups = fake.client().dataset("numbers").group_by("name").agg(n=count())
    assert (groups.count(), groups.cost().rows_at_least) == (25, None)
    bounded = fake.client().dataset("numbers").group_by("name", having={"n_min": 2}, max_credits=24).agg(n=count())
    cost = bounded.cost()
    assert (cost, cost.rows, cost.rows_at_least) == (25, 25, 0)
    with pytest.raises(ValueError, match="0 to 25 rows"):
        bounded.count()
    with pytest.raises(mercato.MaxCreditsExceeded):
        bounded.to_list()
    assert not fake.bodies("/query")


def test_million_groups_are_all_groups() -> None:
    """The rows of the version, which bound a query of rows there, do not count them."""
    def full(request: Any) -> Any:
        limit = json.loads(request.content)["limit"]
        return data({"rows": limit, "creditsRequired": limit, "creditsAvailable": 1, "affordable": False})

    fake = Fake(faults=[full, full])
    assert fake.client().dataset("numbers").group_by("name").agg().count() == 1_000_000
    assert len(fake.requests) == 2


def test_tables_need_arrow() -> None:
    """The types of groups are in no schema, so rows of text are no substitute."""
    pytest.importorskip("pyarrow")
    fake = Fake()
    with pytest.raises(mercato.StatusError) as caught:
        fake.client().dataset("numbers").group_by("name").agg(n=count()).to_arrow()
    assert caught.value.status == 406
    assert len(fake.requests) == 1
