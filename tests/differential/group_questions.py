"""Random groups and aggregates, each as a request body and as equivalent SQL, and their comparison. Walks over all pages.

Averages of exact numbers are compared with those that Python computes from sums and counts, and sums of doubles within the
digits that an order of summation decides.
"""

import datetime
import decimal
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from questions import Query, Questioner, quoted, single, to_json
from tables import EPOCH, EXACT

PERIODS = ["year", "quarter", "month", "week", "day", "hour"]
QUANTILES = ["0", "0.25", "0.5", "0.75", "1"]
"""Shares that are exact as doubles, because DuckDB computes with these."""
PAGES_MAX = 8
DOUBLE_DIGITS = 1e-13
AVERAGE_DIGITS = 6


@dataclass
class Output:
    """A column of the answer: its SQL expressions, and whether a value agrees with what these gave."""

    name: str
    sql: list[str]
    agrees: Callable[[Any, list[Any]], bool]


def same_number(found: Any, wanted: Any) -> bool:
    """Whether a printed number is an exact one, given as text."""
    return found == wanted if wanted is None or found is None else decimal.Decimal(found) == decimal.Decimal(wanted)


def same_double(found: Any, wanted: float | None) -> bool:
    """Both zeros are one value; what JSON cannot express is null."""
    if wanted is None or not math.isfinite(wanted):
        return found is None
    return found is not None and float(found) == wanted


