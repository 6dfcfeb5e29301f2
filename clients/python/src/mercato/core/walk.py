"""A walk over pages by cursor. Every page asks what the first one asked, and reads the version of the first one."""

from __future__ import annotations

from decimal import Decimal

from mercato.core import budget as budgets
from mercato.core.effects import Emit, Steps
from mercato.core.exchange import Core, count_in, enveloped, exchange, request
from mercato.core.question import Question
from mercato.errors import PaymentRequired, UnexpectedAnswer
from mercato.openapi import PAGE_ROWS_MAX, QUERY_DATASET
from mercato.results import Page


def pages(core: Core, question: Question) -> Steps[None]:
    """Emits each `Page` of a question."""
    yield from _walk(core, question, by_page=True)


def rows(core: Core, question: Question) -> Steps[None]:
    """Emits the rows of a question."""
    yield from _walk(core, question, by_page=False)


def _walk(core: Core, question: Question, by_page: bool) -> Steps[None]:
    budget = yield from budgets.opened(core, question)
    cursor: str | None = None
    version: str | None = None
    left = question.limit
    most = PAGE_ROWS_MAX
    for number, size in enumerate(question.page_sizes(), 1):
        while True:
            asked = budget.bound(min(size, most) if left is None else min(size, most, left))
            key = question.key(f"page-{number}", core.new_key)
            try:
                page = yield from _page(core, question, key, cursor, asked)
                break
            except PaymentRequired as refusal:
                most = budgets.free_plan_rows(refusal, asked)
        if version is not None and page.version != version:
            raise UnexpectedAnswer(f"the walk began on version {version}, and this page is of {page.version}")
        if len(page.rows) > asked or (page.next_cursor is not None and not page.rows):
            raise UnexpectedAnswer(f"{len(page.rows)} rows and a cursor, where {asked} rows were asked for")
        version = page.version
        budget.spend(page.credits_charged)
        yield Emit([page] if by_page else page.rows)
        left = None if left is None else left - len(page.rows)
        cursor = page.next_cursor
        if cursor is None or left == 0:
            return


def _page(core: Core, question: Question, key: str, cursor: str | None, limit: int) -> Steps[Page]:
    """Pays for a page once, however often it has to be sent."""
    body = question.body(limit=limit, cursor=cursor)
    asked = request(core, QUERY_DATASET, slug=question.slug, headers={"Idempotency-Key": key},
                    content=body)
    answer = yield from exchange(core, asked)
    data, _ = enveloped(answer, Decimal if core.exact_numbers else float)
    return Page(
        rows=data["results"],
        next_cursor=data["nextCursor"],
        total_rows=data["totalRows"],
        total_rows_at_least=data.get("totalRowsAtLeast"),
        version=answer.headers.get("X-Dataset-Version", ""),
        credits_charged=count_in(answer.headers, "X-Credits-Charged"),
        credits_remaining=count_in(answer.headers, "X-Credits-Remaining"),
    )
