"""Results of calls that hold more than `data` of the API. Does not depend on requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercato.openapi import SearchItem, SearchList

Row = dict[str, Any]
"""A row by the names of its columns, in the requested order."""


class SearchResults(list[SearchItem]):
    """The datasets found, the best first, with facts of the whole search."""

    def __init__(self, found: SearchList) -> None:
        super().__init__(found["results"])
        self.query = found["query"]
        """The question as the server read it."""
        self.lang = found["lang"]
        """The language of the question, where it shows one."""
        self.ranking = found["ranking"]
        """The method of the ranking."""
        self.total = found["total"]
        """Datasets found; the list may hold fewer."""
        self.next_offset = found["nextOffset"]
        """`offset` of the next results; None at the end."""


class Cost(int):
    """The price in credits, a number (0 on the free plan), with its rows."""

    rows: int
    """Rows that the query would deliver, at most where `rows_at_least` is given."""
    rows_at_least: int | None
    """The fewest rows that it can deliver; None where `rows` is exact. Counts beyond 10,000 matches are not free, nor
    is what `having` leaves of groups."""
    credits_available: int
    """Credits that the account can spend."""
    affordable: bool
    """Whether the account and the limits of the key allow it."""

    def __new__(cls, credits: int, rows: int, available: int, affordable: bool,
                rows_at_least: int | None = None) -> Cost:
        cost = super().__new__(cls, credits)
        cost.rows, cost.credits_available, cost.affordable = rows, available, affordable
        cost.rows_at_least = rows_at_least
        return cost

    @property
    def exact_rows(self) -> int:
        """The number of rows; a `ValueError` where it is only bounded."""
        if self.rows_at_least is not None:
            raise ValueError(f"{self.rows_at_least:,} to {self.rows:,} rows: more than 10,000 matches, and groups that "
                             "fulfil `having`, are counted only for pages that cost credits; give a limit or narrower "
                             "filters")
        return self.rows

    @property
    def credits_required(self) -> int:
        """The price as a plain number."""
        return int(self)

    def __reduce__(self) -> tuple[type[Cost], tuple[int, int, int, bool, int | None]]:
        return Cost, (int(self), self.rows, self.credits_available, self.affordable, self.rows_at_least)

    def __repr__(self) -> str:
        return (f"Cost({int(self)}, rows={self.rows}, credits_available={self.credits_available}, "
                f"affordable={self.affordable}, rows_at_least={self.rows_at_least})")


@dataclass(frozen=True)
class Page:
    """Some rows of a walk, and what they cost."""

    rows: Sequence[Row]
    next_cursor: str | None
    """None at the end."""
    total_rows: int | None
    """All rows that match, where the server knows it without looking; above 10,000 only on pages that cost credits."""
    total_rows_at_least: int | None
    """Fewer rows than match, in the place of `total_rows` above 10,000."""
    version: str
    credits_charged: int
    """0 for a page that was paid before."""
    credits_remaining: int


@dataclass(frozen=True)
class Download:
    """A file that was downloaded."""

    path: Path
    bytes: int
    version: str
    format: str
    sha256: str
    """Of the whole file, in hexadecimal digits."""
    resumed_at: int
    """Bytes that were there before this call."""
    credits_charged: int
    """The price of the file, or of the part that was not paid before."""


