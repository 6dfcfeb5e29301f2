"""Against a real server: free reads, walks, streams, tables and files, also over connections that are cut."""

import asyncio
import csv
import random
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import mercato
from mercato.retry import RetryPolicy
from tests.live.conftest import Live
from tests.live.proxy import Proxy

Paid = Callable[[], int]
QUICK = RetryPolicy(tries=8, first_seconds=0.05, longest_seconds=0.5)
ORDERS = 15_000
LINES = 60_175


def test_reads_that_are_free(live: Live, paid: Paid) -> None:
    with live.client() as client:
        found = client.search("wholesale orders", limit=3)
        assert found[0]["slug"] == "tpch-orders"
        assert found.total >= len(found) == 3
        slugs = [item["slug"] for item in client.datasets(sort="title")]
        assert len(slugs) == len(set(slugs)) >= 20
        assert next(client.tags())["count"] >= 1
        assert {node["slug"] for node in client.graph()["nodes"]} == set(slugs)
        orders = client.dataset("tpch-orders")
        assert orders.header()["rowCount"] == ORDERS
        assert [one["current"] for one in orders.versions()] == [True]
        assert len(orders.schema()["columns"]) == orders.header()["columnCount"]
        assert len(orders.sample()["results"]) == 100
        assert orders.stats()["rowCount"] == ORDERS
        assert orders.changelog()["version"] == orders.methodology()["version"] == "1.0.0"
        assert orders.related()["slug"] == "tpch-orders"
        assert "recordSet" in orders.croissant()
        assert client.openapi()["openapi"].startswith("3.1")
        assert client.account()["plan"] == "prepaid"
        assert client.usage(days=1)["days"] == 1
        assert orders.download_cost() == ORDERS
        query = orders.query({"o_totalprice_min": 200_000})
        assert query.count() == query.cost()
    assert paid() == 0


def test_walk_has_each_row_once(live: Live, paid: Paid) -> None:
    with live.client() as client:
        query = client.dataset("tpch-orders").query(sort_by="o_totalprice", descending=True,
                                                    columns=["o_orderkey", "o_totalprice"])
        rows = list(query)
    assert len({row["o_orderkey"] for row in rows}) == len(rows) == ORDERS
    prices = [row["o_totalprice"] for row in rows]
    assert prices == sorted(prices, reverse=True)
    assert paid() == ORDERS


def test_walk_over_cut_connections_is_paid_once(live: Live, paid: Paid) -> None:
    with Proxy(live.url, [0, 1, 200, 1_500, 3_000, 6_000, 9_000]) as proxy:
        with mercato.Client(proxy.url, live.key, retry=RetryPolicy(tries=12, first_seconds=0.02)) as client:
            rows = client.dataset("tpch-orders").query(columns=["o_orderkey"], page_size=1_000).to_list()
        assert proxy.made >= 5
    assert len({row["o_orderkey"] for row in rows}) == len(rows) == ORDERS
    assert paid() == ORDERS


def test_stream_over_cut_connections_is_paid_once(live: Live, paid: Paid) -> None:
    rng = random.Random(11)
    # The answers are compressed.
    cuts = [rng.randrange(1, 20_000) for _ in range(6)]
    with Proxy(live.url, cuts) as proxy:
        with mercato.Client(proxy.url, live.key, retry=QUICK) as client:
            rows = list(client.dataset("tpch-lineitem").stream(columns=["l_orderkey", "l_linenumber"]))
        assert proxy.made >= 3
    assert len({tuple(row.values()) for row in rows}) == len(rows) == LINES
    assert paid() == LINES


def test_stream_left_early_costs_less_than_all(live: Live, paid: Paid) -> None:
    with live.client() as client:
        rows = client.dataset("tpch-lineitem").stream()
        next(rows)
        rows.close()  # type: ignore[attr-defined]
    assert 0 < paid() < LINES


def test_download_over_cut_connections_is_paid_once(live: Live, paid: Paid, folder: Path) -> None:
    with live.client() as client:
        lines = client.dataset("tpch-lineitem")
        plain = {one["format"]: one["bytes"] for one in lines.header()["formats"]}
        rng = random.Random(13)
        with Proxy(live.url, [rng.randrange(1, 1_500_000) for _ in range(6)]) as proxy:
            with mercato.Client(proxy.url, live.key, retry=QUICK) as cut:
                done = cut.dataset("tpch-lineitem").download("lines.csv")
            assert proxy.made >= 2
        assert done.bytes == plain["csv"] == Path("lines.csv").stat().st_size
        assert done.credits_charged == LINES
        assert paid() == LINES
        whole = lines.download("whole.csv")
    assert whole.sha256 == done.sha256
    assert Path("whole.csv").read_bytes() == Path("lines.csv").read_bytes()
    assert sorted(one.name for one in folder.iterdir()) == ["lines.csv", "whole.csv"]


