"""The output of the command. Texts of publishers lose characters that move the cursor of a terminal."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, TextIO

from mercato.progress import printable
from mercato.results import Row

NOTHING = "-"
CELL_MAX = 40
"""Characters of a cell of a table."""
TABLE_ROWS_MAX = 1_000
"""Rows that are held to find the widths of columns. Those behind them are cut to these widths."""


def complain(text: str) -> None:
    """A line on stderr."""
    print(f"mercato-client: {printable(text)}", file=sys.stderr)


def document(value: Any) -> None:
    """One JSON document. On a terminal everything beyond ASCII is escaped."""
    print(json.dumps(value, indent=2, ensure_ascii=sys.stdout.isatty(), default=str))


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], out: TextIO | None = None) -> None:
    """Rows under their names, in columns."""
    out = out or sys.stdout
    iterator = iter(rows)
    first = [[cell(value) for value in row] for row, _ in zip(iterator, range(TABLE_ROWS_MAX), strict=False)]
    heads = [cell(name) for name in names]
    widths = [max([len(head), *(len(row[place]) for row in first)]) for place, head in enumerate(heads)]
    _line(heads, widths, out)
    _line(["─" * width for width in widths], widths, out)
    for row in first:
        _line(row, widths, out)
    for further in iterator:
        _line([cell(value)[:width] for value, width in zip(further, widths, strict=True)], widths, out)


def _line(cells: Sequence[str], widths: Sequence[int], out: TextIO) -> None:
    out.write("  ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip() + "\n")


def cell(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return NOTHING
    text = printable(str(value).lower() if isinstance(value, bool) else str(value))
    return text if len(text) <= CELL_MAX else f"{text[:CELL_MAX - 1]}…"


def rows_as(form: str, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Rows in one of the formats of `query`."""
    {"table": _as_table, "csv": _as_csv, "ndjson": _as_ndjson, "json": _as_json}[form](names, rows)


def _as_table(names: Sequence[str], rows: Iterable[Row]) -> None:
    table(names, (list(row.values()) for row in rows))


def _as_csv(names: Sequence[str], rows: Iterable[Row]) -> None:
    """As the server writes it: NULL is empty, the empty text is quoted."""
    writer = csv.writer(sys.stdout, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        sys.stdout.write(",".join(_csv_cell(value) for value in row.values()) + "\r\n")


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = printable(str(value)) if sys.stdout.isatty() else str(value)
    if isinstance(value, str) and (text == "" or any(letter in text for letter in ',"\r\n')):
        return '"' + text.replace('"', '""') + '"'
    return text


def _as_ndjson(names: Sequence[str], rows: Iterable[Row]) -> None:
    for row in rows:
        sys.stdout.write(encoded(row) + "\n")


def _as_json(names: Sequence[str], rows: Iterable[Row]) -> None:
    """One list, written row by row."""
    separator = "["
    for row in rows:
        sys.stdout.write(f"{separator}\n{encoded(row)}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")


def encoded(row: Row) -> str:
    """A row as JSON, with the digits of its decimals."""
    return "{" + ",".join(f"{_json_value(name)}:{_json_value(value)}" for name, value in row.items()) + "}"


def _json_value(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=sys.stdout.isatty())
