"""Random queries, each as a request body and as equivalent SQL. Knows no server.

In SQL a null makes every comparison unknown, which is what the API promises. A NaN does not: DuckDB lets it equal itself and
begins with it in descending order, so comparisons of doubles see NULL in its place, and orders put it behind all numbers.
"""

import datetime
import decimal
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tables import EPOCH, EXACT, TEXTS, random_decimal, random_double, random_integer, random_moment, random_single, random_text, single

COMPARISONS = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
TEXT_TESTS = {"contains": "contains", "startsWith": "starts_with", "endsWith": "ends_with"}
FLOAT_TESTS = {"isNaN": "isnan", "isFinite": "isfinite"}
"""Both are unknown for a null, in SQL as in the API."""
SAMPLES_MAX = 300
DEPTH_MAX = 4
"""Most levels of nesting; the API allows five."""
NESTING_TESTS_MAX = 20
"""Conditions after which nesting stops; the API allows a hundred."""


class Raw(str):
    """A JSON number with exactly these characters."""


@dataclass(frozen=True)
class Condition:
    """A filter: a key and value of an object in `filters`, the SQL, and its parameters."""

    key: str
    value: Any
    sql: str
    parameters: list[Any]


@dataclass
class Query:
    """A query without page: filters and sort order."""

    body: dict[str, Any] = field(default_factory=dict)
    where: str = "TRUE"
    parameters: list[Any] = field(default_factory=list)
    order: str = "_row"


