"""The test tables: random ones with every type of the API and many edge cases, and order lines in the style of TPC-H.
Knows no query."""

import datetime
import decimal
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = datetime.datetime(1970, 1, 1)
DAYS = (-719_162, 2_932_896)
"""The years 1 to 9999."""
EXACT = decimal.Context(prec=100)

TEXTS = [
    "", " ", "a", "A", "aa", "ab", "a ", "\u00e0", "a\u0300", "\u00df", "ss", "NULL", "null", "NaN", "0", "-1", "%", "_a", "a%b", "*",
    "\"quoted\"", "it's", "back\\slash", "line\nbreak", "carriage\r\nreturn", "tab\tstop", "nul\u0000inside", "\u0000",
    "\u0001\u001f\u007f", "\u2028", "\ufeffmark", "\uffff", "\U00010000", "\U0001f980", "\U0010ffff",
    "\u05e9\u05dc\u05d5\u05dd", "a,b;c", "{\"json\":[1]}", "prefix", "prefix one", "prefix two",
    "long " * 100, "longer " * 600, "longer " * 600 + "still",
]


@dataclass(frozen=True)
class Dataset:
    """One Parquet file and its publication options."""

    slug: str
    parquet: Path
    sort_index: str = "all"
    version: str = "1.0.0"
    is_current: bool = True


