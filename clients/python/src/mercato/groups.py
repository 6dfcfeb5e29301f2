"""The vocabulary of group queries: columns that make groups, and aggregates of a group. Sends nothing.

    from mercato import avg, count, month

    orders.group_by("o_orderstatus", month("o_orderdate", as_="month")).agg(n=count(), mean=avg("o_totalprice"))
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Period = Literal["year", "quarter", "month", "week", "day", "hour"]
Operator = Literal["count", "countDistinct", "sum", "avg", "min", "max", "median", "quantile"]
Number = int | float | Decimal


@dataclass(frozen=True)
class GroupColumn:
    """A column whose values make groups by period or in buckets. The functions of this module make it."""

    column: str
    by: Period | None = None
    width: Number | None = None
    as_: str | None = None
    """The name in the answer; None is that of the column."""


@dataclass(frozen=True)
class Aggregate:
    """What is computed of each group. The functions of this module make it."""

    op: Operator
    column: str | None = None
    q: Number | None = None


def year(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of a year, in UTC, as those of all periods. The answer has the start of the period."""
    return GroupColumn(column, by="year", as_=as_)


def quarter(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of three months."""
    return GroupColumn(column, by="quarter", as_=as_)


def month(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of a month."""
    return GroupColumn(column, by="month", as_=as_)


def week(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of a week, which begins on Monday."""
    return GroupColumn(column, by="week", as_=as_)


def day(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of a day."""
    return GroupColumn(column, by="day", as_=as_)


def hour(column: str, as_: str | None = None) -> GroupColumn:
    """Groups of an hour."""
    return GroupColumn(column, by="hour", as_=as_)


def bucket(column: str, width: Number, as_: str | None = None) -> GroupColumn:
    """Groups of numbers in buckets of this width. The answer has the smallest number of the bucket."""
    return GroupColumn(column, width=width, as_=as_)


def count(column: str | None = None) -> Aggregate:
    """The number of rows; with a column, of its values."""
    return Aggregate("count", column)


def count_distinct(column: str) -> Aggregate:
    """The number of different values."""
    return Aggregate("countDistinct", column)


def sum_(column: str) -> Aggregate:
    """The sum, exact for integers and decimals."""
    return Aggregate("sum", column)


def avg(column: str) -> Aggregate:
    """The mean, of integers and decimals with six digits more than the column has."""
    return Aggregate("avg", column)


def min_(column: str) -> Aggregate:
    """The smallest value."""
    return Aggregate("min", column)


def max_(column: str) -> Aggregate:
    """The largest value."""
    return Aggregate("max", column)


def median(column: str) -> Aggregate:
    """The smallest value that at least half of the values do not exceed."""
    return Aggregate("median", column)


def quantile(column: str, q: Number) -> Aggregate:
    """The smallest value that at least the share `q` of the values does not exceed; 0 to 1."""
    return Aggregate("quantile", column, q)
