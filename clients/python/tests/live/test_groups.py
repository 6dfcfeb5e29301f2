"""Groups against a real server. The naive twin is polars on all rows."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import mercato
from mercato import avg, bucket, count, count_distinct, max_, median, min_, month, quantile, sum_, year
from mercato.retry import RetryPolicy
from tests.live.conftest import Live
from tests.live.proxy import Proxy

Paid = Callable[[], int]
QUICK = RetryPolicy(tries=8, first_seconds=0.05, longest_seconds=0.5)
ORDERS = 15_000


def test_groups_equal_those_of_polars(live: Live) -> None:
    pl = pytest.importorskip("polars")
    c = pl.col
    with live.client() as client:
        orders = client.dataset("tpch-orders")
        whole = orders.query({"o_totalprice_min": 100_000}).to_polars()
        found = orders.group_by(
            "o_orderstatus", month("o_orderdate", as_="month"), filters={"o_totalprice_min": 100_000},
            having={"n_min": 40}, sort_by="n", descending=True,
        ).agg(n=count(), keys=count_distinct("o_custkey"), total=sum_("o_totalprice"), least=min_("o_orderdate"),
              most=max_("o_comment"), middle=median("o_totalprice"), dear=quantile("o_totalprice", 0.95)).to_polars()
    parts = whole.with_columns(c("o_orderstatus").cast(pl.String), c("o_orderdate").dt.truncate("1mo").alias("month"))
    wanted = parts.group_by("o_orderstatus", "month").agg(
        pl.len().alias("n"), c("o_custkey").n_unique().alias("keys"), c("o_totalprice").sum().alias("total"),
        c("o_orderdate").min().alias("least"), c("o_comment").cast(pl.String).max().alias("most"),
        c("o_totalprice").sort().get(((pl.len() + 1) // 2) - 1).alias("middle"),
        c("o_totalprice").sort().get(((pl.len() * 95 + 99) // 100) - 1).alias("dear"),
    ).filter(c("n") >= 40).sort(["n", "o_orderstatus", "month"], descending=[True, False, False])
    assert found.columns == wanted.columns
    assert 50 < found.height == wanted.height
    assert found["n"].to_list() == wanted["n"].to_list()
    order = ["o_orderstatus", "month"]
    rows = [frame.with_columns(c("o_orderstatus").cast(pl.String)).sort(order).to_dicts() for frame in (found, wanted)]
    assert rows[0] == rows[1]


def test_null_and_nan_are_groups(live: Live) -> None:
    pytest.importorskip("pyarrow")
    with live.client() as client:
        everything = client.dataset("everything")
        words = everything.group_by("word").agg(n=count(), prices=count("price")).to_list()
        doubles = everything.group_by("double", filters={"number_max": 9}).agg().to_arrow()
        buckets = everything.group_by(bucket("number", 1_000, as_="from")).agg(mean=avg("price")).to_list()
        years = everything.group_by(year("day")).agg(n=count()).to_list()
        one = everything.group_by(filters={"number_min": 5_000}).agg(n=count(), total=sum_("price")).to_list()
    assert [row["word"] for row in words] == ["", '"quoted", twice', "line\nbreak", "è", None]
    assert sum(row["n"] for row in words) == 3_000
    assert str(doubles.column("double")[-2]) == "nan"
    assert doubles.column("double")[-1].as_py() is None
    assert [row["from"] for row in buckets] == [0, 1_000, 2_000]
    assert next(row["day"] for row in years if row["day"]) == "1969-01-01"
    assert one == [{"n": 0, "total": None}]


def test_walk_has_each_group_once(live: Live, paid: Paid) -> None:
    with Proxy(live.url, [0, 900, 3_000, 200, 4_000]) as proxy:
        with mercato.Client(proxy.url, live.key, retry=QUICK) as client:
            groups = client.dataset("tpch-orders").group_by("o_custkey", sort_by="total", page_size=150)
            rows = groups.agg(n=count(), total=sum_("o_totalprice")).to_list()
        assert proxy.made >= 5
    assert len({row["o_custkey"] for row in rows}) == len(rows)
    assert sum(row["n"] for row in rows) == ORDERS
    assert [row["total"] for row in rows] == sorted(row["total"] for row in rows)
    assert paid() == len(rows)


def test_ends_agree_and_cost_a_credit_a_group(live: Live, paid: Paid) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    with live.client(exact_numbers=True) as client:
        query = client.dataset("tpch-orders").group_by("o_custkey").agg(n=count(), mean=avg("o_totalprice"))
        number = query.count()
        assert paid() == 0
        assert query.cost() == number
        rows = query.to_list()
        assert len(rows) == number
        assert list(query.stream()) == rows
        assert query.to_arrow().to_pylist() == rows
        assert query.to_polars().to_dicts() == rows
        assert query.to_pandas()["mean"].tolist() == [row["mean"] for row in rows]
        assert len([row for page in query.pages() for row in page.rows]) == number
    assert paid() == 6 * number


def test_stream_of_groups_goes_on_where_it_is_cut(live: Live, paid: Paid) -> None:
    with Proxy(live.url, [0, 300, 1_500, 700]) as proxy:
        with mercato.Client(proxy.url, live.key, retry=QUICK) as client:
            query = client.dataset("tpch-orders").group_by("o_custkey", having={"n_min": 5}).agg(n=count())
            rows = list(query.stream())
        assert proxy.made >= 4
    assert len({row["o_custkey"] for row in rows}) == len(rows) == paid()
    assert all(row["n"] >= 5 for row in rows)


def test_price_is_bounded(live: Live, paid: Paid) -> None:
    with live.client() as client:
        orders = client.dataset("tpch-orders")
        with pytest.raises(mercato.MaxCreditsExceeded):
            orders.group_by("o_custkey", max_credits=10).agg().to_list()
        bounded = orders.group_by("o_orderpriority", having={"n_min": 3_000}, max_credits=5).agg(n=count())
        assert (bounded.cost(), bounded.cost().rows_at_least) == (5, 0)
        with pytest.raises(ValueError, match="0 to 5 rows"):
            bounded.count()
        assert paid() == 0
        rows = bounded.to_list()
        assert 0 < len(rows) < 5
        all_five = orders.group_by("o_orderpriority", having={"n_min": 1}, max_credits=5).agg(n=count())
        assert len(all_five.to_list()) == len(list(all_five.stream())) == 5
        assert paid() == len(rows) + 10
        pytest.importorskip("pyarrow")
        assert all_five.to_arrow().num_rows == 5


def test_cursor_of_groups_goes_on(live: Live) -> None:
    with live.client() as client:
        orders = client.dataset("tpch-orders")
        asked: dict[str, Any] = {"sort_by": "n", "descending": True, "page_size": 30}
        pages = orders.group_by(month("o_orderdate"), **asked).agg(n=count()).pages()
        first = next(pages)
        rest = [row for page in pages for row in page.rows]
        again = orders.group_by(month("o_orderdate"), **asked, cursor=first.next_cursor).agg(n=count())
        assert again.to_list() == rest
        with pytest.raises(mercato.BadRequest) as caught:
            orders.group_by(year("o_orderdate"), **asked, cursor=first.next_cursor).agg(n=count()).to_list()
    assert caught.value.reason == "CURSOR_QUERY_MISMATCH"


def test_refusals_say_what_to_do(live: Live) -> None:
    with live.client() as client, pytest.raises(mercato.BadRequest) as caught:
        client.dataset("tpch-orders").group_by("o_orderstatu").agg(n=count()).to_polars()
    assert (caught.value.reason, caught.value.suggestion) == ("UNKNOWN_COLUMN", "o_orderstatus")


def test_awaits_groups(live: Live) -> None:
    async def rows() -> tuple[list[Any], list[Any], int]:
        async with mercato.AsyncClient(live.url, live.key) as client:
            query = client.dataset("tpch-orders").group_by("o_orderpriority").agg(n=count())
            table = await query.to_arrow()
            return [row async for row in query], table.to_pylist(), await query.count()

    pytest.importorskip("pyarrow")
    found, table, number = asyncio.run(rows())
    assert found == table
    assert len(found) == number == 5
