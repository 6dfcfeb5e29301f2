"""The cost of a query, and the bound of `max_credits`, which holds before the first row and at every page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mercato.core.effects import Steps
from mercato.core.exchange import Core, enveloped, exchange, request
from mercato.core.question import Question
from mercato.core.reads import read
from mercato.errors import MaxCreditsExceeded, PaymentRequired
from mercato.openapi import (
    ESTIMATE_QUERY,
    GET_ACCOUNT,
    GET_DATASET,
    PAGE_ROWS_MAX,
    STREAM_ROWS_MAX,
    Account,
    Estimate,
    Header,
)
from mercato.results import Cost


def cost(core: Core, question: Question) -> Steps[Cost]:
    """Counts the rows of a question and what they cost. It is free, and one or two requests in most cases."""
    wanted = question.limit
    page = _bounded(PAGE_ROWS_MAX, wanted)
    first = yield from _estimate(core, question, "page", 0, page)
    rows, least = first["rows"], first.get("rowsAtLeast")
    affordable = first["affordable"]
    if rows == page and wanted != page:
        many = yield from _estimate(core, question, "stream", 0, _bounded(STREAM_ROWS_MAX, wanted))
        rows, least = many["rows"], many.get("rowsAtLeast")
        affordable = many["affordable"]
        # There are no more groups than that.
        if rows == STREAM_ROWS_MAX and wanted != rows and question.groups is None:
            if question.cursor is not None:
                raise ValueError(f"behind a cursor {STREAM_ROWS_MAX:,} rows can be counted: give a limit")
            whole = yield from _rows_of_version(core, question)
            rows = whole if wanted is None else min(wanted, whole)
    if question.has_having and rows:
        least = 0
    is_free = first["creditsRequired"] == 0
    credits = 0 if is_free else rows
    available = first["creditsAvailable"]
    if available == 0 and rows and not is_free and (yield from _is_answered_free(core, question, rows)):
        return Cost(0, rows, available, True)
    is_affordable = first["affordable"] if is_free else affordable and credits <= available
    return Cost(credits, rows, available, is_affordable, least)


def _is_answered_free(core: Core, question: Question, rows: int) -> Steps[bool]:
    """Whether the free queries that are left answer so many rows, for an account without credits."""
    account: Account = yield from read(core, GET_ACCOUNT)
    each = _bounded(account["freeRowsPerQuery"], question.page_size)
    return rows <= account["freeQueriesRemaining"] * each


def download_cost(core: Core, slug: str, version: str | None) -> Steps[Cost]:
    """The cost of a whole version."""
    question = Question(slug, None, None, None, False, None, 0, version, None)
    found = yield from _estimate(core, question, "download", None, None)
    return Cost(found["creditsRequired"], found["rows"], found["creditsAvailable"], found["affordable"])


def _estimate(core: Core, question: Question, purpose: str, ahead: int | None, limit: int | None) -> Steps[Estimate]:
    """Rows and price of one request, `ahead` rows behind the first of the question."""
    offset = None if ahead is None else question.offset + ahead
    body = question.estimated().body(**{"for": purpose, "offset": offset, "limit": limit})
    answer = yield from exchange(core, request(core, ESTIMATE_QUERY, slug=question.slug, content=body))
    data, _ = enveloped(answer)
    estimate: Estimate = data
    return estimate


def _rows_of_version(core: Core, question: Question) -> Steps[int]:
    """The rows behind the offset, whatever the filters: a bound where more match than are counted for nothing."""
    header: Header = yield from read(core, GET_DATASET, question.slug)
    of_version = {one["version"]: one["rowCount"] for one in header["versions"]}
    return max(0, of_version.get(question.version or header["currentVersion"], header["rowCount"]) - question.offset)


def _bounded(most: int, wanted: int | None) -> int:
    return most if wanted is None else min(most, wanted)


def has_more(core: Core, question: Question, version: str, rows: int) -> Steps[bool]:
    """Whether further rows stand behind so many. Costs no credits."""
    found = yield from _estimate(core, replace(question, version=version), "stream", rows, 1)
    return found["rows"] > 0


def free_plan_rows(refusal: PaymentRequired, limit: int) -> int:
    """The rows that a free query may have, which are fewer. Raises any other refusal of a request with this limit."""
    most = refusal.allowed
    if refusal.reason != "FREE_PLAN_ROWS" or most is None or not 0 < most < limit:
        raise refusal
    return most


@dataclass
class Budget:
    """The credits that a walk may still spend; None has no bound."""

    max_credits: int | None
    spent: int = 0
    is_free: bool = False
    """Free queries answer it, and cost no credits."""
    is_empty: bool = False
    """No row matched. To see that again, a single row is asked for, so that `max_credits=0` works, too."""

    def bound(self, rows: int) -> int:
        """How many of so many rows may be asked for."""
        if self.max_credits is None or self.is_free:
            return rows
        left = self.max_credits - self.spent
        if left <= 0 and self.is_empty and self.spent == 0:
            return 1
        if left <= 0:
            raise MaxCreditsExceeded(self.spent + 1, self.max_credits)
        return min(rows, left)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of what had a bound."""
        return self.max_credits is not None and not self.is_free and 0 < self.max_credits <= self.spent

    def spend(self, credits: int) -> None:
        """Notes what was paid."""
        self.spent += credits


def opened(core: Core, question: Question) -> Steps[Budget]:
    """The budget of a question. Refuses one that costs more before anything is paid."""
    if question.max_credits is None:
        return Budget(None)
    price = yield from cost(core, question)
    if price > question.max_credits:
        raise MaxCreditsExceeded(price.credits_required, question.max_credits)
    return Budget(question.max_credits, is_free=price == 0 and price.rows > 0,
                  is_empty=price.rows == 0)
