#!/usr/bin/env python3
"""Publishes a column of every type, reads the Parquet file of the version back (download and export of the tools), and compares
types, nulls, values and metadata with the source as pyarrow reads it. DuckDB and Polars read the same file, beside the JSON and
the CSV of the server. Then pyarrow and Polars read some columns of a larger file by ranges over HTTP: they get few bytes, and pay
once.

    python parquet_out.py --binaries target/debug [--rows N] [--seed N]

Exit code 0 only if everything agrees.
"""

import argparse
import base64
import csv
import hashlib
import http.client
import http.server
import io
import json
import math
import random
import struct
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

import arrow_round_trip as arrow

from arrow_round_trip import Client, Service, source

PARQUET = "application/vnd.apache.parquet"
DOWNLOAD = "download?format=parquet"
WIDE_ROWS = 120_000
CREDITS_ONCE = "a reader by ranges pays the rows once"


class RangeFile(io.RawIOBase):
    """A remote file that is read by ranges, and what that took."""

    def __init__(self, client: Client, path: str) -> None:
        self.client, self.path, self.place = client, path, 0
        self.bytes_read, self.charges = 0, [0]
        request = urllib.request.Request(f"{client.url}/{path}", headers={"X-Api-Key": client.key}, method="HEAD")
        with urllib.request.urlopen(request, timeout=arrow.SECONDS_MAX) as answer:
            self.length = int(answer.headers["Content-Length"])
            self.tag = answer.headers["ETag"]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.length}[whence]
        return self.place

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self.length - self.place)
        if count <= 0:
            return 0
        wanted = {"Range": f"bytes={self.place}-{self.place + count - 1}", "If-Match": self.tag}
        body, headers = self.client.get(self.path, **wanted)
        buffer[:count] = body
        self.place += count
        self.bytes_read += count
        self.charges.append(int(headers["X-Credits-Charged"]))
        return count


class KeyedProxy:
    """Adds the key to requests of readers that cannot send headers, and counts the bytes and credits of the answers."""

    def __init__(self, client: Client, path: str) -> None:
        self.bytes_read, self.charges, self.ranges = 0, 0, 0
        proxy = self
        server = client.url.split("/")[2]
        target = f"/{'/'.join(client.url.split('/')[3:])}/{path}"

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                connection = http.client.HTTPConnection(server, timeout=arrow.SECONDS_MAX)
                kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                connection.request(self.command, target, headers=kept | {"X-Api-Key": client.key})
                answer = connection.getresponse()
                body = answer.read()
                proxy.bytes_read += len(body)
                proxy.charges += int(answer.headers.get("X-Credits-Charged", 0))
                proxy.ranges += answer.status == 206
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in ("connection", "date", "server", "transfer-encoding"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                connection.close()

            do_GET = do_HEAD = forward

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/file.parquet"

    def __enter__(self) -> "KeyedProxy":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()


def whole_file(client: Client, published: Path) -> bytes:
    """The download: the bytes of the published file, and their digest."""
    body, headers = client.get(DOWNLOAD, **{"Accept-Encoding": "gzip, zstd"})
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    if headers["Repr-Digest"] != f"sha-256=:{digest}:" or headers["Content-Encoding"] or body != published.read_bytes():
        raise SystemExit("the download is not the published file, as it is")
    if headers["Content-Type"] != PARQUET or headers["ETag"].startswith("W/"):
        raise SystemExit(f"headers of the download: {headers}")
    return body


def check_form(body: bytes, slug: str) -> None:
    file = pq.ParquetFile(io.BytesIO(body))
    found = {name: file.metadata.metadata.get(name) for name in (b"dataset", b"version")}
    if found != {b"dataset": slug.encode(), b"version": b"1.0.0"}:
        raise SystemExit(f"metadata: {found}")
    for group in range(file.metadata.num_row_groups):
        for number in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(number)
            if chunk.compression != "ZSTD" or not (chunk.has_offset_index and chunk.has_column_index and chunk.is_stats_set):
                raise SystemExit(f"form: {chunk}")


def plain(value: Any) -> Any:
    """A value of a reader as the API prints it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def is_told(found: Any, told: Any, width: str) -> bool:
    """Whether a value of a reader is the one that JSON tells, by the shortest text of its width."""
    found = plain(found)
    if found is None or told is None:
        return found is told
    if isinstance(found, float):
        return found == struct.unpack(width, struct.pack(width, float(told)))[0]
    if isinstance(found, Decimal):
        return found == Decimal(told) if not isinstance(told, Decimal) else found == told
    return type(found) is type(told) and found == told


def comparable(table: pa.Table) -> list[str]:
    """Columns whose values need no text of dates to be compared with JSON."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_floating)
    return [name for name in table.column_names if any(kind(table.schema.field(name).type) for kind in kinds)]


def check_readers(client: Client, path: Path, table: pa.Table) -> int:
    """DuckDB and Polars beside JSON and CSV of the server, value by value."""
    names = comparable(table)
    rows = [json.loads(line, parse_float=Decimal) for line in client.get("download?format=ndjson")[0].splitlines()]
    records = list(csv.DictReader(io.StringIO(client.get("download?format=csv")[0].decode(), newline="")))
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    by_duckdb = duckdb.sql(f"SELECT {quoted} FROM read_parquet('{path}')").fetchall()
    frame = polars.read_parquet(path, columns=names)
    if not len(rows) == len(records) == len(by_duckdb) == len(frame) == table.num_rows:
        raise SystemExit(f"rows: JSON {len(rows)}, CSV {len(records)}, DuckDB {len(by_duckdb)}, Polars {len(frame)}")
    for at, name in enumerate(names):
        width = "e" if name == "half" else "f" if pa.types.is_float32(table.schema.field(name).type) else "d"
        values = frame[name].to_list()
        for row, (told, record) in enumerate(zip(rows, records)):
            if not is_told(values[row], told[name], width):
                raise SystemExit(f"Polars: {name!r}, row {row}: {values[row]!r}, JSON has {told[name]!r}")
            if not is_told(by_duckdb[row][at], told[name], width):
                raise SystemExit(f"DuckDB: {name!r}, row {row}: {by_duckdb[row][at]!r}, JSON has {told[name]!r}")
            if isinstance(values[row], (int, str)) and not isinstance(values[row], bool) and record[name] != str(values[row]):
                raise SystemExit(f"Polars: {name!r}, row {row}: {values[row]!r}, CSV has {record[name]!r}")
    return 3 * len(rows) * len(names)


def wide_table(rng: random.Random) -> pa.Table:
    """A table whose texts are most of its bytes."""
    def text() -> str:
        return rng.randbytes(24).hex()

    columns: dict[str, Any] = {"id": pa.array(range(WIDE_ROWS)), "amount": pa.array([rng.uniform(0, 1e6) for _ in range(WIDE_ROWS)])}
    columns["few"] = pa.array([rng.choice(["red", "green", "blue", None]) for _ in range(WIDE_ROWS)])
    columns |= {f"text {number}": pa.array([text() for _ in range(WIDE_ROWS)]) for number in range(3)}
    return pa.table(columns)


def check_reader_by_ranges(client: Client, table: pa.Table) -> str:
    """pyarrow and Polars read some columns only, and pay once."""
    names = ["id", "few"]
    remote = RangeFile(client, DOWNLOAD)
    file = pq.ParquetFile(remote, pre_buffer=True)
    if not file.read(columns=names).equals(table.select(names)):
        raise SystemExit("pyarrow by ranges: other values")
    if sum(remote.charges) != WIDE_ROWS or remote.bytes_read * 4 > remote.length:
        raise SystemExit(f"{CREDITS_ONCE}: {remote.charges} credits, {remote.bytes_read} of {remote.length} bytes")
    with KeyedProxy(client, DOWNLOAD) as proxy:
        frame = polars.scan_parquet(proxy.url).select(names).collect()
        if not frame.to_arrow().cast(table.select(names).schema).equals(table.select(names)):
            raise SystemExit("Polars by ranges: other values")
        counted = polars.scan_parquet(proxy.url).select(polars.len()).collect().item()
        if counted != WIDE_ROWS or proxy.charges != 0 or proxy.ranges == 0 or proxy.bytes_read * 4 > remote.length:
            raise SystemExit(f"{CREDITS_ONCE}: Polars took {proxy.charges} credits, {proxy.bytes_read} of {remote.length} bytes")
    return f"of {remote.length} bytes pyarrow read {remote.bytes_read}, Polars {proxy.bytes_read}"


def refused(client: Client, path: str) -> tuple[int, str]:
    try:
        client.get(path)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]["details"]["reason"]
    return 200, ""


