"""Lazy frames of polars: what a plan needs is requested, nothing else is paid for, and the rows are the right ones."""

import io
import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import httpx
import pytest

import mercato
from tests.fake import Fake
from tests.test_tables import Speaker

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from mercato import scan as scans  # noqa: E402

TYPES = {"i": pl.Int64(), "u": pl.UInt64(), "x": pl.Float64(), "x32": pl.Float32(), "price": pl.Decimal(12, 2),
         "s": pl.String(), "b": pl.Boolean(), "day": pl.Date(), "t": pl.Datetime("us", "UTC"), "$s": pl.String()}
c = pl.col
ROME = timezone(timedelta(hours=1))


class Scanned(Speaker):
    """Also gives its sample as Arrow, and filters as the documents say, as far as these tests go."""

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/sample"):
            schema = pa.schema([("id", pa.int64()), ("name", pa.dictionary(pa.int8(), pa.string()))])
            sink = io.BytesIO()
            with pa.ipc.new_stream(sink, schema):
                pass
            return httpx.Response(200, content=sink.getvalue(), headers={"X-Dataset-Version": self.version})
        return super()._answer(request)

    def _matching(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        least = body.get("filters", {}).get("id", {}).get("gte", 0)
        return super()._matching({**body, "filters": {"id_min": least}})


def numbers(rows: int = 25) -> Scanned:
    return Scanned(rows=[{"id": number, "name": f"n{number % 100}"} for number in range(rows)])


def lazy(fake: Fake, **options: Any) -> Any:
    return fake.client().dataset("numbers").scan(**options)


def paid(fake: Fake) -> int:
    return 1_000_000 - fake.credits


def test_reads_the_types_for_nothing() -> None:
    fake = numbers()
    assert lazy(fake).collect_schema() == {"id": pl.Int64, "name": pl.String}
    assert paid(fake) == 0
    assert len(fake.requests) == 1


def test_whole_frame_is_the_dataset() -> None:
    fake = numbers(1_250)
    assert lazy(fake).collect().to_dicts() == fake.rows
    assert paid(fake) == 1_250
    assert [(body["limit"], body.get("offset", 0)) for body in fake.bodies("/stream")] == [
        (100, 0), (1_000, 100), (10_000, 1_100)]


def test_columns_are_pushed_down() -> None:
    fake = numbers()
    assert lazy(fake).select("name").collect().to_series().to_list() == [row["name"] for row in fake.rows]
    assert fake.bodies("/stream")[0]["columns"] == ["name"]


def test_limit_is_pushed_down() -> None:
    fake = numbers()
    assert lazy(fake).head(7).collect()["id"].to_list() == list(range(7))
    assert [body["limit"] for body in fake.bodies("/stream")] == [7]
    assert paid(fake) == 7


def test_filter_is_pushed_down() -> None:
    fake = numbers()
    found = lazy(fake).filter(pl.col("id") >= 20).select("name").collect()
    assert found["name"].to_list() == ["n20", "n21", "n22", "n23", "n24"]
    assert fake.bodies("/stream")[0]["filters"] == {"id": {"gte": 20}}
    assert paid(fake) == 5


def test_limit_before_a_filter_counts_unfiltered_rows() -> None:
    fake = numbers()
    assert lazy(fake).head(7).filter(pl.col("id") >= 5).collect()["id"].to_list() == [5, 6]
    assert "filters" not in fake.bodies("/stream")[0]
    assert paid(fake) == 7


def test_limit_behind_a_filter_stops_early() -> None:
    fake = numbers(50_000)
    found = lazy(fake).filter(pl.col("id") >= 20).head(3).collect(engine="streaming")
    assert found["id"].to_list() == [20, 21, 22]
    assert paid(fake) == 100


def test_slice_stops_early() -> None:
    fake = numbers(50_000)
    assert lazy(fake).slice(10, 3).collect()["id"].to_list() == [10, 11, 12]
    assert paid(fake) == 100


def test_condition_that_is_not_sent_is_told_and_holds() -> None:
    fake = numbers()
    with pytest.warns(mercato.MercatoWarning, match="does not check 1 of the conditions of .*id.*so rows that fail"):
        found = lazy(fake).filter(pl.col("id") >= 10, pl.col("id") % 2 == 0).collect()
    assert found["id"].to_list() == [10, 12, 14, 16, 18, 20, 22, 24]
    assert fake.bodies("/stream")[0]["filters"] == {"id": {"gte": 10}}
    assert paid(fake) == 15


def test_budget_holds_for_a_scan() -> None:
    fake = numbers()
    with pytest.raises(mercato.MaxCreditsExceeded):
        lazy(fake, max_credits=4).filter(pl.col("id") >= 20).collect()
    assert paid(fake) == 0
    assert lazy(fake, max_credits=5).filter(pl.col("id") >= 20).collect().height == 5
    assert lazy(fake, max_credits=3).head(3).collect().height == 3


def test_reads_the_version_of_the_schema() -> None:
    fake = numbers()
    frame = lazy(fake)
    fake.version = "2.0.0"
    frame.collect()
    assert fake.bodies("/stream")[0]["version"] == "1.0.0"


def test_no_rows_have_types() -> None:
    for frame in (lazy(numbers()).filter(pl.col("id") >= 99), lazy(numbers()).head(0), lazy(numbers(0))):
        assert frame.collect().schema == {"id": pl.Int64, "name": pl.String}


def test_scan_without_polars_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "1.36.1")
    with pytest.raises(mercato.MissingExtra, match=r"polars 2 or newer, and this is 1\.36\.1"):
        lazy(numbers())
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(mercato.MissingExtra, match=r"mercato\[polars\]"):
        lazy(numbers())