@pytest.mark.parametrize("name", ["lines.arrow", "lines.xlsx"])
def test_download_without_length_begins_anew_and_is_paid_once(
        name: str, live: Live, paid: Paid, folder: Path) -> None:
    with Proxy(live.url, [400_000, 30_000, 800_000]) as proxy:
        with mercato.Client(proxy.url, live.key, retry=QUICK) as cut:
            done = cut.dataset("tpch-lineitem").download(name)
        assert proxy.made == 3
    assert done.bytes == Path(name).stat().st_size
    assert paid() == LINES
    with live.client() as client:
        whole = client.dataset("tpch-lineitem").download(f"whole-{name}")
    assert whole.sha256 == done.sha256
    assert paid() == 2 * LINES


def test_download_goes_on_in_a_later_call(live: Live, paid: Paid, folder: Path) -> None:
    once = RetryPolicy(tries=1)
    with Proxy(live.url, [100_000, None]) as proxy, mercato.Client(proxy.url, live.key, retry=once) as client:
        with pytest.raises(mercato.ConnectionError):
            client.dataset("tpch-orders").download("orders.ndjson")
        assert 0 < Path("orders.ndjson.part").stat().st_size < 100_000
    Path("orders.ndjson.part.json").write_text(
        Path("orders.ndjson.part.json").read_text().replace(proxy.url, live.url))
    with live.client() as client:
        done = client.dataset("tpch-orders").download("orders.ndjson")
        assert done.resumed_at > 0
        assert Path("orders.ndjson").read_text().count("\n") == ORDERS
    assert paid() == ORDERS


def test_small_download_has_its_checksum_compared(live: Live, folder: Path) -> None:
    with live.client() as client:
        done = client.dataset("tpch-nation").download("nation.json")
    assert done.bytes == Path("nation.json").stat().st_size