def client_of(service: Service, slug: str) -> Client:
    client = Client(service)
    client.url = client.url.replace("/everything", f"/{slug}")
    return client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--binaries", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = arguments.binaries / "mercato-tools"
        values = arrow.check_exports(tools, rng, folder, "parquet", lambda file: pq.read_table(io.BytesIO(file)))
        columns = source.flat_columns(rng, arguments.rows) | source.nested_columns(rng, arguments.rows)
        columns["long text"] = pa.array(["x" * 70_000 if row % 500 == 0 else "" for row in range(arguments.rows)])
        tables = {"everything": pa.table(columns), "wide": wide_table(rng)}
        service = Service(arguments.binaries, folder)
        for slug, table in tables.items():
            pq.write_table(table, folder / f"{slug}.parquet")
            service.publish(slug, folder / f"{slug}.parquet")
        service.open_account()
        with service:
            client = client_of(service, "everything")
            body = whole_file(client, service.data / "datasets/everything/versions/1.0.0.parquet")
            check_form(body, "everything")
            path = folder / "downloaded.parquet"
            path.write_bytes(body)
            wanted = arrow.wanted_columns(source.read(folder / "everything.parquet", tables["everything"]), False)
            found = pq.read_table(path)
            values += arrow.check("download", found, wanted, arguments.rows)
            values += check_readers(client, path, found)
            read = check_reader_by_ranges(client_of(service, "wide"), tables["wide"])
            (service.data / "datasets/wide/versions/1.0.0.parquet").unlink()
            service.publish("wide", folder / "wide.parquet", version="1.0.1")
            if (answer := refused(client_of(service, "wide"), f"{DOWNLOAD}&version=1.0.0")) != (406, "FORMAT_NOT_OFFERED"):
                raise SystemExit(f"a version without Parquet answers {answer}")
    print(f"{values} values: all agree (pyarrow {pa.__version__}, Polars {polars.__version__}, DuckDB {duckdb.__version__}); {read}")


if __name__ == "__main__":
    main()
