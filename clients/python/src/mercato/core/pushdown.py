"""A predicate of polars as filters of the API: those of its conditions that the server can check.

What is sent lets through every row that the predicate lets through, perhaps more; polars checks the rows again. Reads
the JSON form of an expression. A form that is not known here is not sent. Does not depend on polars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

CONDITIONS_MAX = 100
DEPTH_MAX = 4
"""The server takes five. The outermost joins the conditions."""
VALUES_MAX = 10_000
EXACT_MAX = 2.0**53
COMPARISONS = {"Eq": "eq", "NotEq": "ne", "Gt": "gt", "GtEq": "gte", "Lt": "lt", "LtEq": "lte"}
REVERSED = {"Eq": "Eq", "NotEq": "NotEq", "Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq"}
TEXTS = {"StartsWith": "startsWith", "EndsWith": "endsWith"}
BOUNDS = {"Both": ("gte", "lte"), "Left": ("gte", "lt"), "Right": ("gt", "lte"), "None": ("gt", "lt")}
PATTERN_CHARACTERS = frozenset(r"\.+*?()|[]{}^$#&-~")
"""Characters that mean something else in a regular expression."""

Node = Any
"""A part of the JSON form."""
Filter = Mapping[str, Any]
Literal = Callable[[Node], Any]
"""The value of a node that is a literal, as the API takes it; a list for a list."""


class Unknown(Exception):
    """A part that cannot be sent."""


@dataclass(frozen=True)
class Pushed:
    """The outcome for a whole predicate."""

    filters: Filter | None
    """None where nothing can be sent."""
    left_out: int
    """Conditions that only polars checks."""


@dataclass(frozen=True)
class Translator:
    """Makes filters of nodes."""

    families: Mapping[str, str]
    """The columns: `integer`, `float` or `other`. Floats have NaN, which polars holds to be greater than all numbers,
    while no comparison of the API finds it."""
    scales: Mapping[str, int]
    """Digits after the point of the decimals."""
    literal: Literal

    def predicate(self, node: Node) -> Pushed:
        """The conditions that can be sent, of those that all must hold."""
        sent: list[Filter] = []
        left_out = conditions = 0
        for part in joined(node, "And"):
            try:
                found = self.condition(part)
                count, depth = size(found)
            except (Unknown, KeyError, TypeError, ValueError, IndexError, AttributeError):
                left_out += 1
                continue
            if conditions + count > CONDITIONS_MAX or depth > DEPTH_MAX:
                left_out += 1
                continue
            conditions += count
            sent.append(found)
        return Pushed(sent[0] if len(sent) == 1 else {"$and": sent} if sent else None, left_out)

    def condition(self, node: Node) -> Filter:
        """The filter of a condition; `Unknown` and other errors where there is none."""
        if "Column" in node:
            return self._on(node, {"eq": True})
        if "Function" in node:
            return self._function(node["Function"])
        operator, left, right = (node["BinaryExpr"][name] for name in ("op", "left", "right"))
        if operator in ("And", "Or"):
            return {f"${operator.lower()}": [self.condition(part) for part in joined(node, operator)]}
        if "Literal" in left:
            operator, left, right = REVERSED[operator], right, left
        value = self._scalar(right)
        if left.get("Cast", {}).get("dtype") == {"Literal": "Float64"}:
            return self._rounded(operator, left["Cast"], value)
        if operator in ("NotEq", "Gt", "GtEq"):
            return self._or_nan(left, {COMPARISONS[operator]: value})
        return self._on(left, {COMPARISONS[operator]: value})

    def _rounded(self, operator: str, cast: Node, value: Any) -> Filter:
        """Polars compares an integer or a decimal with a float as floats."""
        whole = self.families[cast["expr"]["Column"]] == "integer"
        return self._on(cast["expr"], (of_integers if whole else of_decimals)(operator, value))

    def _function(self, function: Node) -> Filter:
        (family, name), = function["function"].items()
        first, *others = function["input"]
        if family == "Boolean":
            return self._boolean(name, first, others)
        if family == "StringExpr":
            return self._on(first, {_text_operator(name, text := self._scalar(others[0])): text})
        raise Unknown

    def _boolean(self, name: Node, first: Node, others: list[Node]) -> Filter:
        if name in ("IsNull", "IsNotNull"):
            return self._on(first, {"isNull": name == "IsNull"})
        if name in ("IsNan", "IsFinite"):
            return self._on(first, {"isNaN" if name == "IsNan" else "isFinite": True})
        if name == "Not":
            return self._negation(first)
        (form, options), = name.items()
        if form == "IsIn":
            return self._on(first, {"in": self._list(others[0], options)})
        if form == "IsBetween":
            lower, upper = BOUNDS[options["closed"]]
            return self._on(first, {lower: self._scalar(others[0]), upper: self._scalar(others[1])})
        raise Unknown

    def _negation(self, node: Node) -> Filter:
        """Only of what says the same about NULL on both sides."""
        if "Column" in node:
            return self._on(node, {"eq": False})
        (form, options), = node["Function"]["function"]["Boolean"].items()
        if form != "IsIn":
            raise Unknown
        first, values = node["Function"]["input"]
        return self._or_nan(first, {"nin": self._list(values, options)})

    def _or_nan(self, node: Node, condition: Filter) -> Filter:
        found = self._on(node, condition)
        if self.families[self._column(node)] != "float":
            return found
        return {"$or": [found, self._on(node, {"isNaN": True})]}

    def _on(self, node: Node, condition: Filter) -> Filter:
        name = self._column(node)
        if name not in self.families:
            raise Unknown
        return {f"${name}" if name.startswith("$") else name: condition}

    def _column(self, node: Node) -> str:
        """The name of a column, also where polars widens a decimal for a comparison."""
        if "Cast" in node:
            name: str = node["Cast"]["expr"]["Column"]
            if node["Cast"]["dtype"]["Literal"]["Decimal"][1] < self.scales[name]:
                raise Unknown
            return name
        return str(node["Column"])

    def _scalar(self, node: Node) -> Any:
        value = self.literal(node["Literal"])
        if not _is_of_json(value):
            raise Unknown
        return value

    def _list(self, node: Node, options: Node) -> list[Any]:
        values = self.literal(node["Literal"])
        if options["nulls_equal"] or not isinstance(values, list):
            raise Unknown
        values = [value for value in values if value is not None]
        if not 0 < len(values) <= VALUES_MAX or not all(map(_is_of_json, values)):
            raise Unknown
        return values


def of_integers(operator: str, value: float) -> Filter:
    """The condition on integers whose float compares so. Below 2^53 each has a float of its own."""
    if abs(value) >= EXACT_MAX:
        raise Unknown
    if operator in ("Eq", "NotEq"):
        if not value.is_integer():
            raise Unknown
        return {COMPARISONS[operator]: int(value)}
    return {COMPARISONS[operator]: math.floor(value) if operator in ("Gt", "LtEq") else math.ceil(value)}


def of_decimals(operator: str, value: float) -> Filter:
    """A condition that all decimals fulfil whose float compares so. Those next to the value may round to it."""
    if operator in ("Gt", "Lt", "NotEq"):
        return {COMPARISONS[operator]: value}
    lower, upper = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    return {"Eq": {"gte": lower, "lte": upper}, "GtEq": {"gte": lower}, "LtEq": {"lte": upper}}[operator]


def joined(node: Node, operator: str) -> list[Node]:
    """The parts of a chain of the same operator. A chain may be longer than Python recurses."""
    parts, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        inner = one.get("BinaryExpr") if isinstance(one, dict) else None
        if isinstance(inner, dict) and inner.get("op") == operator:
            waiting += [inner["right"], inner["left"]]
        else:
            parts.append(one)
    return parts


def size(found: Filter) -> tuple[int, int]:
    """Conditions, and how deep they are nested, as the server counts them."""
    count, depth = 0, 0
    for name, value in found.items():
        if name in ("$and", "$or"):
            inner = [size(one) for one in value]
            count += sum(one for one, _ in inner)
            depth = max(depth, 1 + max(levels for _, levels in inner))
        else:
            count += len(value)
    return count, depth


def _text_operator(name: Node, text: Any) -> str:
    if not isinstance(text, str):
        raise Unknown
    if isinstance(name, str):
        return TEXTS[name]
    if not name["Contains"]["literal"] and PATTERN_CHARACTERS & set(text):
        raise Unknown
    return "contains"


def _is_of_json(value: Any) -> bool:
    return isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
