"""Streams: up to a million rows for each request, resumed behind the rows that came, and paid once.

A leg is one request of at most a million rows. When it is cut, the same request under the same `Idempotency-Key`
goes on behind the rows that are there (`afterRows`). The next leg begins at the cursor in which the former one ended.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mercato.core import budget as budgets
from mercato.core.effects import Answer, Close, Emit, Read, Request, Sleep, Steps
from mercato.core.exchange import Core, exchange, request
from mercato.core.question import Question
from mercato.errors import BadRequest, ConnectionError, PaymentRequired, UnexpectedAnswer
from mercato.openapi import STREAM_DATASET, STREAM_ROWS_MAX
from mercato.results import Row
from mercato.retry import Failure

NDJSON = "application/x-ndjson"
LINE_BYTES_MAX = 16 << 20
"""A row that is longer is no row."""

Parse = Callable[[bytes], Any]


@dataclass
class Leg:
    """One request, however often it is resumed."""

    question: Question
    limit: int
    key: str
    accept: str
    cursor: str | None = None
    offset: int | None = None
    """The offset of its first row, in place of a cursor."""
    version: str | None = None
    """Of the first answer, which all others must have."""
    rows: int = 0
    """Rows that the caller has."""
    taken: int = 0
    """Rows that came under the present key."""
    is_anew: bool = False
    """Whether a version that the question does not name is requested by name."""

    def request(self, core: Core) -> Request:
        """The next request."""
        version = self.version if self.is_anew and self.cursor is None else None
        body = self.question.body(limit=self.limit, cursor=self.cursor, offset=self.offset, version=version)
        query = {"summary": "1" if self.accept == NDJSON else None, "afterRows": self.taken or None}
        headers = {"Idempotency-Key": self.key}
        if self.accept != NDJSON:
            headers["Accept-Encoding"] = core.arrow_coding
        return request(core, STREAM_DATASET, slug=self.question.slug, query=query, headers=headers, content=body,
                       accept=self.accept, is_streamed=True)

    def begin_anew(self, key: str) -> None:
        """Nothing was charged for the rows that came, so nothing can be resumed: they are asked for again, of the
        same version."""
        self.key, self.taken, self.is_anew = key, 0, True

    def take(self, count: int) -> int:
        """Notes that further rows came. Returns how many of them the caller has already."""
        known = min(count, max(0, self.rows - self.taken))
        self.taken += count
        self.rows = max(self.rows, self.taken)
        return known


def answered(core: Core, leg: Leg) -> Steps[Answer]:
    """The head of the next answer of a leg."""
    try:
        answer = yield from exchange(core, leg.request(core))
    except BadRequest as refusal:
        if refusal.reason != "NOTHING_TO_RESUME":
            raise
        leg.begin_anew(core.new_key())
        answer = yield from exchange(core, leg.request(core))
    version = answer.headers.get("X-Dataset-Version", "")
    if leg.version is not None and version != leg.version:
        yield Close(answer)
        raise UnexpectedAnswer(f"the stream began on version {leg.version} and goes on with {version}")
    leg.version = version
    return answer


@dataclass
class Patience:
    """Counts cuts without a new row in between."""

    core: Core
    cuts: int = 0

    def after_cut(self, is_further: bool) -> float | None:
        """Seconds to wait; None when it is enough."""
        self.cuts = 1 if is_further else self.cuts + 1
        return self.core.policy.wait(Failure(), self.cuts, self.core.jitter())


@dataclass
class Lines:
    """Makes rows of pieces of NDJSON."""

    parse: Parse
    rest: bytes = b""
    end: dict[str, Any] | None = None
    """The summary, which is the last line."""

    def feed(self, piece: bytes) -> list[Row]:
        """The rows whose line is whole now."""
        *lines, self.rest = (self.rest + piece).split(b"\n")
        if len(self.rest) > LINE_BYTES_MAX:
            raise UnexpectedAnswer("a line of the stream does not end")
        rows: list[Row] = []
        for line in lines:
            if not line.strip():
                continue
            row = self._row(line)
            end = row.get("$end")
            if isinstance(end, dict):
                self.end = end
            else:
                rows.append(row)
        return rows

    def _row(self, line: bytes) -> dict[str, Any]:
        try:
            row = self.parse(line)
        except ValueError:
            raise UnexpectedAnswer("a line of the stream is no JSON") from None
        if not isinstance(row, dict) or self.end is not None:
            raise UnexpectedAnswer("a line of the stream is no row")
        return row


def parser(core: Core) -> Parse:
    """Reads a line with the numbers that the client was told to make."""
    if core.exact_numbers:
        return lambda line: json.loads(line, parse_float=Decimal)
    return json.loads


def rows(core: Core, question: Question, parse: Parse | None = None) -> Steps[None]:
    """Emits the rows of a stream. Ends whole, or with an error."""
    budget = yield from budgets.opened(core, question)
    left = question.limit
    cursor: str | None = None
    version: str | None = None
    most = STREAM_ROWS_MAX
    for number in itertools.count(1):
        limit = budget.bound(most if left is None else min(most, left))
        leg = Leg(question, limit, question.key(f"leg-{number}", core.new_key), NDJSON, cursor, version=version)
        try:
            end = yield from _leg(core, leg, parse or parser(core))
        except PaymentRequired as refusal:
            most = budgets.free_plan_rows(refusal, leg.limit)
            continue
        budget.spend(leg.rows)
        left = None if left is None else left - leg.rows
        cursor, version = end.get("nextCursor"), leg.version
        if cursor is None or left == 0:
            return


def _leg(core: Core, leg: Leg, parse: Parse) -> Steps[dict[str, Any]]:
    """Emits the rows of a leg and returns its summary."""
    patience = Patience(core)
    while True:
        answer = yield from answered(core, leg)
        lines, before = Lines(parse), leg.rows
        try:
            while piece := (yield Read(answer)):
                fresh = lines.feed(piece)
                known = leg.take(len(fresh))
                if len(fresh) > known:
                    yield Emit(fresh[known:])
            if lines.end is None:
                raise ConnectionError("the stream ended before its end")
        except ConnectionError:
            # All rows stand before the summary, so what breaks off behind it is whole.
            if lines.end is None:
                wait = patience.after_cut(leg.rows > before)
                if wait is None:
                    raise
                yield Sleep(wait)
        if lines.end is not None:
            return lines.end