PREDICATES: list[tuple[Any, Any]] = [
    (c.i == 1, {"i": {"eq": 1}}),
    (pl.lit(3) > c.i, {"i": {"lt": 3}}),
    (~(c.i == 1), {"i": {"ne": 1}}),
    (c.u > 2**64 - 2, {"u": {"gt": 2**64 - 2}}),
    (c.s >= "è", {"s": {"gte": "è"}}),
    (c.i.is_in([1, None, 2]), {"i": {"in": [1, 2]}}),
    (~c.i.is_in([1, 2]), {"i": {"nin": [1, 2]}}),
    (c.day.is_in([date(2020, 1, 31)]), {"day": {"in": ["2020-01-31"]}}),
    (c.price.is_in([Decimal("1.50")]), {"price": {"in": ["1.50"]}}),
    (c.i.is_between(1, 3), {"i": {"gte": 1, "lte": 3}}),
    (c.i.is_between(1, 3, closed="left"), {"i": {"gte": 1, "lt": 3}}),
    (c.i.is_between(1, 3, closed="none"), {"i": {"gt": 1, "lt": 3}}),
    (c.s.is_null(), {"s": {"isNull": True}}),
    (c.s.eq_missing(None), {"s": {"isNull": True}}),
    (c.s.is_not_null(), {"s": {"isNull": False}}),
    (c.s.str.starts_with("a."), {"s": {"startsWith": "a."}}),
    (c.s.str.ends_with("a"), {"s": {"endsWith": "a"}}),
    (c.s.str.contains("a b"), {"s": {"contains": "a b"}}),
    (c.s.str.contains("a.b", literal=True), {"s": {"contains": "a.b"}}),
    (c.b, {"b": {"eq": True}}),
    (~c.b, {"b": {"eq": False}}),
    (c.day >= date(2020, 1, 31), {"day": {"gte": "2020-01-31"}}),
    (datetime(2020, 1, 1, 1, 0, 0, 5, ROME) < c.t, {"t": {"gt": "2020-01-01T00:00:00.000005000Z"}}),
    (c.price == Decimal("1.50"), {"price": {"eq": "1.50"}}),
    (c.price.is_between(Decimal("1.50"), 7), {"price": {"gte": "1.50", "lte": "7.00"}}),
    (c.price > Decimal("1.505"), {"price": {"gt": "1.505"}}),
    (c.price > 7, {"price": {"gt": "7"}}),
    # NaN is greater than all numbers in polars, and no comparison of the API finds it.
    (c.x > 1.5, {"$or": [{"x": {"gt": 1.5}}, {"x": {"isNaN": True}}]}),
    (c.x != 1.5, {"$or": [{"x": {"ne": 1.5}}, {"x": {"isNaN": True}}]}),
    (~c.x.is_in([1.5]), {"$or": [{"x": {"nin": [1.5]}}, {"x": {"isNaN": True}}]}),
    (c.x <= 1.5, {"x": {"lte": 1.5}}),
    (c.x.is_nan(), {"x": {"isNaN": True}}),
    (c.x.is_finite(), {"x": {"isFinite": True}}),
    # Polars compares integers and decimals with a float as floats.
    (c.i > 2.5, {"i": {"gt": 2}}),
    (c.i >= 2.5, {"i": {"gte": 3}}),
    (c.i <= 2.0, {"i": {"lte": 2}}),
    (c.i == 2.0, {"i": {"eq": 2}}),
    (c.price > 1.1, {"price": {"gt": 1.1}}),
    (c.price >= 1.1, {"price": {"gte": 1.0999999999999999}}),
    (c.price == 1.1, {"price": {"gte": 1.0999999999999999, "lte": 1.1000000000000003}}),
    (pl.col("$s") == "a", {"$$s": {"eq": "a"}}),
    ((c.i == 1) | (c.s == "a") | c.b, {"$or": [{"i": {"eq": 1}}, {"s": {"eq": "a"}}, {"b": {"eq": True}}]}),
    ((c.i == 1) | ((c.s == "a") & c.b),
     {"$or": [{"i": {"eq": 1}}, {"$and": [{"s": {"eq": "a"}}, {"b": {"eq": True}}]}]}),
    ((c.i == 1) & (c.s == "a"), {"$and": [{"i": {"eq": 1}}, {"s": {"eq": "a"}}]}),
]