def to_json(value: Any) -> str:
    """JSON text. A `Raw` keeps its digits, which the json module does not support."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(key)}:{to_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    return json.dumps(value)


def quoted(name: str) -> str:
    """A column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def shortest_single(value: float) -> str:
    """The shortest text that reads back as the same float32."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if single(float(text)) == single(value))


class Column:
    """A column: how literals for it are made, and how SQL compares them exactly."""

    def __init__(self, name: str, values: pa.ChunkedArray, rng: random.Random) -> None:
        self.name = name
        self.kind = values.type
        self.is_text = pa.types.is_string(self.kind)
        picked = sorted(rng.sample(range(len(values)), min(SAMPLES_MAX, len(values))))
        self.samples = [value for value in values.take(pa.array(picked, type=pa.int64())).to_pylist() if value is not None]

    def operand(self) -> str:
        """The SQL of the column in comparisons."""
        name, kind = quoted(self.name), self.kind
        if pa.types.is_floating(kind):
            return f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END"
        if pa.types.is_temporal(kind):
            return f"CAST(epoch_us(CAST({name} AS TIMESTAMP)) AS HUGEINT) * 1000"
        if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.precision < 20):
            return f"CAST({name} AS DECIMAL(38, 10))"
        return name

    def literal(self, rng: random.Random) -> tuple[Any, str, Any]:
        """A literal for JSON, a placeholder for SQL, and its value."""
        kind = self.kind
        if self.is_text:
            text = self.pick(rng, lambda: rng.choice([random_text(rng), rng.choice(TEXTS)]))
            return text, "?", text
        if pa.types.is_boolean(kind):
            flag = rng.random() < 0.5
            return flag, "?", flag
        if pa.types.is_float32(kind):
            return self.single(rng)
        if pa.types.is_floating(kind):
            number = self.pick(rng, lambda: random_double(rng))
            number = number if math.isfinite(number) else 0.25
            return Raw(repr(number)), "CAST(? AS DOUBLE)", number
        if pa.types.is_temporal(kind):
            return self.moment(rng)
        return self.number(rng)

    def pick(self, rng: random.Random, make: Callable[[], Any]) -> Any:
        """Mostly an existing value, or else any."""
        return rng.choice(self.samples) if self.samples and rng.random() < 0.7 else make()

    def single(self, rng: random.Random) -> tuple[Any, str, Any]:
        """A literal for a float32: the shortest digits of one, all digits of it as a double, or a double near it."""
        number = self.pick(rng, lambda: random_single(rng))
        number = number if math.isfinite(number) else 0.25
        form = rng.choice(["short", "short", "long", "near"])
        if form == "near" and abs(number) < 1e30:
            number += number * rng.uniform(-1e-7, 1e-7)
        text = repr(number) if form != "short" else shortest_single(number)
        return Raw(text), "CAST(? AS FLOAT)", single(number)

    def number(self, rng: random.Random) -> tuple[Any, str, Any]:
        """An exact number as JSON number or as text, sometimes with more decimal places than the column has."""
        if pa.types.is_decimal(self.kind):
            precision, scale = self.kind.precision, self.kind.scale
            value = self.pick(rng, lambda: random_decimal(rng, precision, scale))
        else:
            precision, scale = 20, 0
            value = decimal.Decimal(self.pick(rng, lambda: random_integer(rng, -(1 << 64), 1 << 65)))
        if precision < 38 and rng.random() < 0.2:
            value = EXACT.add(value, decimal.Decimal(rng.randint(-99, 99)).scaleb(-scale - 2))
        text = f"{value:f}"
        if "." in text and rng.random() < 0.5:
            text = text.rstrip("0").rstrip(".")
        exact = f"CAST(? AS DECIMAL(38, {10 if precision < 38 else 4}))"
        return text if rng.random() < 0.5 else Raw(text), exact, f"{value:f}"

    def moment(self, rng: random.Random) -> tuple[Any, str, Any]:
        """A date, or RFC 3339 in UTC, with an offset or without a zone, with up to nine digits of a second."""
        value = self.pick(rng, lambda: random_moment(rng))
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        form = rng.choice(["date", "utc", "local", "offset", "nanoseconds"])
        nanoseconds = 0
        if form == "date":
            value = datetime.datetime(value.year, value.month, value.day)
            text = value.date().isoformat()
        elif form == "offset" and 1 < value.year < 9999:
            text = (value + datetime.timedelta(hours=5, minutes=30)).isoformat() + "+05:30"
        elif form == "nanoseconds":
            nanoseconds = rng.choice([0, 1, 500, 999])
            text = f"{value.isoformat(timespec='microseconds')}{nanoseconds:03}Z"
        else:
            text = value.isoformat() + ("Z" if form == "utc" else "")
        count = (value - EPOCH) // datetime.timedelta(microseconds=1) * 1000 + nanoseconds
        return text, "CAST(? AS HUGEINT)", str(count)


class Questioner:
    """Generates queries on one table."""

    def __init__(self, table: pa.Table, rng: random.Random, sortable_texts: bool) -> None:
        self.rng = rng
        self.tests = 0
        self.names = table.column_names
        self.columns = [Column(name, table.column(name), rng) for name in self.names]
        self.sortable = [column.name for column in self.columns if sortable_texts or not column.is_text]

    def query(self) -> Query:
        """Filters and sort order."""
        query, rng, self.tests = Query(), self.rng, 0
        if rng.random() < 0.85:
            filters, query.where, query.parameters = self.object(0, rng.choice([1, 1, 1, 2, 2, 3, 4]))
            query.body["filters"] = filters
        direction = rng.choice([None, "asc", "desc"])
        if direction:
            query.body["sortDirection"] = direction
        descending = " DESC" if direction == "desc" else ""
        query.order = f"_row{descending}"
        if rng.random() < 0.75:
            name = rng.choice(self.sortable)
            query.body["sortBy"] = name
            is_float = pa.types.is_floating(next(column.kind for column in self.columns if column.name == name))
            nan_last = f"{quoted(name)} IS NULL, isnan({quoted(name)}), " if is_float else ""
            query.order = f"{nan_last}{quoted(name)}{descending or ' ASC'} NULLS LAST, _row"
        return query

    def projection(self) -> tuple[dict[str, Any], list[str]]:
        """The `columns` field, if any, and the requested columns."""
        rng = self.rng
        if rng.random() < 0.4:
            return rng.choice([{}, {}, {"columns": []}, {"columns": None}]), self.names
        names = rng.sample(self.names, rng.randint(1, len(self.names)))
        return {"columns": names}, names

    def object(self, depth: int, conditions: int) -> tuple[dict[str, Any], str, list[Any]]:
        """A conjunction of conditions."""
        chosen: dict[str, Condition] = {}
        for _ in range(conditions):
            condition = self.condition(depth)
            chosen.setdefault(condition.key, condition)
        sql = " AND ".join(condition.sql for condition in chosen.values()) or "TRUE"
        parameters = [value for condition in chosen.values() for value in condition.parameters]
        return {key: condition.value for key, condition in chosen.items()}, f"({sql})", parameters

    def condition(self, depth: int) -> Condition:
        """A condition on a column, or a nested condition."""
        nested = depth < DEPTH_MAX and self.tests < NESTING_TESTS_MAX and self.rng.random() < 0.3
        kind = self.rng.choice(["$and", "$or", "$or", "$not"]) if nested else ""
        if kind == "$not":
            inner, sql, parameters = self.object(depth + 1, self.rng.randint(1, 2))
            return Condition(kind, inner, f"NOT {sql}", parameters)
        if kind:
            parts = [self.object(depth + 1, self.rng.choice([0, 1, 1, 1, 2])) for _ in range(self.rng.randint(1, 3))]
            sql = f" {kind[1:].upper()} ".join(part[1] for part in parts)
            return Condition(kind, [part[0] for part in parts], f"({sql})", [value for part in parts for value in part[2]])
        return self.test(self.rng.choice(self.columns))

    def test(self, column: Column) -> Condition:
        """A condition on a column, in one of its notations."""
        self.tests += 1
        rng, name, operand = self.rng, column.name, column.operand()
        key = f"${name}" if name.startswith("$") else name
        form = rng.choice(["plain", "null", "list", "bound", "operators", "operators", "operators"])
        if form == "null":
            return Condition(key, None, f"{quoted(name)} IS NULL", [])
        if form == "list":
            return self.listed(column, key, operand)
        suffix, comparison = rng.choice([("_min", ">="), ("_max", "<=")])
        literal, place, value = column.literal(rng)
        if form == "bound" and name + suffix not in self.names:
            return Condition(key + suffix, literal, f"{operand} {comparison} {place}", [value])
        if form == "operators":
            parts = {part.key: part for part in (self.operator(column, operand) for _ in range(rng.choice([1, 1, 2])))}
            sql = " AND ".join(part.sql for part in parts.values())
            values = [value for part in parts.values() for value in part.parameters]
            return Condition(key, {word: part.value for word, part in parts.items()}, f"({sql})", values)
        return Condition(key, literal, f"{operand} = {place}", [value])

    def listed(self, column: Column, key: str, operand: str) -> Condition:
        """A condition with a list of literals."""
        literals = [column.literal(self.rng) for _ in range(self.rng.choice([1, 2, 5, 40]))]
        places = ", ".join(place for _, place, _ in literals)
        return Condition(key, [literal for literal, _, _ in literals], f"{operand} IN ({places})", [value for _, _, value in literals])

    def operator(self, column: Column, operand: str) -> Condition:
        """An operator with its value, the operator as key."""
        rng, name = self.rng, quoted(column.name)
        words = [*COMPARISONS, "in", "nin", "between", "isNull", *(TEXT_TESTS if column.is_text else []),
                 *(2 * list(FLOAT_TESTS) if pa.types.is_floating(column.kind) else [])]
        word = rng.choice(words)
        if word in TEXT_TESTS:
            text = self.piece(column)
            return Condition(word, text, f"{TEXT_TESTS[word]}({name}, ?)", [text])
        if word in FLOAT_TESTS:
            flag = rng.random() < 0.5
            return Condition(word, flag, f"{'' if flag else 'NOT '}{FLOAT_TESTS[word]}({name})", [])
        if word == "isNull":
            flag = rng.random() < 0.5
            return Condition(word, flag, f"{name} IS {'' if flag else 'NOT '}NULL", [])
        if word in ("in", "nin"):
            part = self.listed(column, word, operand)
            return part if word == "in" else Condition(word, part.value, f"NOT ({part.sql})", part.parameters)
        if word == "between":
            (low, low_place, low_value), (high, high_place, high_value) = column.literal(rng), column.literal(rng)
            return Condition(word, [low, high], f"{operand} BETWEEN {low_place} AND {high_place}", [low_value, high_value])
        if word in ("eq", "ne") and rng.random() < 0.1:
            return Condition(word, None, f"{name} IS {'' if word == 'eq' else 'NOT '}NULL", [])
        literal, place, value = column.literal(rng)
        return Condition(word, literal, f"{operand} {COMPARISONS[word]} {place}", [value])

    def piece(self, column: Column) -> str:
        """A substring of an existing text, or of any."""
        text: str = column.pick(self.rng, lambda: random_text(self.rng))
        low, high = sorted(self.rng.randint(0, len(text)) for _ in range(2))
        return self.rng.choice([text, text[low:high], text[:high], text[low:], text[:1]])
