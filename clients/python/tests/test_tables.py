"""Arrow tables: out of Arrow that is cut and resumed, and out of NDJSON with the types that the server prints."""

import asyncio
import io
import json
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import httpx
import pytest

import mercato
from tests.fake import Body, Fake, answers, data, refusal

pa = pytest.importorskip("pyarrow")

from mercato.core import arrow, typed_rows  # noqa: E402

BATCH = 4


class Speaker(Fake):
    """Also speaks Arrow, in batches of four rows, with a dictionary where a stream is long enough for it."""

    def _stream(self, request: httpx.Request) -> httpx.Response:
        if "arrow" not in request.headers["Accept"]:
            return super()._stream(request)
        body, key = json.loads(request.content), request.headers["Idempotency-Key"]
        if self.is_free and body["limit"] > 10:
            return refusal(402, "NO_CREDITS", "too many rows", reason="FREE_PLAN_ROWS", allowed=10)
        rows = self._matching(body)[:body["limit"]]
        passed = int(request.url.params.get("afterRows", 0))
        if passed and key not in self.paid:
            return refusal(422, "UNPROCESSABLE", "nothing was charged", reason="NOTHING_TO_RESUME")
        self._charge(key, len(rows))
        names = pa.dictionary(pa.int8(), pa.string()) if body["limit"] > 5 else pa.string()
        schema = pa.schema([("id", pa.int64()), ("name", names)], {"dataset": "numbers", "version": self.version})
        whole = pa.Table.from_pylist(rows[passed:], pa.schema([("id", pa.int64()), ("name", pa.string())])).cast(schema)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(whole, max_chunksize=BATCH)
        body_ = Body(sink.getvalue(), self._cut())
        return httpx.Response(200, headers={"X-Dataset-Version": self.version}, stream=body_)


def whole(table: Any) -> bool:
    return bool(table.to_pylist() == Fake().rows)


def test_table_is_what_came() -> None:
    fake = Speaker()
    table = fake.client().dataset("numbers").query().to_arrow()
    assert whole(table)
    assert table.schema.metadata == {b"dataset": b"numbers", b"version": b"1.0.0"}
    assert len(fake.requests) == 1
    assert fake.requests[0].headers["Accept-Encoding"] in ("identity", "zstd")
    assert fake.credits == 1_000_000 - 25


