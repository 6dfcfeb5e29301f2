"""Compares the statistics of every column with DuckDB."""

import math
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from questions import quoted

HUNDREDTHS = (5, 25, 50, 75, 95)
TOP_MAX = 20
TEXT_MAX = 256
"""Longer texts are truncated with an ellipsis."""
SUM_MAX = 1.6e38
"""A sum of larger stored numbers may exceed 128 bits, and then there is no mean."""


class Known(Protocol):
    """A dataset in DuckDB."""

    contents: pa.Table
    table: str
    connection: duckdb.DuckDBPyConnection

    def shown(self, name: str) -> str:
        """Lossless SQL of a column."""

    def agrees(self, name: str, found: Any, wanted: Any) -> bool:
        """Whether a value of a response equals the value in DuckDB."""


class Column:
    """One column in DuckDB. Finite values are compared; the others are only counted."""

    def __init__(self, oracle: Known, name: str) -> None:
        self.oracle = oracle
        self.name = name
        self.kind = oracle.contents.schema.field(name).type
        self.sql = quoted(name)
        is_float = pa.types.is_floating(self.kind)
        self.finite = f"isfinite({self.sql})" if is_float else f"{self.sql} IS NOT NULL"
        self.count = int(self.one(f"SELECT count(*) FROM {oracle.table} WHERE {self.finite}"))

    def one(self, sql: str) -> Any:
        """The single value of a query."""
        row = self.oracle.connection.execute(sql).fetchone()
        return None if row is None else row[0]

    def at(self, rank: int) -> Any:
        """The value at a rank."""
        return self.one(f"SELECT {self.oracle.shown(self.name)} FROM {self.oracle.table} WHERE {self.finite} "
                        f"ORDER BY {self.sql} LIMIT 1 OFFSET {rank}")

    def differences(self, found: dict[str, Any]) -> list[str]:
        """The differences."""
        wrong = self.counts(found) + self.means(found) + self.frequent(found)
        places = [("min", found["min"], 0), ("max", found["max"], self.count - 1)]
        if found["quantiles"] is not None:
            places += [(f"p{part}", found["quantiles"][f"p{part}"], -(-self.count * part // 100) - 1)
                       for part in HUNDREDTHS]
        for place, value, rank in places:
            wanted = truncated(self.at(rank)) if self.count else None
            if not self.oracle.agrees(self.name, value, wanted):
                wrong.append(f"{place}: mercato {value!r}, DuckDB {wanted!r}")
        return wrong

    def counts(self, found: dict[str, Any]) -> list[str]:
        """Compares the numbers of values, nulls, NaNs and distinct values."""
        table = self.oracle.table
        distinct = f"{self.sql} + 0.0" if pa.types.is_floating(self.kind) else self.sql
        wanted = {"count": self.one(f"SELECT count({self.sql}) FROM {table}"),
                  "nulls": self.one(f"SELECT count(*) - count({self.sql}) FROM {table}"),
                  "distinct": self.one(f"SELECT count(DISTINCT {distinct}) FROM {table}"),
                  "nans": 0, "infinities": 0}
        if pa.types.is_floating(self.kind):
            for name, test in (("nans", "isnan"), ("infinities", "isinf")):
                wanted[name] = self.one(f"SELECT count(*) FROM {table} WHERE {test}({self.sql})")
        return [f"{name}: mercato {found[name]}, DuckDB {count}" for name, count in wanted.items()
                if found[name] is not None and int(found[name]) != count]

    def means(self, found: dict[str, Any]) -> list[str]:
        """Compares the mean of numbers or lengths, except for rounding."""
        if pa.types.is_string(self.kind):
            found = found["lengths"] or {"mean": None}
            value = f"length({self.sql})"
        elif pa.types.is_timestamp(self.kind) or pa.types.is_boolean(self.kind) or pa.types.is_date(self.kind):
            return []
        else:
            value = f"CAST({self.sql} AS DOUBLE)"
        mean, size = self.oracle.connection.execute(
            f"SELECT favg({value}), favg(abs({value})) FROM {self.oracle.table} WHERE {self.finite}").fetchall()[0]
        scale = self.kind.scale if pa.types.is_decimal(self.kind) else 0
        beyond = size is not None and (not math.isfinite(size) or size * self.count * 10**scale > SUM_MAX)
        if found["mean"] is None:
            return [] if mean is None or beyond else [f"mean: mercato null, DuckDB {mean}"]
        if mean is None or abs(float(found["mean"]) - mean) > 1e-9 * size + 1e-300:
            return [] if beyond else [f"mean: mercato {found['mean']}, DuckDB {mean}"]
        return []

    def frequent(self, found: dict[str, Any]) -> list[str]:
        """Compares the most frequent values, and the counts of the bins."""
        table, shown = self.oracle.table, self.oracle.shown(self.name)
        wrong = []
        if found["topValues"] is not None:
            wanted = self.oracle.connection.execute(
                f"SELECT any_value({shown}), count(*) FROM {table} WHERE {self.finite} GROUP BY {self.sql} "
                f"HAVING count(*) > 1 ORDER BY count(*) DESC, {self.sql} LIMIT {TOP_MAX}").fetchall()
            pairs = [(top["value"], int(top["count"])) for top in found["topValues"]]
            same = len(pairs) == len(wanted) and all(
                count == times and self.oracle.agrees(self.name, value, truncated(shown_value))
                for (value, count), (shown_value, times) in zip(pairs, wanted, strict=True))
            if not same:
                wrong.append(f"topValues: mercato {pairs}, DuckDB {wanted}")
        if found["histogram"] is not None:
            wrong += self.bins(found["histogram"])
        return wrong

    def bins(self, histogram: dict[str, Any]) -> list[str]:
        """Compares the counts of the bins. Each bin ends at the lower bound of the next one."""
        value = f"length({self.sql})" if histogram["of"] == "lengths" else self.sql
        kind = "BIGINT" if histogram["of"] == "lengths" else self.one(f"SELECT typeof({self.sql}) FROM {self.oracle.table}")
        not_below = [self.one(f"SELECT count(*) FROM {self.oracle.table} WHERE {self.finite} "
                              f"AND {value} >= CAST('{part['from']}' AS {kind})") for part in histogram["bins"]]
        wanted = [here - after for here, after in zip(not_below, [*not_below[1:], 0], strict=True)]
        counts = [int(part["count"]) for part in histogram["bins"]]
        return [] if counts == wanted else [f"histogram: mercato {counts}, DuckDB {wanted}"]


def truncated(value: Any) -> Any:
    """A value as in the statistics: long texts are truncated, and both zeros are one value."""
    if isinstance(value, float):
        return value + 0.0
    return value[:TEXT_MAX] + "\u2026" if isinstance(value, str) and len(value) > TEXT_MAX else value


def differences(oracle: Known, statistics: dict[str, Any]) -> list[str]:
    """The differences, one line each."""
    wrong = [] if statistics["complete"] else ["the statistics are not complete"]
    names = [column["name"] for column in statistics["columns"]]
    if names != oracle.contents.column_names:
        return [*wrong, f"columns: {names}"]
    for column in statistics["columns"]:
        wrong += [f"column {column['name']!r}: {difference}" for difference in Column(oracle, column["name"]).differences(column)]
    return wrong
