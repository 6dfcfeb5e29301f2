"""Polars without a server: answers questions in its own process, as JSON in memory. One line of JSON in, one out. Knows
nothing of how questions are chosen.

    python in_process.py PARQUET
"""

import io
import json
import pickle
import sys
import time
from base64 import b64decode
from datetime import date
from decimal import Decimal
from typing import Any

import polars

from works import KEY, MONEY, Anchor, Question

SCALE = polars.Decimal(15, 2)


def constant(column: str, value: Any) -> polars.Expr:
    """A constant beside that column."""
    return polars.lit(Decimal(str(value))).cast(SCALE) if column in MONEY else polars.lit(value)


def behind(column: str, anchor: Anchor) -> polars.Expr:
    """Rows behind the anchor in the order by price."""
    price = constant(column, anchor.price)
    order, line = (polars.col(name) for name in KEY)
    same_price = (order > anchor.order) | ((order == anchor.order) & (line > anchor.line))
    return (polars.col(column) > price) | ((polars.col(column) == price) & same_price)


def plan(table: polars.DataFrame, question: Question) -> polars.LazyFrame:
    """The question as a lazy frame."""
    frame = table.lazy()
    for column, operator, value in question.conditions:
        left, right = polars.col(column), constant(column, value)
        frame = frame.filter(left == right if operator == "=" else left >= right)
    if question.order and question.after:
        frame = frame.filter(behind(question.order, question.after))
    if question.order:
        frame = frame.sort([question.order, *KEY], descending=[question.descending, False, False])
    if question.counted:
        return frame.select(polars.len().alias("n"))
    return frame if question.limit is None else frame.slice(question.offset, question.limit)


def answer(table: polars.DataFrame, question: Question, form: str) -> bytes:
    """The rows as text. Amounts become doubles first, because Polars prints decimals as JSON texts."""
    rows = plan(table, question).collect()
    if form == "csv":
        return rows.write_csv().encode()
    rows = rows.with_columns(polars.selectors.decimal().cast(polars.Float64))
    if form == "page":
        return rows.write_json().encode()
    sink = io.BytesIO()
    rows.write_ndjson(sink)
    return sink.getbuffer()  # type: ignore[return-value]


def main() -> None:
    """Answers until the input ends."""
    table = polars.read_parquet(sys.argv[1])
    print(json.dumps({"ready": str(date.today())}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        questions, form = pickle.loads(b64decode(order["questions"])), order["form"]
        if order["whole"]:
            print(json.dumps({"body": bytes(answer(table, questions[0], form)).decode()}), flush=True)
            continue
        samples = []
        began = time.perf_counter()
        for question in questions:
            asked = time.perf_counter()
            length = len(answer(table, question, form))
            samples.append((time.perf_counter() - asked, length))
            if time.perf_counter() - began > order["seconds"]:
                break
        print(json.dumps({"samples": samples}), flush=True)


if __name__ == "__main__":
    main()
