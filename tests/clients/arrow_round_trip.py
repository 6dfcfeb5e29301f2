#!/usr/bin/env python3
"""Publishes Parquet with a column of every type, reads it back as Arrow (page, stream, download, sample and the export of
the tools), and compares types, nulls, values and metadata with the source as pyarrow reads it. Then pandas, DuckDB and
Polars read the same stream.

    python arrow_round_trip.py --binaries target/debug [--rows N] [--seed N]

Exit code 0 only if everything agrees.
"""

import argparse
import io
import json
import math
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))
import parquet_round_trip as source  # noqa: E402
from service import Service  # noqa: E402

ARROW = "application/vnd.apache.arrow.stream"
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
SECONDS_MAX = 120
UINT64_FITS_INT64 = 2**63 - 1


def plain(array: pa.Array) -> pa.Array:
    """An array without extension and dictionary."""
    if isinstance(array.type, pa.BaseExtensionType):
        return plain(array.storage)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def expected_type(kind: pa.DataType, values: list[Any], is_int96: bool) -> pa.DataType:
    """The Arrow type that the documentation promises for a type of the source."""
    if pa.types.is_boolean(kind):
        return pa.bool_()
    if pa.types.is_integer(kind):
        beyond = kind == pa.uint64() and any(value is not None and value > UINT64_FITS_INT64 for value in values)
        return pa.uint64() if beyond else pa.int64()
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64() if pa.types.is_float64(kind) else pa.float32()
    if pa.types.is_decimal(kind):
        return (pa.decimal128 if kind.precision <= 38 else pa.decimal256)(kind.precision, kind.scale)
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_timestamp(kind):
        is_local = kind.tz is None and not is_int96
        return pa.timestamp(kind.unit, tz=None if is_local else "UTC")
    return pa.string()


def wanted_columns(table: pa.Table, is_int96: bool) -> dict[str, tuple[pa.DataType, list[Any]]]:
    """Types and values by the dotted names of the store file; texts as the export prints them."""
    wanted: dict[str, tuple[pa.DataType, list[Any]]] = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
        add(wanted, name, column, None, is_int96)
    return wanted


def add(wanted: dict[str, Any], name: str, column: pa.Array, valid: list[bool] | None, is_int96: bool) -> None:
    if pa.types.is_struct(column.type):
        own = column.is_valid().to_pylist()
        valid = own if valid is None else [a and b for a, b in zip(own, valid)]
        for index, field in enumerate(column.type):
            add(wanted, f"{name}.{field.name}", column.field(index), valid, is_int96)
        return
    array = plain(column)
    kind = expected_type(array.type, array.to_pylist() if pa.types.is_uint64(array.type) else [], is_int96)
    if kind == pa.string():
        values = source.expected(column)
    elif pa.types.is_timestamp(array.type):
        # Parquet has no unit of seconds: the source has milliseconds.
        values = array.cast(pa.int64()).to_pylist()
    elif pa.types.is_float16(array.type):
        values = [None if value is None else float(value) for value in array.to_pylist()]
    else:
        values = (array.cast(pa.int64()) if pa.types.is_duration(array.type) else array).to_pylist()
    if valid is not None:
        values = [value if ok else None for value, ok in zip(values, valid)]
    wanted[name] = (kind, values)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return found == expected or (math.isnan(found) and math.isnan(expected))
    if isinstance(expected, tuple):
        return source.same(found, expected)
    return type(found) is type(expected) and found == expected


def check(label: str, found: pa.Table, wanted: dict[str, tuple[pa.DataType, list[Any]]], rows: int) -> int:
    """Compares types and values of the first `rows` rows. Returns the number of compared values."""
    if found.column_names != list(wanted) or found.num_rows != rows:
        raise SystemExit(f"{label}: {found.num_rows} rows of {found.column_names}, expected {rows} of {list(wanted)}")
    for name, (kind, values) in wanted.items():
        column = found.column(name)
        column_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if column_type != kind:
            raise SystemExit(f"{label}: column {name!r} is {column.type}, expected {kind}")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        cells = (column.cast(pa.int64()) if pa.types.is_timestamp(kind) else column).to_pylist()
        for row, (cell, value) in enumerate(zip(cells, values)):
            if not same(cell, value):
                raise SystemExit(f"{label}: column {name!r}, row {row}: found {cell!r}, the source has {value!r}")
    return rows * len(wanted)


def read(label: str, body: bytes) -> pa.Table:
    """The whole stream; one that was cut lacks the mark of its end."""
    if not body.endswith(END):
        raise SystemExit(f"{label}: no mark of the end")
    return pa.ipc.open_stream(body).read_all()