@pytest.mark.parametrize("cut", range(0, 2600, 97))
def test_resumes_behind_whole_batches(cut: int) -> None:
    fake = Speaker(cuts=[cut, cut // 2, None])
    assert whole(fake.client().dataset("numbers").query().to_arrow())
    assert len(set(fake.keys())) == 1
    assert len({request.content for request in fake.requests}) == 1
    behind = [int(request.url.params.get("afterRows", 0)) for request in fake.requests]
    assert all(rows % BATCH == 0 or rows == 25 for rows in behind)
    assert fake.credits == 1_000_000 - 25


def test_missing_end_is_a_cut() -> None:
    fake = Speaker()

    def short(request: httpx.Request) -> httpx.Response:
        answer = fake._answer(request)
        return httpx.Response(200, headers=answer.headers, content=answer.stream.content[:-8])  # type: ignore[union-attr]

    fake.faults = [short]
    assert whole(fake.client().dataset("numbers").query().to_arrow())
    assert fake.requests[1].url.params["afterRows"] == "25"


def test_legs_join_by_offset_on_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "STREAM_ROWS_MAX", 9)
    fake = Speaker(cuts=[None, 700, None])
    table = fake.client().dataset("numbers").query(offset=2, limit=21).to_arrow()
    assert table.column("id").to_pylist() == list(range(2, 23))
    # The last leg has no dictionary, and the table has one type for each column.
    assert table.column("name").to_pylist() == [f"n{number}" for number in range(2, 23)]
    assert [(body["limit"], body["offset"], body.get("version")) for body in fake.bodies("/stream")] == [
        (9, 2, None), (9, 11, "1.0.0"), (9, 11, "1.0.0"), (3, 20, "1.0.0")]


def test_begins_anew_where_nothing_was_charged() -> None:
    fake = Speaker(cuts=[1500, None])

    def forgotten(request: httpx.Request) -> None:
        fake.credits += fake.paid.pop(request.headers["Idempotency-Key"])

    fake.faults = [lambda request: None, forgotten]
    assert whole(fake.client().dataset("numbers").query().to_arrow())
    assert fake.credits == 1_000_000 - 25


def test_free_plan_takes_shorter_legs() -> None:
    fake = Speaker(is_free=True)
    assert whole(fake.client().dataset("numbers").query().to_arrow())
    assert [body["limit"] for body in fake.bodies("/stream")] == [1_000_000, 10, 10, 10]


def test_budget_holds() -> None:
    fake = Speaker()
    with pytest.raises(mercato.MaxCreditsExceeded):
        fake.client().dataset("numbers").query(max_credits=24).to_arrow()
    assert fake.credits == 1_000_000
    assert whole(fake.client().dataset("numbers").query(max_credits=25, limit=25).to_arrow())


def test_exact_budget_was_refused_after_it_was_paid() -> None:
    fake = Speaker()
    assert whole(fake.client().dataset("numbers").query(max_credits=25).to_arrow())
    assert fake.credits == 1_000_000 - 25
    fake = Speaker()

    def published(request: httpx.Request) -> None:
        fake.rows = [*fake.rows, {"id": 25, "name": "n25"}]

    fake.faults = [lambda request: None, published]
    with pytest.raises(mercato.MaxCreditsExceeded):
        fake.client().dataset("numbers").query(max_credits=25).to_arrow()
    assert fake.credits == 1_000_000 - 25


def test_no_rows_have_types() -> None:
    table = Speaker().client().dataset("numbers").query({"id_min": 99}).to_arrow()
    assert (table.num_rows, table.schema.names) == (0, ["id", "name"])


def test_what_is_no_arrow_is_told() -> None:
    fake = Speaker(faults=[lambda request: httpx.Response(200, content=b"x" * 50 + arrow.END_OF_STREAM)])
    with pytest.raises(mercato.UnexpectedAnswer, match="no Arrow"):
        fake.client().dataset("numbers").query().to_arrow()


def test_cursor_needs_a_limit() -> None:
    with pytest.raises(ValueError, match="limit"):
        Speaker().client().dataset("numbers").query(cursor="NQ==").to_arrow()
    table = Speaker().client().dataset("numbers").query(cursor="NQ==", limit=3).to_arrow()
    assert table.column("id").to_pylist() == [5, 6, 7]


def test_other_libraries_take_it() -> None:
    query = Speaker().client().dataset("numbers").query()
    pytest.importorskip("polars")
    assert query.to_polars().to_dicts() == Fake().rows
    pytest.importorskip("pandas")
    assert query.to_pandas().astype({"name": str}).to_dict("records") == Fake().rows


def test_awaits_the_same() -> None:
    async def read() -> Any:
        async with Speaker(cuts=[900, None]).async_client() as client:
            return await client.dataset("numbers").query().to_arrow()

    assert whole(asyncio.run(read()))


@pytest.mark.parametrize("name", ["pyarrow", "polars", "pandas"])
def test_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(mercato.MissingExtra, match=rf"pip install 'mercato\[{name.removeprefix('py')}\]'"):
        getattr(arrow, name)()


# Out of NDJSON. -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("logical", "told", "texts", "kind"), [
    ("string", {}, ["1.50"], typed_rows.Kind("string")),
    ("boolean", {}, [], typed_rows.Kind("boolean")),
    ("integer", {}, [], typed_rows.Kind("integer")),
    ("integer", {}, ["9223372036854775807", "-9223372036854775808"], typed_rows.Kind("integer")),
    ("integer", {}, ["9223372036854775808"], typed_rows.Kind("decimal", 19)),
    ("number", {}, [], typed_rows.Kind("double")),
    ("number", {}, ["1.5", "2.25"], typed_rows.Kind("double")),
    ("number", {}, ["1.5", "2.5"], typed_rows.Kind("double")),
    ("number", {}, ["1.0", "2.5"], typed_rows.Kind("double")),
    ("number", {}, ["1e300", "2.5"], typed_rows.Kind("double")),
    ("number", {}, ["1.25", "2.26"], typed_rows.Kind("double")),
    ("number", {}, ["1.25", "2.50"], typed_rows.Kind("decimal", 3, 2)),
    ("number", {}, ["-0.00", "12.50"], typed_rows.Kind("decimal", 4, 2)),
    ("number", {}, ["7", "12"], typed_rows.Kind("decimal", 2, 0)),
    ("number", {}, ["0.1234567890123456789"], typed_rows.Kind("decimal", 19, 19)),
    ("datetime", {"format": "date"}, ["2026-01-31"], typed_rows.Kind("date")),
    ("datetime", {"format": "date"}, [], typed_rows.Kind("date")),
    ("datetime", {"format": "date-time"}, ["2026-01-31T00:00:00Z"], typed_rows.Kind("timestamp", scale=0)),
    ("datetime", {"format": "date-time"}, ["2026-01-31T00:00:00.123Z"], typed_rows.Kind("timestamp", scale=3)),
    ("datetime", {"format": "date-time"}, ["2026-01-31T00:00:00.123456789Z"], typed_rows.Kind("timestamp", scale=9)),
    ("datetime", {"format": "date-time"}, [], typed_rows.Kind("timestamp", scale=6)),
    ("datetime", {"pattern": "x"}, ["+012345-01-31"], typed_rows.Kind("string")),
])
def test_type_by_what_is_printed(logical: str, told: dict[str, Any], texts: list[str], kind: typed_rows.Kind) -> None:
    assert typed_rows._kind(logical, told, texts) == kind


