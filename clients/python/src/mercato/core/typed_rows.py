"""An Arrow table out of NDJSON rows, for servers that do not speak Arrow.

The schema calls several types `number` and `datetime`. What the free statistics and the free sample print decides which
of them a column has: decimals print all digits of their scale, doubles the shortest text, timestamps the digits of
their unit. So the types depend on the version of the dataset, and not on the rows that a question finds. A column whose
printed values all could be doubles counts as one of doubles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from mercato.core import stream
from mercato.core.effects import Steps, gathered
from mercato.core.exchange import Core, exchange, request
from mercato.core.question import Question
from mercato.core.reads import read
from mercato.errors import UnexpectedAnswer
from mercato.openapi import GET_SAMPLE, GET_SCHEMA, GET_STATISTICS, DatasetSchema, Operation
from mercato.results import Row

BATCH_ROWS = 65_536
INT64_DIGITS = 18
"""All numbers of so many digits fit an int64."""
DECIMAL128_DIGITS = 38
DECIMAL256_DIGITS = 76
DOUBLE_DIGITS = 17
"""The shortest text of a double has no more digits."""
FRACTION = re.compile(r"\.(\d+)")
UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def table_of_json(core: Core, library: Any, question: Question) -> Steps[Any]:
    """All rows as an Arrow table."""
    schema: DatasetSchema = yield from read(core, GET_SCHEMA, question.slug, version=question.version)
    seen = yield from _printed(core, question.slug, schema["version"])
    columns = {column["name"]: column["type"] for column in schema["columns"]}
    kinds = {name: _kind(columns[name], schema["properties"][name], seen.get(name, ()))
             for name in question.columns or columns if name in columns}
    batches = Batches(library, kinds)
    # The version is the one that was described, whatever is published meanwhile.
    pinned = replace(question, version=schema["version"])
    yield from gathered(stream.rows(core, pinned, parse_exactly), batches.take)
    return batches.table()


def parse_exactly(line: bytes | str) -> Any:
    """JSON whose numbers are the texts that the server printed."""
    return json.loads(line, parse_float=str, parse_int=str)


def _printed(core: Core, slug: str, version: str) -> Steps[Mapping[str, list[str]]]:
    """Values of each column as the server prints them, out of what is free."""
    seen: dict[str, list[str]] = {}
    statistics = yield from _read_exactly(core, GET_STATISTICS, slug, version)
    for column in statistics["columns"]:
        frequent = [one["value"] for one in column["topValues"] or ()]
        quantiles = list((column["quantiles"] or {}).values())
        seen[column["name"]] = _texts([column["min"], column["max"], *quantiles, *frequent])
    sample = yield from _read_exactly(core, GET_SAMPLE, slug, version)
    for row in sample["results"]:
        for name, value in row.items():
            seen.setdefault(name, []).extend(_texts([value]))
    return seen


def _read_exactly(core: Core, operation: Operation, slug: str, version: str) -> Steps[Any]:
    answer = yield from exchange(core, request(core, operation, slug=slug, query={"version": version}))
    return parse_exactly(answer.content)["data"]


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


@dataclass(frozen=True)
class Kind:
    """The kind of a column in Arrow."""

    name: str
    """`string`, `boolean`, `integer`, `double`, `decimal`, `date` or `timestamp`."""
    digits: int = 0
    """Of a decimal, at most."""
    scale: int = 0
    """Digits after the point of a decimal, or of the seconds of a timestamp."""

    def arrow(self, library: Any) -> Any:
        """The type."""
        if self.name == "decimal":
            narrow = self.digits <= DECIMAL128_DIGITS
            return (library.decimal128(DECIMAL128_DIGITS, self.scale) if narrow
                    else library.decimal256(DECIMAL256_DIGITS, self.scale))
        if self.name == "timestamp":
            return library.timestamp(UNITS[self.scale], tz="UTC")
        plain = {"string": "string", "boolean": "bool_", "integer": "int64", "double": "float64", "date": "date32"}
        return getattr(library, plain[self.name])()

    def array(self, library: Any, values: Sequence[Any]) -> Any:
        """Values of JSON, numbers as texts, as an array."""
        kind = self.arrow(library)
        make = {"integer": int, "double": float, "decimal": Decimal}.get(self.name)
        if make is not None:
            return library.array([None if value is None else make(value) for value in values], kind)
        if self.name in ("date", "timestamp"):
            return library.array(values, library.string()).cast(kind)
        return library.array(values, kind)


def _kind(logical: str, told: Mapping[str, Any], texts: Sequence[str]) -> Kind:
    """The type of a column, by the schema and by what is printed of it."""
    if logical == "boolean":
        return Kind("boolean")
    if logical == "integer":
        digits = max((_digits(text) for text in texts), default=0)
        return Kind("integer") if digits <= INT64_DIGITS or _fits_int64(texts) else Kind("decimal", digits)
    if logical == "number":
        return _number(texts)
    if logical == "datetime" and told.get("format") == "date":
        return Kind("date")
    if logical == "datetime" and told.get("format") == "date-time":
        fraction = max((_scale(text) for text in texts), default=6)
        return Kind("timestamp", scale=next(digits for digits in (*UNITS, 9) if digits >= min(fraction, 9)))
    # Years of more than four digits have no form that Arrow reads.
    return Kind("string")


def _number(texts: Sequence[str]) -> Kind:
    scales = {_scale(text) for text in texts}
    if len(scales) != 1 or any("e" in text.lower() for text in texts):
        return Kind("double")
    scale = scales.pop()
    if not any(_is_no_double(text, scale) for text in texts):
        return Kind("double")
    # Of the digits before the point the extremes tell, and they stand among the texts.
    return Kind("decimal", max(_digits(text) for text in texts), scale)


def _is_no_double(text: str, scale: int) -> bool:
    """Whether a number is printed as no double is: without a point, with a needless zero, or with too many digits."""
    return scale == 0 or (scale > 1 and text.endswith("0")) or _digits(text) > DOUBLE_DIGITS


def _scale(text: str) -> int:
    found = FRACTION.search(text)
    return len(found[1]) if found else 0


def _digits(text: str) -> int:
    return len(re.sub(r"[^0-9]", "", text).lstrip("0"))


def _fits_int64(texts: Iterable[str]) -> bool:
    return all(-(1 << 63) <= int(text) < 1 << 63 for text in texts)


@dataclass
class Batches:
    """Rows become arrays in batches, so that they are objects of Python only for a while."""

    library: Any
    kinds: Mapping[str, Kind]
    waiting: list[Row] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)

    def take(self, rows: Sequence[Row]) -> None:
        """Adds rows."""
        self.waiting += rows
        if len(self.waiting) >= BATCH_ROWS:
            self._finish()

    def table(self) -> Any:
        """All rows that were taken."""
        self._finish()
        return self.library.concat_tables(self.done)

    def _finish(self) -> None:
        rows, self.waiting = self.waiting, []
        try:
            arrays = [kind.array(self.library, [row[name] for row in rows]) for name, kind in self.kinds.items()]
        except (ValueError, KeyError, ArithmeticError) as fault:
            raise UnexpectedAnswer(f"a row is not what the schema says: {fault}") from None
        self.done.append(self.library.Table.from_arrays(arrays, names=list(self.kinds)))
