#!/usr/bin/env python3
"""Reads a table with a column of every type through common clients for streams and downloads, and compares every value
with the published Parquet file as pyarrow reads it.

    python long_answers.py --binaries target/release [--rows N] [--modules DIR]

`--modules` is a folder in which npm has installed eventsource-parser. Exit code 0 only if every client
reads every value.
"""

import argparse
import csv
import gzip
import io
import json
import math
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import httpx_sse
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import requests
import sseclient

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))
import parquet_round_trip as source  # noqa: E402
from service import Service  # noqa: E402

SECONDS_MAX = 120
# Some text readers stop at a NUL, so no text of this table has one.
WORDS = [word.replace("\u0000", "") for word in source.WORDS]
EVENT_READER = """
import { createParser } from 'eventsource-parser';
const rows = [];
const parser = createParser({ onEvent: (event) => rows.push([event.id ?? null, event.data]) });
const decoder = new TextDecoder();
const answer = await fetch(process.argv[1], {
    method: 'POST', body: process.argv[2], headers: { 'X-Api-Key': process.argv[3], 'Content-Type': 'application/json' } });
for await (const piece of answer.body) parser.feed(decoder.decode(piece, { stream: true }));
process.stdout.write(JSON.stringify(rows));
"""

Rows = list[dict[str, Any]]


class Check:
    """The table, its expected values, and a running server with it."""

    def __init__(self, service: Service, table: pa.Table, store: Path, modules: Path | None) -> None:
        self.service = service
        self.count = table.num_rows
        self.modules = modules
        self.store = store
        assert service.connection is not None, "the server runs"
        self.url = f"http://{service.connection.host}:{service.connection.port}/api/v1/datasets/everything"
        self.headers = {"X-Api-Key": service.key}
        self.wanted: dict[str, list[Any]] = {}
        self.floats: dict[str, list[float | None]] = {}
        self.widths: dict[str, pa.DataType] = {}
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            self.wanted.update(source.flatten(name, column))
            if pa.types.is_floating(column.type):
                self.floats[name] = column.cast(pa.float64()).to_pylist()
                self.widths[name] = column.type

    def json_rows(self, client: str, rows: Rows) -> None:
        """Checks parsed objects: columns in order, equal values, numbers with the same digits."""
        self.whole(client, len(rows))
        for number, row in enumerate(rows):
            if list(row) != list(self.wanted):
                raise SystemExit(f"{client}: row {number} has the columns {list(row)}")
            for name, values in self.wanted.items():
                if not source.same(row[name], values[number]):
                    raise SystemExit(f"{client}: {name!r}, row {number}: {row[name]!r} instead of {values[number]!r}")

    def text_rows(self, client: str, rows: list[dict[str, str | None]], empty_is_null: bool) -> None:
        """Checks the cells of a CSV file, as texts."""
        self.whole(client, len(rows))
        for number, row in enumerate(rows):
            for name in self.wanted:
                if not self.same_text(name, number, row[name], empty_is_null):
                    wanted = self.wanted[name][number]
                    raise SystemExit(f"{client}: {name!r}, row {number}: {row[name]!r} instead of {wanted!r}")

    def same_text(self, name: str, number: int, cell: str | None, empty_is_null: bool) -> bool:
        wanted = self.wanted[name][number]
        if name in self.floats:
            number_wanted = self.floats[name][number]
            if number_wanted is None or not cell:
                return number_wanted is None and not cell
            # The shortest text that reads back the same at the width of the column.
            found = pa.array([float(cell)]).cast(self.widths[name], safe=False).cast(pa.float64())[0].as_py()
            return found == number_wanted or (math.isnan(found) and math.isnan(number_wanted))
        if wanted is None or (wanted == "" and empty_is_null):
            return cell in ((None, "") if empty_is_null else (None,))
        if isinstance(wanted, bool):
            return cell == ("true" if wanted else "false")
        if isinstance(wanted, tuple):
            return source.same(cell, wanted)
        if isinstance(wanted, float):
            return cell is not None and float(cell) == wanted
        return cell == wanted

    def whole(self, client: str, count: int) -> None:
        if count != self.count:
            raise SystemExit(f"{client}: {count} rows instead of {self.count}")

    def body(self) -> str:
        return json.dumps({"limit": self.count})

    def header(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.url, timeout=SECONDS_MAX) as answer:
            document: dict[str, Any] = json.loads(answer.read())["data"]
            return document

    def get(self, target: str, **headers: str) -> bytes:
        request = urllib.request.Request(f"{self.url}/{target}", headers=self.headers | headers)
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
            return bytes(answer.read())