def test_parquet_file_holds_the_table(live: Live, folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ["o_orderkey", "o_totalprice", "o_orderdate", "o_comment"]
    with live.client() as client:
        orders = client.dataset("tpch-orders")
        sizes = {one["format"]: one["bytes"] for one in orders.header()["formats"]}
        done = orders.download("orders.parquet")
        table = orders.query(columns=names).to_arrow()
    assert (done.format, done.bytes) == ("parquet", sizes["parquet"])
    assert parquet.read_table("orders.parquet", columns=names).to_pylist() == table.to_pylist()


def test_table_equals_file_and_stream(live: Live, folder: Path) -> None:
    pytest.importorskip("pyarrow")
    names = ["o_orderkey", "o_totalprice", "o_orderdate", "o_comment"]
    with live.client(exact_numbers=True) as client:
        orders = client.dataset("tpch-orders")
        offered = {one["format"] for one in orders.header()["formats"]}
        table = orders.query(columns=names).to_arrow()
        orders.download("orders.csv")
        rows = list(orders.stream(columns=names))
    with Path("orders.csv").open(newline="") as file:
        cells = [{name: row[name] for name in names} for row in csv.DictReader(file)]
    found = table.to_pylist()
    texts = [{"o_orderkey": str(row["o_orderkey"]), "o_totalprice": str(row["o_totalprice"]),
              "o_orderdate": row["o_orderdate"].isoformat(), "o_comment": row["o_comment"]} for row in found]
    assert texts == cells
    assert [row["o_totalprice"] for row in rows] == [row["o_totalprice"] for row in found]
    assert all(type(row["o_totalprice"]) is Decimal for row in rows)
    if "arrow" in offered:
        assert table.schema.metadata[b"dataset"] == b"tpch-orders"
    assert str(table.schema.field("o_totalprice").type).startswith("decimal128(")
    assert str(table.schema.field("o_orderdate").type) == "date32[day]"


def test_table_over_cut_connections_is_paid_once(live: Live, paid: Paid) -> None:
    pytest.importorskip("pyarrow")
    rng = random.Random(17)
    with Proxy(live.url, [rng.randrange(1, 1_200_000) for _ in range(6)]) as proxy:
        with mercato.Client(proxy.url, live.key, retry=QUICK) as client:
            table = client.dataset("tpch-lineitem").query().to_arrow()
        assert proxy.made >= 2
    keys = table.select(["l_orderkey", "l_linenumber"])
    assert len(set(zip(*(column.to_pylist() for column in keys.columns), strict=True))) == table.num_rows == LINES
    assert paid() == LINES


def test_other_libraries_take_tables(live: Live) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    with live.client() as client:
        query = client.dataset("tpch-orders").query({"o_orderstatus": "F"}, limit=1_000, sort_by="o_orderkey")
        frame, panda = query.to_polars(), query.to_pandas()
    assert isinstance(frame, polars.DataFrame)
    assert isinstance(panda, pandas.DataFrame)
    assert isinstance(panda["o_totalprice"].dtype, pandas.ArrowDtype)
    assert isinstance(panda["o_totalprice"][0], Decimal)
    assert panda["o_totalprice"].tolist() == frame["o_totalprice"].to_list()
    assert panda["o_orderdate"].tolist() == frame["o_orderdate"].to_list()
    assert frame["o_orderkey"].to_list() == panda["o_orderkey"].tolist() == sorted(frame["o_orderkey"].to_list())


def test_scan_equals_a_filter_of_the_whole(live: Live) -> None:
    """On NULL, NaN and infinity, extremes and ends of ranges: the naive twin is polars on the whole frame."""
    pl = pytest.importorskip("polars")
    c = pl.col
    with live.client() as client:
        whole = client.dataset("everything").scan().collect()
        lazy = client.dataset("everything").scan()
        assert whole.height == lazy.collect().height == 3_000
        conditions = []
        for name, kind in whole.schema.items():
            values = [value for value in whole[name].to_list() if value is not None and value == value]
            values = sorted(set(values))[:3] + random.Random(name).sample(values, 3)
            conditions += [c(name).is_null(), c(name).is_not_null(), c(name).is_in(values)]
            if kind == pl.Boolean:
                conditions += [c(name), ~c(name), c(name) == False]  # noqa: E712
                continue
            conditions += [~c(name).is_in(values), c(name).is_between(pl.lit(values[0]), pl.lit(values[-1]))]
            for value in values:
                conditions += [c(name) < value, c(name) <= value, c(name) == value, c(name) != value, c(name) >= value,
                               c(name) > value]
            if kind == pl.String:
                conditions += [c(name).str.starts_with(values[-1][:3]), c(name).str.ends_with(values[-1][-2:]),
                               c(name).str.contains("quoted", literal=True)]
            if kind.is_float():
                conditions += [c(name).is_nan(), c(name).is_finite()]
            if kind.is_decimal() or kind.is_integer():
                conditions += [c(name) > 12.5, c(name) >= 12.25, c(name) <= 0.1, c(name) == 7.0, c(name) < -3.75]
        conditions += [(c("flag") | (c("price") > 5)) & (c("small") > 0) & c("word").is_null(),
                       (c("number") == 1) | ((c("number") > 5) & ((c("number") < 9) | ((c("small") > 2) & c("flag")))),
                       ((c("double") > 3) & c("flag")) | ((c("day") < date(1970, 1, 1)) & (c("single") < 9))]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for condition in conditions:
                found = lazy.filter(condition).collect()
                assert found.equals(whole.filter(condition)), str(condition)
    assert len(conditions) > 300
    assert [str(one.message) for one in caught if "does not check" in str(one.message)] == []


def test_scan_pays_for_what_it_needs(live: Live, paid: Paid) -> None:
    pl = pytest.importorskip("polars")
    with live.client() as client:
        lazy = client.dataset("tpch-orders").scan(max_credits=ORDERS)
        assert paid() == 0
        dear = lazy.filter(pl.col("o_totalprice") > 400_000.5, pl.col("o_orderstatus") == "F")
        rows = dear.select("o_orderkey", "o_totalprice").collect()
        assert 0 < rows.height < 100
        assert paid() == rows.height
        assert lazy.head(7).collect().height == 7
        assert lazy.filter(pl.col("o_orderstatus") == "F").head(3).collect(engine="streaming").height == 3
        assert paid() == rows.height + 7 + 100


def test_duckdb_reads_by_ranges_and_pays_once(live: Live, paid: Paid) -> None:
    duckdb = pytest.importorskip("duckdb")
    with live.client() as client, duckdb.connect() as connection:
        connection.register_filesystem(client.filesystem(max_credits=LINES))
        question = """SELECT o_orderstatus, count(*), sum(l_quantity) FROM 'mercato://tpch-lineitem.parquet'
                      JOIN 'mercato://tpch-nation.parquet' ON n_nationkey = 0
                      JOIN 'mercato://tpch-orders/1.0.0.parquet' ON o_orderkey = l_orderkey GROUP BY 1"""
        found = connection.sql(question).fetchall()
        assert sorted(found) == sorted(connection.sql(question).fetchall())
        first = paid()
        lines = client.dataset("tpch-lineitem").query(columns=["l_quantity"]).to_arrow()
        assert sum(row[1] for row in found) == LINES
        assert sum(row[2] for row in found) == sum(lines.column("l_quantity").to_pylist())
    # Earlier tests may have paid for one of these files.
    assert first <= LINES + ORDERS + 25


def test_values_of_every_type(live: Live) -> None:
    """Beside the Parquet file that was published. A server without Arrow prints NaN and infinity as null."""
    parquet = pytest.importorskip("pyarrow.parquet")
    wanted = parquet.read_table(live.everything)
    with live.client() as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", mercato.MercatoWarning)
        found = client.dataset("everything").query().to_arrow()
    assert found.schema.names == wanted.schema.names
    assert found.num_rows == wanted.num_rows
    for name in wanted.schema.names:
        for place, (value, other) in enumerate(zip(wanted.column(name).to_pylist(), found.column(name).to_pylist(),
                                                   strict=True)):
            assert same(value, other), f"{name}, row {place}: {other!r} in place of {value!r}"


def same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, float) and (wanted != wanted or wanted in (float("inf"), float("-inf"))):
        return found is None or str(found) == str(wanted)
    if isinstance(wanted, float):
        # A float32 is printed with the digits of its width.
        return found is not None and abs(wanted - found) <= 1e-7 * abs(wanted)
    if wanted is None or found is None:
        return wanted is found
    if hasattr(wanted, "tzinfo") and wanted.tzinfo is None and getattr(found, "tzinfo", None) is not None:
        found = found.replace(tzinfo=None)
    return bool(wanted == found)