ROWS = [
    '{"id": 1, "i": 9223372036854775807, "d": 901.00, "x": 0.1, "b": true, "s": "1.0", "day": "2026-01-31",'
    ' "t": "2026-01-31T01:02:03.000001Z"}',
    '{"id": 2, "i": -5, "d": -0.10, "x": 1e300, "b": false, "s": "", "day": "1969-12-31",'
    ' "t": "1969-12-31T23:59:59.999999Z"}',
    '{"id": 3, "i": null, "d": null, "x": null, "b": null, "s": null, "day": null, "t": null}',
]
KINDS = {"id": "integer", "i": "integer", "d": "number", "x": "number", "b": "boolean", "s": "string",
         "day": "datetime", "t": "datetime"}


class Writer(Fake):
    """Prints rows as texts, and describes them."""

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/schema"):
            formats = {"day": {"format": "date"}, "t": {"format": "date-time"}}
            return data({"version": "1.0.0", "columns": [{"name": name, "type": kind} for name, kind in KINDS.items()],
                         "properties": {name: formats.get(name, {}) for name in KINDS}})
        if path.endswith("/stats"):
            columns = [{"name": name, "min": None, "max": None, "quantiles": None, "topValues": None} for name in KINDS]
            return data({"columns": columns})
        if path.endswith("/sample"):
            return httpx.Response(200, text=f'{{"data": {{"results": [{",".join(ROWS)}]}}}}')
        if path.endswith("/stream"):
            if request.headers["Accept"] != "application/x-ndjson":
                return refusal(406, "NOT_ACCEPTABLE", "no such format")
            assert json.loads(request.content)["version"] == "1.0.0"
            names = json.loads(request.content).get("columns") or list(KINDS)
            rows = ["{" + ",".join(f'"{name}":{text_of(row, name)}' for name in names) + "}" for row in ROWS]
            content = "\n".join([*rows, '{"$end":{"nextCursor":null}}', ""])
            return httpx.Response(200, headers={"X-Dataset-Version": "1.0.0"}, text=content)
        return super()._answer(request)


def text_of(row: str, name: str) -> str:
    """A value with the digits that it is printed with."""
    class Raw(float):
        def __repr__(self) -> str:
            return self.text  # type: ignore[attr-defined,no-any-return]

    def raw(text: str) -> Raw:
        made = Raw(text)
        made.text = text  # type: ignore[attr-defined]
        return made

    value = json.loads(row, parse_float=raw)[name]
    return repr(value) if isinstance(value, Raw) else json.dumps(value)


def test_table_of_a_server_without_arrow() -> None:
    table = Writer().client().dataset("numbers").query().to_arrow()
    assert {field.name: str(field.type) for field in table.schema} == {
        "id": "int64", "i": "int64", "d": "decimal128(38, 2)", "x": "double", "b": "bool", "s": "string",
        "day": "date32[day]", "t": "timestamp[us, tz=UTC]"}
    assert table.column("d").to_pylist() == [Decimal("901.00"), Decimal("-0.10"), None]
    assert table.column("x").to_pylist() == [0.1, 1e300, None]
    assert table.column("i").to_pylist() == [9223372036854775807, -5, None]
    assert table.column("s").to_pylist() == ["1.0", "", None]
    assert table.column("day").to_pylist() == [date(2026, 1, 31), date(1969, 12, 31), None]
    assert table.column("t").to_pylist() == [
        datetime(2026, 1, 31, 1, 2, 3, 1, tzinfo=timezone.utc),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc), None]


def test_columns_in_the_order_asked_for() -> None:
    assert Writer().client().dataset("numbers").query(columns=["d", "id"]).to_arrow().schema.names == ["d", "id"]


def test_batches_have_one_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_rows, "BATCH_ROWS", 1)
    assert Writer().client().dataset("numbers").query().to_arrow().num_rows == 3


def test_values_beside_the_schema_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "s", "integer")
    with pytest.raises(mercato.UnexpectedAnswer, match="schema"):
        Writer().client().dataset("numbers").query().to_arrow()


def test_unknown_column_is_the_servers_to_refuse() -> None:
    fake = Writer()
    refused: Callable[[httpx.Request], httpx.Response | None] = answers(400, reason="UNKNOWN_COLUMN")
    fake.faults = [lambda request: None, *[lambda request: None] * 3, refused]
    with pytest.raises(mercato.BadRequest):
        fake.client().dataset("numbers").query(columns=["id", "nothing"]).to_arrow()