class GroupQuestion:
    """One question about a table."""

    def __init__(self, contents: pa.Table, questioner: Questioner, rng: random.Random, texts: bool) -> None:
        self.rng = rng
        self.contents = contents
        self.query: Query = questioner.query()
        self.names = [name for name in contents.column_names if texts or not self.is_text(name)]
        self.body: dict[str, Any] = {key: value for key, value in self.query.body.items() if key == "filters"}
        self.keys: list[Output] = []
        self.aggregates: list[Output] = []
        self.keys_sql: list[str] = []
        fields: list[Any] = []
        for number in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
            fields.append(self.key(f"k{number}"))
        asked = {f"a{number}": self.aggregate(f"a{number}") for number in range(rng.randint(0 if fields else 1, 4))}
        self.body |= {"groupBy": fields, "aggregates": asked}
        self.having = ""
        if rng.random() < 0.3:
            asked["n"] = {"op": "count"}
            self.aggregates.append(Output("n", ["CAST(count(*) AS VARCHAR)"], lambda found, wanted: found == wanted[0]))
            least = rng.choice([1, 2, 5, 100])
            self.body["having"] = {"n_min": least}
            self.having = f"HAVING count(*) >= {least}"
        self.order = ", ".join(f"{sql} ASC NULLS LAST" for sql in self.keys_sql) or "1"
        if "n" in asked and rng.random() < 0.5:
            self.body |= {"sortBy": "n", "sortDirection": "desc"}
            self.order = f"count(*) DESC, {self.order}"

    def kind(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self.contents.schema.field(name).type

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts; without a sort index these have no groups."""
        return bool(pa.types.is_string(self.kind(name)))

    def key(self, as_name: str) -> Any:
        """A column to group by, and its field of the request."""
        rng, name = self.rng, self.rng.choice(self.names)
        kind, column = self.kind(name), quoted(name)
        field: dict[str, Any] = {"column": name, "as": as_name}
        sql = column
        if pa.types.is_temporal(kind) and rng.random() < 0.7:
            field["by"] = rng.choice(PERIODS[:5] if pa.types.is_date(kind) else PERIODS)
            sql = f"CAST(date_trunc('{field['by']}', {column}) AS {'DATE' if pa.types.is_date(kind) else 'TIMESTAMP'})"
        elif pa.types.is_integer(kind) and rng.random() < 0.5:
            field["width"] = width = rng.choice([1, 7, 1000])
            whole = f"CAST({column} AS HUGEINT)"
            sql = f"({whole} - (({whole} % {width}) + {width}) % {width})"
        self.keys_sql.append(sql)
        self.keys.append(self.value(as_name, name, sql))
        return field

    def value(self, as_name: str, name: str, sql: str) -> Output:
        """A value of a column, lossless."""
        kind = self.kind(name)
        if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
            return Output(as_name, [f"CAST({sql} AS VARCHAR)"], lambda found, wanted: same_number(found, wanted[0]))
        if pa.types.is_float32(kind):
            return Output(as_name, [sql], lambda found, wanted: same_double(
                None if found is None else single(float(found)), None if wanted[0] is None else single(wanted[0])))
        if pa.types.is_floating(kind):
            return Output(as_name, [sql], lambda found, wanted: same_double(found, wanted[0]))
        if pa.types.is_timestamp(kind):
            return Output(as_name, [f"epoch_us({sql})"], lambda found, wanted: found == moment(wanted[0]))
        return Output(as_name, [sql], lambda found, wanted: found == (
            wanted[0].isoformat() if isinstance(wanted[0], datetime.date) else wanted[0]))

    def aggregate(self, as_name: str) -> dict[str, Any]:
        """An aggregate, and its field of the request."""
        name = self.rng.choice(self.names)
        kind, column = self.kind(name), quoted(name)
        exact = (pa.types.is_decimal(kind) and kind.precision < 20) or pa.types.is_integer(kind)
        operations = ["count", "countDistinct", "min", "max"]
        operations += ["sum", "avg"] if exact else ["sum"] if pa.types.is_float64(kind) else []
        if not (pa.types.is_string(kind) or pa.types.is_boolean(kind)):
            operations += ["median", "quantile"]
        operation = self.rng.choice(operations)
        field: dict[str, Any] = {"op": operation, "column": name}
        if operation in ("min", "max"):
            output = self.value(as_name, name, f"{operation}({column})")
        elif operation in ("median", "quantile"):
            share = "0.5" if operation == "median" else self.rng.choice(QUANTILES)
            if operation == "quantile":
                field["q"] = float(share)
            output = self.value(as_name, name, f"quantile_disc({column}, {share})")
        elif operation in ("count", "countDistinct"):
            distinct = "DISTINCT " if operation == "countDistinct" else ""
            output = Output(as_name, [f"CAST(count({distinct}{column}) AS VARCHAR)"], lambda found, wanted: found == wanted[0])
        elif not exact:
            output = Output(as_name, [f"fsum({column})", f"fsum(abs({column}))"], agrees_nearly)
        else:
            scale = kind.scale if pa.types.is_decimal(kind) else 0
            total = f"CAST(sum(CAST({column} AS DECIMAL(38, {scale}))) AS VARCHAR)"
            if operation == "sum":
                output = Output(as_name, [total], lambda found, wanted: same_number(found, wanted[0]))
            else:
                output = Output(as_name, [total, f"count({column})"],
                                lambda found, wanted: same_number(found, average(wanted[0], wanted[1], scale)))
        self.aggregates.append(output)
        return field

    def sql(self, table: str) -> str:
        """All groups in their order."""
        shown = ", ".join(sql for output in [*self.keys, *self.aggregates] for sql in output.sql)
        grouping = f"GROUP BY {', '.join(self.keys_sql)}" if self.keys_sql else ""
        return f"SELECT {shown} FROM {table} WHERE {self.query.where} {grouping} {self.having} ORDER BY {self.order}"

    def differences(self, found: list[dict[str, Any]], wanted: list[tuple[Any, ...]]) -> str | None:
        """The first difference."""
        if len(found) != len(wanted):
            return f"{len(found)} groups, DuckDB {len(wanted)}"
        for number, (row, values) in enumerate(zip(found, wanted, strict=True)):
            place = 0
            for output in [*self.keys, *self.aggregates]:
                end = place + len(output.sql)
                if not output.agrees(row[output.name], list(values[place:end])):
                    return f"group {number}, {output.name}: mercato {row[output.name]!r}, DuckDB {values[place:end]!r}\n  {row}"
                place = end
        return None

    def run(self, ask: Callable[[str], tuple[int, Any]], wanted: list[tuple[Any, ...]]) -> str | None:
        """Walks over all pages; the first difference."""
        limit = max(1, min(10_000, len(wanted) // self.rng.randint(1, PAGES_MAX) + 1))
        body, found = self.body | {"limit": limit}, []
        while True:
            status, answer = ask(to_json(body))
            if status != 200:
                return f"status {status}: {answer['error']}"
            data = answer["data"]
            found += data["results"]
            if "totalRowsAtLeast" not in data and data["totalRows"] != str(len(wanted)):
                return f"totalRows {data['totalRows']!r}, DuckDB {len(wanted)}"
            if data["nextCursor"] is None:
                return self.differences(found, wanted)
            body["cursor"] = str(data["nextCursor"])


def moment(microseconds: int | None) -> str | None:
    """A timestamp as the API prints it."""
    if microseconds is None:
        return None
    return (EPOCH + datetime.timedelta(microseconds=microseconds)).isoformat(timespec="microseconds") + "Z"


def average(total: str | None, count: int, scale: int) -> str | None:
    """An exact average with six digits more, half to even."""
    if total is None:
        return None
    unit = decimal.Decimal(1).scaleb(-scale - AVERAGE_DIGITS)
    numerator = decimal.Decimal(total).scaleb(scale + AVERAGE_DIGITS, EXACT)
    whole, rest = divmod(int(numerator), count)
    whole += int(rest * 2 > count or (rest * 2 == count and whole % 2 == 1))
    return f"{EXACT.multiply(decimal.Decimal(whole), unit):f}"


def agrees_nearly(found: Any, wanted: list[Any]) -> bool:
    """A sum of doubles, within the digits that its order decides."""
    total, size = wanted
    if total is None or not math.isfinite(total) or not math.isfinite(size):
        return total is None or found is None or not math.isfinite(size)
    return found is not None and abs(float(found) - total) <= DOUBLE_DIGITS * size
