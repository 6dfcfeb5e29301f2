"""The works W1 to W10: what is asked, in no engine's language, and what is aimed at. Knows no engine."""

import json
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

COLUMNS = ("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax",
           "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode",
           "l_comment")
KEY = ("l_orderkey", "l_linenumber")
PRICE = "l_extendedprice"
MONEY = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
# Depths of the walk by price, in rows of scale factor 1.
DEPTHS = {"0": 0, "100k": 100_000, "3M": 3_000_000, "5.9M": 5_900_000}
STREAM_ROWS_MAX = 1_000_000
LOAD_CONNECTIONS = (1, 16, 64)


@dataclass(frozen=True)
class Anchor:
    """The row before a page by price: what a keyset continues from."""

    price: str
    order: int
    line: int


@dataclass(frozen=True)
class Question:
    """Conditions that all hold, an order, and a piece of the result. `after` is where a keyset page begins, which is
    `depth` rows from the start."""

    conditions: tuple[tuple[str, str, Any], ...] = ()
    order: str | None = None
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    after: Anchor | None = None
    depth: int = 0
    counted: bool = False


@dataclass(frozen=True)
class Work:
    """One row of the table. `variants` are asked in turn; answers are checked for the first one, in full."""

    name: str
    title: str
    form: str
    unit: str
    aim: float
    variants: list[Question] = field(default_factory=list)
    ordered: bool = False
    rows: int = 0

    @property
    def is_rate(self) -> bool:
        """Whether more is better."""
        return self.unit != "ms"

    @property
    def is_long(self) -> bool:
        """Whether one answer takes long enough to be a measurement alone."""
        return self.form in ("ndjson", "events", "csv", "json")


RARE = (("l_returnflag", "=", "R"), ("l_discount", "=", "0.10"), ("l_quantity", "=", 1), ("l_shipinstruct", "=", "NONE"))