# Streams. -----------------------------------------------------------------------------------------------------

def with_httpx_sse(check: Check) -> None:
    rows, ids = [], []
    with httpx.Client(timeout=SECONDS_MAX) as client:
        with httpx_sse.connect_sse(client, "POST", f"{check.url}/query/stream", content=check.body(), headers=check.headers) as events:
            for event in events.iter_sse():
                rows.append(source.parse(event.data))
                ids.append(event.id)
    check.json_rows("httpx-sse", rows)
    if len(set(ids)) < check.count // 1000:
        raise SystemExit(f"httpx-sse saw {len(set(ids))} ids")


def with_sseclient(check: Check) -> None:
    answer = requests.post(f"{check.url}/query/stream", data=check.body(), headers=check.headers, stream=True, timeout=SECONDS_MAX)
    check.json_rows("sseclient", [source.parse(event.data) for event in sseclient.SSEClient(answer).events()])


def with_eventsource_parser(check: Check) -> None:
    if check.modules is None:
        raise SystemExit("eventsource-parser: name its npm folder with --modules")
    command = ["node", "--input-type=module", "-e", EVENT_READER, f"{check.url}/query/stream", check.body(), check.service.key]
    outcome = subprocess.run(command, cwd=check.modules, capture_output=True, timeout=SECONDS_MAX)
    if outcome.returncode != 0:
        raise SystemExit(f"eventsource-parser: {outcome.stderr.decode()}")
    check.json_rows("eventsource-parser", [source.parse(data) for _, data in json.loads(outcome.stdout)])


def with_httpx_lines(check: Check) -> None:
    """NDJSON with the content encoding that httpx requests."""
    headers = check.headers | {"Accept": "application/x-ndjson"}
    with httpx.Client(timeout=SECONDS_MAX) as client:
        with client.stream("POST", f"{check.url}/query/stream", content=check.body(), headers=headers) as answer:
            encoded = answer.headers.get("content-encoding")
            text = b"".join(answer.iter_bytes())
    if encoded not in ("gzip", "zstd"):
        raise SystemExit(f"httpx asked for an encoded body and got {encoded}")
    check.json_rows("httpx", [source.parse(line) for line in text.decode().split("\n") if line])


