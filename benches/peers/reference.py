"""The right answers, from DuckDB on the Parquet file itself, and what the works need to know of the data. Knows no server."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import duckdb

from works import COLUMNS, DEPTHS, KEY, PRICE, Dialect, Question, Work, identity

ORDERS = 2_000
SEED = 42
DIALECT = Dialect()


def digest(rows: list[tuple[int, int, int]]) -> str:
    """A short fingerprint of rows in their order."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


class Oracle:
    """Answers questions about the Parquet file."""

    def __init__(self, parquet: Path) -> None:
        self._parquet = parquet
        self._table = f"read_parquet('{parquet}', file_row_number=true)"
        self._connection = duckdb.connect()
        self._kept: dict[Question, list[tuple[int, int, int]]] = {}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def describe(self, scale: float) -> dict[str, Any]:
        """Numbers of rows, depths with their anchors, keys of orders; kept beside the file."""
        kept = self._parquet.with_name("reference.json")
        if kept.exists():
            found: dict[str, Any] = json.loads(kept.read_text())
            return found
        rows = self._rows(f"SELECT count(*) FROM {self._table}")[0][0]
        depths = {name: int(depth * scale) for name, depth in DEPTHS.items()}
        anchors = {}
        for name, depth in depths.items():
            if depth:
                price, order, line = self._rows(f"SELECT {PRICE}::VARCHAR, {', '.join(KEY)} FROM {self._table} ORDER BY {PRICE}, "
                                                f"{', '.join(KEY)} LIMIT 1 OFFSET {depth - 1}")[0]
                anchors[name] = {"price": price, "order": order, "line": line}
        orders = [row[0] for row in self._rows(f"SELECT DISTINCT {KEY[0]} FROM {self._table} ORDER BY 1")]
        random.Random(SEED).shuffle(orders)
        air = self._rows(f"SELECT count(*) FROM {self._table} WHERE l_shipmode = 'AIR' AND l_quantity >= 30 "
                         "AND l_shipdate >= DATE '1995-01-01'")[0][0]
        unsorted = self._rows(f"SELECT count(*) FROM (SELECT {KEY[0]} * 8 + {KEY[1]} AS k, lag(k) OVER (ORDER BY file_row_number) "
                              f"AS before FROM {self._table}) WHERE k <= before")[0][0]
        if unsorted:
            raise SystemExit(f"{self._parquet}: the rows are not in the order of {', '.join(KEY)}")
        found = {"rows": rows, "depths": depths, "anchors": anchors, "orders": orders[:ORDERS], "airMatches": air}
        kept.write_text(json.dumps(found))
        return found

    def expected(self, question: Question) -> list[tuple[int, int, int]]:
        """The rows of an answer; without an order, those that come first in the file. Asked again, they are at hand."""
        if question in self._kept:
            return self._kept[question]
        text = DIALECT.sql(question, self._table).replace(", ".join(COLUMNS), f"{', '.join(KEY)}, {PRICE}", 1)
        if not question.order:
            head, limit, tail = text.partition(" LIMIT ")
            text = f"{head} ORDER BY file_row_number{limit}{tail}"
        rows = identity([dict(zip((*KEY, PRICE), row, strict=True)) for row in self._rows(text)])
        self._kept[question] = rows
        return rows

    def count(self, question: Question) -> int:
        """How many rows match."""
        return int(self._rows(DIALECT.sql(question, self._table))[0][0])

    def belong(self, question: Question, rows: list[tuple[int, int, int]]) -> bool:
        """Whether these are different rows that all match."""
        listed = ", ".join(f"({order}, {line}, {cents})" for order, line, cents in rows)
        matches = f"SELECT *, (({KEY[0]}, {KEY[1]}, (100 * {PRICE})::BIGINT)) AS one FROM {self._table}"
        narrowed = DIALECT.sql(Question(question.conditions, counted=True), f"({matches})")
        joined = f"{narrowed} {'AND' if question.conditions else 'WHERE'} one IN ({listed})"
        return len(set(rows)) == len(rows) and self._rows(joined)[0][0] == len(rows)


def verdict(oracle: Oracle, work: Work, question: Question, rows: list[dict[str, Any]]) -> str:
    """`exact`, `other order` for rows that an engine may choose or arrange freely, or what is wrong."""
    expected, found = oracle.expected(question), identity(rows)
    if digest(expected) == digest(found):
        return "exact"
    if work.ordered:
        return f"WRONG: {len(found)} rows, not those in the order asked"
    if len(expected) != len(found):
        return f"WRONG: {len(found)} rows, expected {len(expected)}"
    return "other order" if oracle.belong(question, found) else "WRONG: rows that do not match"