def rare(number: int) -> tuple[tuple[str, str, Any], ...]:
    """One of 550 rare conjunctions; number 0 is that of the reference."""
    quantity, discount = number % 50 + 1, (10 + number // 50) % 11
    return (RARE[0], ("l_discount", "=", f"0.{discount:02d}"), ("l_quantity", "=", quantity), RARE[3])


def every(reference: dict[str, Any], power: bool = False) -> list[Work]:
    """All works whose answers come over a connection; W9 and W10 are loads and starts."""
    air = (("l_shipmode", "=", "AIR"), ("l_quantity", ">=", 30), ("l_shipdate", ">=", date(1995, 1, 1)))
    orders = [Question((("l_orderkey", "=", key),)) for key in reference["orders"]]
    first = Question(limit=100)
    by_price = Question(order=PRICE, limit=100)
    works = [Work("W1", "first 100 rows, 16 columns", "page", "ms", 0.25, [first], rows=100)]
    for name, depth in reference["depths"].items():
        anchor = Anchor(**reference["anchors"][name]) if depth else None
        works.append(Work(f"W2k@{name}", f"page of 100 by price after row {name}, keyset", "page", "ms", 0.25,
                          [replace(by_price, after=anchor, depth=depth)], ordered=True, rows=100))
    deepest = list(reference["depths"])[-1]
    rare_rows = [Question(rare(number), limit=10_000) for number in range(550)]
    works += [
        Work(f"W2o@{deepest}", f"the same by offset {deepest}", "page", "ms", 0.25,
             [replace(by_price, offset=reference["depths"][deepest])], ordered=True, rows=100),
        Work("W3", "three conditions, first 1,000", "page", "ms", 1.3, [Question(air, limit=1_000)],
             rows=reference["airMatches"]),
        Work("W3s", "the same, newest first", "page", "ms", 3.0,
             [Question(air, "l_shipdate", descending=True, limit=1_000)], ordered=True, rows=reference["airMatches"]),
        Work("W4", "one order by its key, another one each time", "page", "ms", 0.2, orders),
        Work("W5c", "count of four conditions, others each time", "count", "ms", 3.0,
             [replace(question, counted=True) for question in rare_rows]),
        Work("W5c again", "the same count again", "count", "ms", 0.2, [replace(rare_rows[0], counted=True)]),
        Work("W5p", "first 100 of four conditions, others each time", "page", "ms", 3.0,
             [replace(question, limit=100) for question in rare_rows]),
        Work("W5all", "all rows of four conditions, others each time", "page", "ms", 4.0, rare_rows),
    ]
    stream = Question(limit=min(STREAM_ROWS_MAX, reference["rows"]))
    works += [
        Work("W6 NDJSON", "stream of 1,000,000 rows", "ndjson", "MB/s", 1_000, [stream], rows=stream.limit or 0),
        Work("W6 events", "the same as Server-Sent Events", "events", "MB/s", 1_000, [stream], rows=stream.limit or 0),
        Work("W7 CSV", "the whole file", "csv", "MB/s", 1_000, [Question()], rows=reference["rows"]),
        Work("W7 JSON", "the whole file", "json", "MB/s", 1_300, [Question()], rows=reference["rows"]),
    ]
    return works


# Requests per second that W8 aims at, by work and connections; none is set for one connection, nor for W1 with 64.
LOAD_AIMS = {("W1", 16): 10_000, ("W4", 16): 15_000, ("W4", 64): 15_000}
LOAD_P99_MS_MAX = {("W1", 16): 8.0}


def body_for_mercato(question: Question, cursor: str | None) -> dict[str, Any]:
    """The question as the body of a query."""
    body: dict[str, Any] = {}
    if question.conditions:
        suffix = {"=": "", ">=": "_min"}
        body["filters"] = {column + suffix[operator]: value.isoformat() if isinstance(value, date) else value
                           for column, operator, value in question.conditions}
    if question.order:
        body |= {"sortBy": question.order, "sortDirection": "desc" if question.descending else "asc"}
    if question.limit is not None:
        body["limit"] = question.limit
    if question.offset:
        body["offset"] = question.offset
    if cursor is not None:
        body["cursor"] = cursor
    return body


@dataclass(frozen=True)
class Dialect:
    """Where the SQL of the engines differs: how dates and amounts are written, and whether rows can be compared."""

    date: str = "DATE '{}'"
    amount: str = "{}"
    compares_rows: bool = False

    def literal(self, column: str, value: Any) -> str:
        """A constant beside that column."""
        if isinstance(value, date):
            return self.date.format(value)
        if column in MONEY:
            return self.amount.format(value)
        return str(value) if isinstance(value, int) else f"'{value}'"

    def after(self, anchor: Anchor) -> str:
        """The condition that a row lies behind the anchor in the order by price."""
        price, (order, line) = self.literal(PRICE, anchor.price), KEY
        if self.compares_rows:
            return f"({PRICE}, {order}, {line}) > ({price}, {anchor.order}, {anchor.line})"
        return (f"{PRICE} >= {price} AND ({PRICE} > {price} OR {order} > {anchor.order} "
                f"OR ({order} = {anchor.order} AND {line} > {anchor.line}))")

    def sql(self, question: Question, table: str, parameter: str | None = None) -> str:
        """The question as a statement. With a parameter, it stands in place of the first constant."""
        wanted = []
        for column, operator, value in question.conditions:
            wanted.append(f"{column} {operator} {parameter or self.literal(column, value)}")
            parameter = None
        if question.after:
            wanted.append(self.after(question.after))
        text = f"SELECT {'count(*) AS n' if question.counted else ', '.join(COLUMNS)} FROM {table}"
        if wanted:
            text += " WHERE " + " AND ".join(wanted)
        if question.order:
            text += f" ORDER BY {question.order}{' DESC' if question.descending else ''}, {', '.join(KEY)}"
        if question.limit is not None and not question.counted:
            text += f" LIMIT {question.limit}"
        return text + (f" OFFSET {question.offset}" if question.offset else "")


def identity(rows: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """What tells one row from another, with its price in cents, so that a value is compared too."""
    return [(int(row[KEY[0]]), int(row[KEY[1]]), round(float(row[PRICE]) * 100)) for row in rows]


def compact(value: Any) -> bytes:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()