def with_csv_stream(check: Check) -> None:
    """CSV of a query in one call, by a client that ignores trailers."""
    headers = check.headers | {"Accept": "text/csv", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{check.url}/query/stream?summary=1", check.body().encode(), headers)
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
        lines = list(csv.reader(io.StringIO(answer.read().decode(), newline="")))
    if lines[-1] != ["$end", str(check.count), "", str(check.count)]:
        raise SystemExit(f"the CSV stream ends with {lines[-1]}")
    names, *records = lines[:-1]
    check.text_rows("csv stream", [dict(zip(names, record)) for record in records], empty_is_null=True)


# Downloads. ---------------------------------------------------------------------------------------------------

def with_plain_http(check: Check) -> None:
    """Checks that every format of a download equals the export of the tools."""
    for form in ("csv", "json", "ndjson"):
        exported = source.run(check.service.binaries / "mercato-tools", "export", check.store, "--format", form)
        if check.get(f"download?format={form}") != exported:
            raise SystemExit(f"the download as {form} differs from the export")
        if gzip.decompress(check.get(f"download?format={form}", **{"Accept-Encoding": "gzip"})) != exported:
            raise SystemExit(f"the encoded download as {form} differs from the export")
        size = next(offer["bytes"] for offer in check.header()["formats"] if offer["format"] == form)
        if size != len(exported):
            raise SystemExit(f"the header of the dataset promises {size} bytes of {form} instead of {len(exported)}")


def with_json(check: Check) -> None:
    check.json_rows("json", source.parse(check.get("download?format=json").decode()))


def with_csv(check: Check) -> None:
    text = check.get("download?format=csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    check.text_rows("csv", rows, empty_is_null=True)


def with_pandas(check: Check) -> None:
    frame = pandas.read_csv(f"{check.url}/download?format=csv", storage_options=check.headers, dtype=str, keep_default_na=False)
    check.text_rows("pandas", frame.to_dict("records"), empty_is_null=True)
    typed = pandas.read_csv(f"{check.url}/download?format=csv", storage_options=check.headers, usecols=["int32", "double"])
    for name in ("int32", "double"):
        sums = typed[name].replace([math.inf, -math.inf], math.nan).sum(), sum(
            float(value) for value in check.wanted[name] if value is not None)
        if not math.isclose(*sums, rel_tol=1e-9):
            raise SystemExit(f"pandas: the sum of {name} is {sums[0]} instead of {sums[1]}")


def places(check: Check, folder: Path) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    """DuckDB on files, and over HTTP if its extension is available."""
    for form in ("csv", "json", "ndjson"):
        (folder / f"file.{form}").write_bytes(check.get(f"download?format={form}"))
    yield "DuckDB", "", lambda form: str(folder / f"file.{form}")
    try:
        duckdb.connect().execute("INSTALL httpfs")
    except duckdb.Error as error:
        print(f"DuckDB over HTTP is skipped: {error}".splitlines()[0])
        return
    secret = f"LOAD httpfs; CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {{'X-Api-Key': '{check.service.key}'}})"
    yield "DuckDB over HTTP", secret, lambda form: f"{check.url}/download?format={form}"


def with_duckdb(check: Check) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for client, setup, place in places(check, Path(folder)):
            database = duckdb.connect()
            if setup:
                database.execute(setup)
            columns = "{" + ", ".join(f"'{name}': 'JSON'" for name in check.wanted) + "}"
            for form, kind in (("ndjson", "newline_delimited"), ("json", "array")):
                options = f"format='{kind}', columns={columns}, maximum_object_size=10000000"
                found = database.execute(f"SELECT * FROM read_json('{place(form)}', {options})").fetchall()
                rows = [dict(zip(check.wanted, map(cell, row))) for row in found]
                take_doubles_for_equal(check, rows)
                check.json_rows(f"{client}, {form}", rows)
            options = "all_varchar=true, header=true, nullstr='', allow_quoted_nulls=false, delim=',', quote='\"', escape='\"', new_line='\\r\\n', strict_mode=false"
            found = database.execute(f"SELECT * FROM read_csv('{place('csv')}', {options})").fetchall()
            check.text_rows(f"{client}, csv", [dict(zip(check.wanted, row)) for row in found], empty_is_null=False)


def take_doubles_for_equal(check: Check, rows: Rows) -> None:
    """DuckDB's JSON reader converts numbers with more digits than a double has to doubles."""
    for number, row in enumerate(rows):
        for name, values in check.wanted.items():
            found, wanted = row.get(name), values[number] if number < check.count else None
            if isinstance(found, source.Number) and isinstance(wanted, source.Number) and float(found) == float(wanted):
                row[name] = wanted


def cell(text: str | None) -> Any:
    return None if text is None else source.parse(text)


CLIENTS: list[Callable[[Check], None]] = [
    with_httpx_sse, with_sseclient, with_eventsource_parser, with_httpx_lines, with_csv_stream, with_plain_http, with_json, with_csv, with_pandas,
    with_duckdb]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--binaries", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=2_500)
    parser.add_argument("--modules", type=Path)
    arguments = parser.parse_args()
    source.WORDS = WORDS
    rng = random.Random(7)
    table = pa.table(source.flat_columns(rng, arguments.rows) | source.nested_columns(rng, arguments.rows))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "everything.parquet"
        pq.write_table(table, path)
        service = Service(arguments.binaries, folder)
        service.publish("everything", path)
        service.open_account()
        store = service.data / "datasets" / "everything" / "versions" / "1.0.0.mcol"
        with service:
            check = Check(service, source.read(path, table), store, arguments.modules)
            for client in CLIENTS:
                client(check)
    print(f"{len(CLIENTS)} clients read {arguments.rows} rows of {len(check.wanted)} columns: all agree")


if __name__ == "__main__":
    main()