def write_all(rng: random.Random, rows: int, folder: Path) -> list[Dataset]:
    """Writes the files; `rows` counts those of the largest random table."""
    mixed, older, floats, empty, single, lines = (
        folder / f"{name}.parquet" for name in ("mixed", "older", "floats", "empty", "single", "lines"))
    pq.write_table(random_table(rng, rows // 2), older)
    pq.write_table(float_table(rng, rows), floats, row_group_size=max(1, rows // 2))
    pq.write_table(random_table(rng, rows), mixed, row_group_size=max(1, rows // 3), compression="zstd")
    pq.write_table(random_table(rng, 0), empty)
    pq.write_table(random_table(rng, 1), single)
    write_order_lines(lines, rng.randrange(1 << 32), rows * 8)
    return [Dataset("mixed", older, is_current=False), Dataset("mixed", mixed, version="1.1.0"),
            Dataset("mixed-unsorted", mixed, "none"), Dataset("lines", lines),
            Dataset("floats", floats), Dataset("floats-unsorted", floats, "none"),
            Dataset("empty", empty), Dataset("single", single)]


def random_table(rng: random.Random, rows: int) -> pa.Table:
    """One or two columns of each type, names that need quoting, few and many distinct values, nulls almost everywhere."""
    def column(kind: pa.DataType, make: Callable[[], Any], nulls: float, distinct: int | None = None) -> pa.Array:
        pool = [make() for _ in range(distinct)] if distinct else None
        pick = make if pool is None else lambda: rng.choice(pool)
        return pa.array([None if rng.random() < nulls else pick() for _ in range(rows)], type=kind)

    narrow, wide = pa.decimal128(15, 2), pa.decimal128(38, 4)
    return pa.table({
        "id": pa.array(range(rows), type=pa.int64()),
        "word": column(pa.string(), lambda: rng.choice(TEXTS), 0.1),
        "text": column(pa.string(), lambda: random_text(rng), 0.05),
        "whole": column(pa.int64(), lambda: random_integer(rng, -(1 << 63), (1 << 63) - 1), 0.1),
        "few": column(pa.int64(), lambda: rng.randint(-5, 5), 0.3),
        "few_max": column(pa.int32(), lambda: rng.randint(-100, 100), 0.0),
        "huge": column(pa.uint64(), lambda: random_integer(rng, 0, (1 << 64) - 1), 0.1),
        "price": column(narrow, lambda: random_decimal(rng, 15, 2), 0.1),
        "price list": column(narrow, lambda: random_decimal(rng, 5, 2), 0.1, 40),
        "$amount": column(wide, lambda: random_decimal(rng, 38, 4), 0.1),
        "ratio": column(pa.float64(), lambda: random_double(rng), 0.1),
        "share": column(pa.float64(), lambda: random_double(rng), 0.0, 30),
        "weight": column(pa.float32(), lambda: random_single(rng), 0.1),
        "grade": column(pa.float32(), lambda: random_single(rng), 0.1, 30),
        "open": column(pa.bool_(), lambda: rng.random() < 0.3, 0.2),
        "day": column(pa.date32(), lambda: random_moment(rng).date(), 0.1),
        "at": column(pa.timestamp("us"), lambda: random_moment(rng), 0.1),
        "na\u00efve \"at\"": column(pa.timestamp("us"), lambda: random_moment(rng), 0.5, 25),
        "nothing": pa.nulls(rows, pa.string()),
    })


def float_table(rng: random.Random, rows: int) -> pa.Table:
    """Floats of both widths with long runs of NaN, infinities, both zeros and nulls."""
    odd = [float("nan"), float("nan"), float("inf"), float("-inf"), 0.0, -0.0, None]

    def column(kind: pa.DataType, make: Callable[[], Any], share: float) -> pa.Array:
        return pa.array([rng.choice(odd) if rng.random() < share else make() for _ in range(rows)], type=kind)

    def tenths() -> float:
        return single(rng.randint(-50, 50) / 10)

    return pa.table({
        "id": pa.array(range(rows), type=pa.int64()),
        "ratio": column(pa.float64(), lambda: random_double(rng), 0.6),
        "weight": column(pa.float32(), lambda: random_single(rng), 0.6),
        "grade": column(pa.float32(), tenths, 0.3),
        "no number": pa.array([rng.choice([float("nan"), None]) for _ in range(rows)], type=pa.float64()),
        "nan alone": pa.array([float("nan")] * rows, type=pa.float32()),
        "ascending": pa.array([single(row / 10) if row < rows // 2 else float("nan") for row in range(rows)], type=pa.float32()),
        "few": column(pa.float64(), lambda: rng.randint(-3, 3) / 2, 0.5),
    })


def single(value: float) -> float:
    """The nearest float32."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def random_text(rng: random.Random) -> str:
    """Mostly distinct texts with common prefixes, some beyond the Basic Multilingual Plane."""
    if rng.random() < 0.2:
        return rng.choice(TEXTS)
    letters = "".join(rng.choice("abAB01 \u00e9\ud55c\U0001f980\"\\") for _ in range(rng.randint(0, 12)))
    return rng.choice(["", "prefix ", "http://"]) + letters


def random_integer(rng: random.Random, low: int, high: int) -> int:
    """Small, arbitrary and extreme integers, including those of int64."""
    edges = [low, low + 1, high, high - 1, (1 << 53) + 1, (1 << 63) - 1, 1 << 63]
    near = rng.randint(max(low, -50), 50)
    chosen = rng.choice([near, near, rng.randint(low, high), rng.choice(edges)])
    return chosen if low <= chosen <= high else near


def random_decimal(rng: random.Random, precision: int, scale: int) -> decimal.Decimal:
    """Decimals of any magnitude, including the largest."""
    top = 10**precision - 1
    digits = rng.choice([rng.randint(-999, 999), rng.randint(-10**rng.randint(1, precision), 10**rng.randint(1, precision)), top, -top, 0])
    return decimal.Decimal(max(-top, min(top, digits))).scaleb(-scale, EXACT)


def random_double(rng: random.Random) -> float:
    """Quarters, arbitrary doubles, NaN and infinities."""
    special = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 1e16, 0.1, 1e-7]
    return rng.choice([rng.randint(-40, 40) / 4, rng.gauss(0, 1000), rng.choice(special)])


def random_single(rng: random.Random) -> float:
    """Tenths, arbitrary floats, NaN and infinities, as float32."""
    special = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-45, 3.4028234663852886e38, 16_777_217.0, 0.1, 1e-7, 1e16]
    return single(rng.choice([rng.randint(-400, 400) / 10, rng.gauss(0, 1000), rng.choice(special)]))


def random_moment(rng: random.Random) -> datetime.datetime:
    """Whole days, recent microseconds, and any time of the years 1 to 9999."""
    day = datetime.timedelta(days=rng.choice([rng.randint(*DAYS), rng.randint(-400, 400), rng.choice(DAYS)]))
    time = datetime.timedelta(microseconds=rng.choice([0, rng.randrange(86_400_000_000), 86_399_999_999]))
    return EPOCH + day + time


def write_order_lines(path: Path, seed: int, rows: int) -> None:
    """Order lines with the columns of TPC-H and similar values: an ascending key with repetitions, flags, prices, close
    dates, comments."""
    def pick(name: str, count: int) -> str:
        return f"(hash(i * 31 + {seed}, '{name}') % {count})::INT"

    def one_of(name: str, *words: str) -> str:
        return f"[{', '.join(repr(word) for word in words)}][1 + {pick(name, len(words))}]"

    shipped = f"DATE '1992-01-01' + (i * 2400 // {max(rows, 1)})::INT + {pick('ship', 90)}"
    duckdb.connect().execute(f"""
        COPY (SELECT
            1 + i // 4 * 8 AS l_orderkey,
            1 + {pick('part', 2000)}::BIGINT AS l_partkey,
            1 + {pick('supplier', 100)}::BIGINT AS l_suppkey,
            1 + (i % 4)::INT AS l_linenumber,
            (1 + {pick('quantity', 50)})::DECIMAL(15, 2) AS l_quantity,
            ({pick('price', 10_000_000)} / 100)::DECIMAL(15, 2) AS l_extendedprice,
            ({pick('discount', 11)} / 100)::DECIMAL(15, 2) AS l_discount,
            ({pick('tax', 9)} / 100)::DECIMAL(15, 2) AS l_tax,
            {one_of('flag', 'A', 'N', 'R')} AS l_returnflag,
            {one_of('status', 'F', 'O')} AS l_linestatus,
            {shipped} AS l_shipdate,
            {shipped} + {pick('commit', 60)} - 30 AS l_commitdate,
            {shipped} + 1 + {pick('receipt', 30)} AS l_receiptdate,
            {one_of('instruct', 'DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN')} AS l_shipinstruct,
            {one_of('mode', 'AIR', 'REG AIR', 'FOB', 'MAIL', 'RAIL', 'SHIP', 'TRUCK')} AS l_shipmode,
            {one_of('adverb', 'quickly', 'slyly', 'furiously')} || ' ' || {one_of('noun', 'deposits', 'packages', 'accounts')}
                || ' ' || {pick('tail', 100_000)} AS l_comment
            FROM range({rows}) AS range(i) ORDER BY i)
        TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 50000)""")