class Client:
    """Requests of one key for one dataset."""

    def __init__(self, service: Service) -> None:
        assert service.connection is not None, "the server runs"
        self.url = f"http://{service.connection.host}:{service.connection.port}/api/v1/datasets/everything"
        self.key = service.key

    def get(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> tuple[bytes, Any]:
        content = None if body is None else json.dumps(body).encode()
        sent = {"X-Api-Key": self.key, "Content-Type": "application/json", "Accept": ARROW} | headers
        request = urllib.request.Request(f"{self.url}/{path}", content, sent)
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
            return answer.read(), answer.headers


def walk(client: Client, limit: int) -> pa.Table:
    """All rows, page by page, as one table."""
    pages: list[pa.Table] = []
    body: dict[str, Any] = {"limit": limit}
    while True:
        answer, headers = client.get("query", body)
        pages.append(read("page", answer))
        if "X-Next-Cursor" not in headers:
            # Each page has its own dictionaries.
            return pa.concat_tables(pages).unify_dictionaries()
        body["cursor"] = headers["X-Next-Cursor"]


def check_metadata(table: pa.Table) -> None:
    if table.schema.metadata != {b"dataset": b"everything", b"version": b"1.0.0"}:
        raise SystemExit(f"metadata: {table.schema.metadata}")


def check_readers(body: bytes, table: pa.Table) -> None:
    """pandas, DuckDB and Polars: row counts, nulls and sums of every column that has them."""
    frame = table.to_pandas()
    lazy = duckdb.from_arrow(table)
    frames = polars.read_ipc_stream(io.BytesIO(body))
    if not len(frame) == len(frames) == table.num_rows == lazy.count("*").fetchall()[0][0]:
        raise SystemExit(f"rows: pandas {len(frame)}, Polars {len(frames)}, pyarrow {table.num_rows}")
    for name in table.column_names:
        nulls = table.column(name).null_count
        quoted = '"' + name.replace('"', '""') + '"'
        counted = table.num_rows - lazy.aggregate(f"count({quoted})").fetchall()[0][0]
        if (frames[name].null_count(), counted) != (nulls, nulls):
            raise SystemExit(f"{name!r}: {nulls} nulls, Polars {frames[name].null_count()}, DuckDB {counted}")
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_int64(column.type) or pa.types.is_boolean(column.type):
            if frames[name].to_list() != column.to_pylist():
                raise SystemExit(f"{name!r}: Polars reads other values")
            read_by_duckdb = [row[0] for row in lazy.project(quoted).fetchall()]
            if read_by_duckdb != column.to_pylist():
                raise SystemExit(f"{name!r}: DuckDB reads other values")


def check_exports(tools: Path, rng: random.Random, folder: Path, form: str, read_back: Callable[[bytes], pa.Table]) -> int:
    """Exports of files with few rows, also of moments in INT96."""
    values = 0
    for count in (0, 1, 200):
        table = pa.table(source.flat_columns(rng, count) | source.nested_columns(rng, count))
        for label, options in {"defaults": {}, "int96": {"use_deprecated_int96_timestamps": True}}.items():
            written = table
            if label == "int96":
                far = [f.name for f in table.schema if pa.types.is_timestamp(f.type) and f.type.unit != "ns"]
                written = table.drop_columns(far)
            path = folder / "table.parquet"
            pq.write_table(written, path, **options)
            store = path.with_suffix(".mcol")
            source.run(tools, "convert", path, "--output", store, "--force", "--json")
            exported = source.run(tools, "export", store, "--format", form)
            wanted = wanted_columns(source.read(path, written), label == "int96")
            values += check(f"export, {label}, {count} rows", read_back(exported), wanted, count)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--binaries", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    tools = arguments.binaries / "mercato-tools"
    values = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values += check_exports(tools, rng, folder, "arrow", lambda exported: read("export", exported))
        table = pa.table(source.flat_columns(rng, arguments.rows) | source.nested_columns(rng, arguments.rows))
        path = folder / "everything.parquet"
        pq.write_table(table, path)
        wanted = wanted_columns(source.read(path, table), False)
        service = Service(arguments.binaries, folder)
        service.publish("everything", path)
        service.open_account()
        with service:
            client = Client(service)
            stream, _ = client.get("query/stream", {"limit": arguments.rows})
            download, headers = client.get("download?format=arrow")
            if (headers["Content-Length"], headers["Accept-Ranges"]) != (None, "none"):
                raise SystemExit(f"the download has other headers than one of unknown length: {headers}")
            streamed, downloaded = read("stream", stream), read("download", download)
            for label, found in {"pages": walk(client, 400), "stream": streamed, "download": downloaded}.items():
                values += check(label, found, wanted, arguments.rows)
                check_metadata(found)
            check_readers(stream, streamed)
            sample = read("sample", client.get("sample")[0])
            check_metadata(sample)
    print(f"{values} values: all agree (pyarrow {pa.__version__}, Polars {polars.__version__}, DuckDB {duckdb.__version__})")


if __name__ == "__main__":
    main()