NOT_SENT = [
    c.i + 1 > 3, c.day.dt.year() == 2020, c.s.str.contains("a.b"), c.s == c.s, c.x == float("nan"), c.x > float("inf"),
    c.i == 2.5, c.i > 2.0**60, c.s.str.to_lowercase() == "a", c.s.eq_missing("a"), pl.lit(True), c.i.is_in([]),
    c.i.is_in(list(range(20_000))), c.s.str.len_chars() > 3, (c.i > 1) ^ c.b, c.x.is_in([1.0, float("inf")]),
    (c.i == 1) | (c.i + 1 > 3), pl.any_horizontal(c.b, c.i > 1), ~c.x.is_nan(), c.day > datetime(2020, 1, 1),
]


def optimised(predicate: Any) -> Any:
    """The predicate as a source gets it."""
    from polars.io.plugins import register_io_source
    got: list[Any] = []

    def source(with_columns: Any, given: Any, n_rows: Any, batch_size: Any) -> Any:
        got.append(given)
        yield pl.DataFrame(schema={name: TYPES[name] for name in with_columns or TYPES})

    register_io_source(source, schema=pl.Schema(TYPES)).filter(predicate).collect()
    return got[0]


@pytest.mark.parametrize(("predicate", "filters"), PREDICATES, ids=lambda one: str(one)[:60])
def test_predicate_as_filters(predicate: Any, filters: Any) -> None:
    assert json.loads(scans.filters_of(pl, optimised(predicate), TYPES) or "null") == filters


@pytest.mark.parametrize("predicate", NOT_SENT, ids=lambda one: str(one)[:60])
def test_predicate_that_is_not_sent(predicate: Any) -> None:
    with pytest.warns(mercato.MercatoWarning, match="does not check 1"):
        assert scans.filters_of(pl, optimised(predicate), TYPES) is None


def test_no_more_conditions_than_the_server_takes() -> None:
    many = pl.lit(True)
    for number in range(150):
        many = many & (c.s != str(number))
    with pytest.warns(mercato.MercatoWarning, match="does not check"):
        filters = json.loads(scans.filters_of(pl, optimised(many), TYPES) or "null")
    assert len(filters["$and"]) == 100


def test_no_deeper_than_the_server_takes() -> None:
    def nested(depth: int) -> Any:
        found = c.i == 0
        for level in range(1, depth + 1):
            found = ((c.i != level) | found) if level % 2 else ((c.i != level) & found)
        return found

    assert scans.filters_of(pl, optimised(nested(3)), TYPES) is not None
    with pytest.warns(mercato.MercatoWarning, match="does not check"):
        assert scans.filters_of(pl, optimised(nested(5)), TYPES) is None


def test_unknown_form_of_an_expression_is_not_sent() -> None:
    """Another version of polars may write expressions otherwise."""
    from mercato.core.pushdown import Translator

    def literal(node: Any) -> Any:
        return 1

    translator = Translator({"i": "integer"}, {}, literal)
    forms: list[Any] = [
        {}, {"New": 1}, None, [], "x", {"BinaryExpr": {}}, {"Function": {"function": "x", "input": []}},
        {"BinaryExpr": {"op": "Gt", "left": {"Column": 5}, "right": {"Literal": 1}}},
        {"BinaryExpr": {"op": "Spaceship", "left": {"Column": "i"}, "right": {"Literal": 1}}},
        {"Function": {"function": {"Boolean": {"IsIn": {}}}, "input": [{"Column": "i"}, {"Literal": 1}]}},
    ]
    for form in forms:
        found = translator.predicate(form)
        assert (found.filters, found.left_out) == (None, 1), form
