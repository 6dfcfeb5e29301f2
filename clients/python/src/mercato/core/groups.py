"""The request of a group query: a `Question` with groups. Pages, streams, tables and prices take it as one of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mercato.core.question import Question, literal
from mercato.groups import Aggregate, GroupColumn


def grouped(question: Question, columns: Sequence[str | GroupColumn], having: Mapping[str, Any] | None) -> Question:
    """The question for groups of the rows of a question."""
    if having is not None and not isinstance(having, Mapping):
        raise TypeError("having is a dict of conditions by column of the answer")
    fields: dict[str, Any] = {}
    if columns:
        fields["groupBy"] = [_column(one) for one in columns]
    if having:
        fields["having"] = having
    return replace(question, groups=_text(fields))


def aggregated(question: Question, aggregates: Mapping[str, Aggregate]) -> Question:
    """The question with what is computed of each group."""
    for name, one in aggregates.items():
        if not isinstance(one, Aggregate):
            raise TypeError(f"{name} is no aggregate: mercato.count(), mercato.sum_(\"x\") and the like make them")
    fields = json.loads(question.groups or "{}")
    if aggregates:
        fields["aggregates"] = {name: _given(op=one.op, column=one.column, q=_number("q", one.q))
                                for name, one in aggregates.items()}
    elif "groupBy" not in fields:
        # Without both the server would answer, and sell, rows.
        raise ValueError("groups need a column in group_by or an aggregate in agg")
    return replace(question, groups=_text(fields))


def _column(one: str | GroupColumn) -> Any:
    if isinstance(one, GroupColumn):
        return _given(column=one.column, by=one.by, width=_number("width", one.width), **{"as": one.as_})
    if not isinstance(one, str):
        raise TypeError(f"a column of groups is a name, or made by mercato.month(\"x\") and the like, and no {one!r}")
    return one


def _number(name: str, value: Any) -> Any:
    if value is None or isinstance(value, (int, float)):
        return value
    found = literal(value)
    if not isinstance(found, (int, float)):
        raise ValueError(f"{name} is {value!r}, and must be a number that a float holds")
    return found


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, default=literal, ensure_ascii=False, allow_nan=False)
