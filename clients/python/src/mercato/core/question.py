"""The request of a query, a stream or an estimate: frozen when it is made, so that every page repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from mercato.core.exchange import checked_idempotency_key, checked_slug
from mercato.openapi import PAGE_ROWS_MAX

GROWING_PAGES = (100, 1_000)
"""Rows of the first pages, before they are as large as possible: a loop that stops early paid for few rows more."""


@dataclass(frozen=True)
class Question:
    """Which rows of which dataset, in which order, for how much."""

    slug: str
    filters: str | None
    """JSON, as it is sent."""
    columns: tuple[str, ...] | None
    sort_by: str | None
    descending: bool
    limit: int | None
    offset: int
    version: str | None
    max_credits: int | None
    page_size: int | None = None
    cursor: str | None = None
    idempotency_key: str | None = None
    groups: str | None = None
    """`groupBy`, `aggregates` and `having` of groups in place of rows: JSON, as it is sent."""

    @property
    def has_having(self) -> bool:
        """Whether groups have to fulfil conditions, of which estimates tell nothing."""
        return self.groups is not None and "having" in json.loads(self.groups)

    def estimated(self) -> Question:
        """The question without `having`, beside which the server knows no better bound than all rows. A cursor belongs
        to the whole question."""
        if self.groups is None or self.cursor is not None:
            return self
        fields = {name: value for name, value in json.loads(self.groups).items() if name != "having"}
        return replace(self, groups=json.dumps(fields, ensure_ascii=False))

    def key(self, part: str, new_key: Callable[[], str]) -> str:
        """The `Idempotency-Key` of a part: of the caller's key, so that a repeated walk is free, else a new one."""
        return new_key() if self.idempotency_key is None else f"{self.idempotency_key}.{part}"

    def body(self, **more: Any) -> bytes:
        """The body of a request; `more` are the fields of this one."""
        fields: dict[str, Any] = {}
        if self.filters is not None:
            fields["filters"] = json.loads(self.filters)
        if self.columns is not None:
            fields["columns"] = self.columns
        if self.groups is not None:
            fields |= json.loads(self.groups)
        if self.sort_by is not None:
            fields["sortBy"] = self.sort_by
        if self.descending:
            fields["sortDirection"] = "desc"
        if self.offset:
            fields["offset"] = self.offset
        if self.version is not None:
            fields["version"] = self.version
        if self.cursor is not None:
            fields["cursor"] = self.cursor
        fields |= {name: value for name, value in more.items() if value is not None}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()

    def page_sizes(self) -> Iterator[int]:
        """Rows of the first page, the second, and so on."""
        if self.page_size is None:
            yield from GROWING_PAGES
        while True:
            yield self.page_size or PAGE_ROWS_MAX


def asked(slug: str, filters: Mapping[str, Any] | None, columns: Iterable[str] | None, sort_by: str | None,
          descending: bool, limit: int | None, max_credits: int | None, offset: int = 0, version: str | None = None,
          page_size: int | None = None, cursor: str | None = None, idempotency_key: str | None = None) -> Question:
    """A question, or what is wrong with it. Names and values are the server's to judge."""
    if isinstance(columns, str):
        raise TypeError("columns is a list of names, not a text")
    if filters is not None and not isinstance(filters, Mapping):
        raise TypeError("filters is a dict of conditions by column")
    for name, number, least in (("limit", limit, 1), ("max_credits", max_credits, 0), ("offset", offset, 0)):
        if number is not None and number < least:
            raise ValueError(f"{name} is {number}, and must be {least} or more")
    if page_size is not None and not 1 <= page_size <= PAGE_ROWS_MAX:
        raise ValueError(f"page_size is {page_size}, and must lie between 1 and {PAGE_ROWS_MAX:,}")
    text = None if not filters else json.dumps(filters, default=literal, ensure_ascii=False, allow_nan=False)
    names = None if columns is None else tuple(columns)
    return Question(checked_slug(slug), text, names, sort_by, bool(descending), limit, offset, version, max_credits,
                    page_size, cursor, checked_idempotency_key(idempotency_key))


def literal(value: Any) -> Any:
    """A value of a filter that JSON does not know: dates, decimals, sets, and scalars of numpy and pandas."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        # A decimal that is no double goes as text, which integer and decimal columns take.
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset, Sequence)) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a filter cannot hold a {type(value).__name__}")
