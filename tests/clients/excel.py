#!/usr/bin/env python3
"""Publishes Parquet with a column of every type, reads pages, the sample, a stream and the download as Excel workbooks
with openpyxl, and compares every cell with the JSON of the same rows.

    python excel.py --binaries target/debug [--rows N] [--seed N]

Exit code 0 only if everything agrees.
"""

import argparse
import datetime
import decimal
import io
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl.utils.escape import unescape

from arrow_round_trip import Client, Service, source

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
EXACT_INTEGER_MAX = 2**53
DIGITS_MAX = 15
NOT_FINITE = {"NaN", "Infinity", "-Infinity"}


def parse(text: bytes | str) -> Any:
    return json.loads(text, parse_float=decimal.Decimal)


def json_rows(client: Client, path: str, body: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return parse(client.get(path, body, Accept="application/json")[0])["data"]["results"]


def is_date(text: str) -> bool:
    return len(text) >= 10 and text[4] == "-" and text[7] == "-" and text[:4].isdigit()


def agrees(cell: Any, value: Any) -> bool:
    """Whether a cell shows a value of JSON as the documentation promises."""
    if value is None:
        return cell is None or cell in NOT_FINITE
    if isinstance(value, bool):
        return cell is value
    if isinstance(value, int):
        return cell == (value if abs(value) <= EXACT_INTEGER_MAX else str(value))
    if isinstance(value, decimal.Decimal):
        if isinstance(cell, str):
            is_long = len(value.as_tuple().digits) > DIGITS_MAX or abs(value) < decimal.Decimal("2.3e-308")
            return is_long and decimal.Decimal(cell) == value
        return float(cell) == float(value)
    if isinstance(cell, datetime.datetime):
        shown = cell.strftime("%Y-%m-%d") if len(value) == 10 else moment(cell, value)
        return is_date(value) and shown == value
    return unescape(cell or "") == value


def moment(cell: datetime.datetime, value: str) -> str:
    """A cell to the millisecond, with as many digits as the value."""
    rounded = cell + datetime.timedelta(microseconds=500)
    digits = len(value) - len("2020-01-01T00:00:00Z") - 1
    text = rounded.strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{rounded.microsecond // 1000:03}".ljust(digits, "0")[: max(digits, 0)]
    return f"{text}.{fraction}Z" if digits > 0 else f"{text}Z"


def check(label: str, workbook: bytes, rows: list[dict[str, Any]], names: list[str]) -> int:
    """Compares all cells with rows of JSON. Returns their number."""
    book = openpyxl.load_workbook(io.BytesIO(workbook))
    sheet = book.active
    assert sheet is not None and book.sheetnames == ["everything"], book.sheetnames
    lines = list(sheet.iter_rows(values_only=True))
    if list(lines[0]) != names or len(lines) != len(rows) + 1:
        raise SystemExit(f"{label}: {len(lines) - 1} rows of {lines[0]}, expected {len(rows)} of {names}")
    if not sheet["A1"].font.b or sheet.freeze_panes != "A2":
        raise SystemExit(f"{label}: the header row is not bold and frozen")
    for number, (line, row) in enumerate(zip(lines[1:], rows)):
        for name, cell in zip(names, line):
            if not agrees(cell, row[name]):
                raise SystemExit(f"{label}: row {number}, {name!r}: the cell is {cell!r}, JSON has {row[name]!r}")
    formulas = [cell.coordinate for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
    if formulas:
        raise SystemExit(f"{label}: formulas in {formulas[:9]}")
    return len(rows) * len(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--binaries", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    cells = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pa.table(source.flat_columns(rng, arguments.rows) | source.nested_columns(rng, arguments.rows))
        risky = ["=1+1", "+1", "-1", "@a", "\t=1", "_x0041_", "a\r\nb", "\x00\x1f", "1e5", "2020-01-01", None]
        table = table.append_column("risky", pa.array([rng.choice(risky) for _ in range(arguments.rows)]))
        path = folder / "everything.parquet"
        pq.write_table(table, path)
        service = Service(arguments.binaries, folder)
        service.publish("everything", path)
        service.open_account()
        with service:
            client = Client(service)
            body = {"limit": min(arguments.rows, 10_000)}
            rows = json_rows(client, "query", body)
            names = list(rows[0])
            page, _ = client.get("query", body, Accept=XLSX)
            cells += check("page", page, rows, names)
            stream, _ = client.get("query/stream", body, Accept=XLSX)
            cells += check("stream", stream, rows, names)
            sample, _ = client.get("sample", Accept=XLSX)
            cells += check("sample", sample, json_rows(client, "sample"), names)
            download, headers = client.get("download?format=xlsx", Accept="*/*")
            if (headers["Content-Length"], headers["Accept-Ranges"]) != (None, "none"):
                raise SystemExit(f"the download has other headers than one of unknown length: {headers}")
            cells += check("download", download, rows, names)
            if client.get("download?format=xlsx", Accept="*/*")[0] != download:
                raise SystemExit("the download has other bytes the second time")
            filtered = {"limit": 100, "columns": ["int32", "risky"], "filters": {"risky": "=1+1"}, "sortBy": "int32"}
            chosen, _ = client.get("query", filtered, Accept=XLSX)
            cells += check("filtered page", chosen, json_rows(client, "query", filtered), ["int32", "risky"])
    print(f"{cells} cells: all agree (openpyxl {openpyxl.__version__})")


if __name__ == "__main__":
    main()