def test_free_plan_reads_in_parts(live: Live, tmp_path: Path) -> None:
    with mercato.Client(live.url, live.free_key) as client:
        lines = client.dataset("tpch-lineitem")
        cost = lines.query().cost()
        assert (int(cost), cost.rows, cost.affordable) == (LINES, LINES, False)
        cost = lines.query(limit=450).cost()
        assert (int(cost), cost.rows, cost.affordable) == (0, 450, True)
        assert sum(1 for _ in lines.stream(columns=["l_orderkey"], limit=250, max_credits=0)) == 250
        assert len(lines.query(columns=["l_orderkey"], limit=450, max_credits=0).to_list()) == 450
        assert len(lines.query(columns=["l_orderkey"], limit=150).to_arrow()) == 150
        with pytest.raises(mercato.PaymentRequired):
            lines.download(tmp_path / "lines.csv")
        left = client.account()["freeQueriesRemaining"]
    # Streams and pages have 100 rows at most.
    assert left == 100 - 3 - 5 - 2


def test_poor_account_is_told(live: Live) -> None:
    with mercato.Client(live.url, live.poor_key) as client:
        orders = client.dataset("tpch-orders")
        with pytest.raises(mercato.MaxCreditsExceeded):
            orders.query(max_credits=500).to_list()
        with pytest.raises(mercato.PaymentRequired) as caught:
            orders.query(limit=501, page_size=501).to_list()
        assert (caught.value.reason, caught.value.required, caught.value.available, caught.value.shortfall) == (
            "INSUFFICIENT_CREDITS", 501, 500, 1)
        assert not orders.query(limit=501).cost().affordable
        with pytest.warns(mercato.CreditsWarning, match="low-balance") as caught:
            assert len(orders.query(limit=10).to_list()) == 10
        assert [one.message.details for one in caught] == [{"remaining": "490"}]  # type: ignore[union-attr]


def test_refusals_say_what_to_do(live: Live) -> None:
    with live.client() as client:
        with pytest.raises(mercato.NotFound) as unknown:
            client.dataset("tpch-order").header()
        assert unknown.value.suggestion == "tpch-orders"
        with pytest.raises(mercato.BadRequest) as column:
            client.dataset("tpch-orders").query({"o_totalpric_min": 1}).to_list()
        assert (column.value.reason, column.value.suggestion) == ("UNKNOWN_COLUMN", "o_totalprice")
        assert column.value.request_id
        with pytest.raises(mercato.BadRequest):
            client.dataset("tpch-orders").query(columns=["nothing"], limit=1).to_arrow()
        with pytest.raises(mercato.BadRequest):
            client.dataset("tpch-orders").query(version="9.9.9").to_list()
    with mercato.Client(live.url) as client, pytest.raises(mercato.Unauthorized):
        client.account()


def test_key_of_the_caller_pays_once(live: Live, paid: Paid) -> None:
    with live.client() as client:
        for _ in range(2):
            query = client.dataset("tpch-orders").query(limit=150, idempotency_key="python-checks-walk")
            assert len(query.to_list()) == 150
            rows = client.dataset("tpch-orders").stream(limit=50, idempotency_key="python-checks-stream")
            assert len(list(rows)) == 50
    assert paid() == 200


def test_many_at_once(live: Live, paid: Paid) -> None:
    async def walks() -> list[int]:
        async with mercato.AsyncClient(live.url, live.key) as client:
            orders = client.dataset("tpch-orders")

            async def one(number: int) -> int:
                return len([row async for row in orders.query(limit=200, offset=200 * number)])

            streamed = [row async for row in orders.stream(limit=300)]
            return [len(streamed), *await asyncio.gather(*(one(number) for number in range(8)))]

    assert asyncio.run(walks()) == [300] + [200] * 8
    assert paid() == 300 + 1_600
