#!/usr/bin/env python3
"""Writes Parquet with pyarrow in all its types, encodings and compressions, converts each file with mercato-tools,
exports NDJSON, and compares every value with the file as pyarrow reads it.

    python parquet_round_trip.py --tools target/release/mercato-tools [--seed N] [--rows N]

Exit code 0 only if every value agrees.
"""

import argparse
import base64
import datetime
import decimal
import itertools
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

UNITS = {"s": (1, 0), "ms": (10**3, 3), "us": (10**6, 6), "ns": (10**9, 9)}
COMPRESSIONS = ["NONE", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"]
WORDS = ["", "a", "è", "\"quoted\"", "back\\slash", "line\nbreak", "tab\t", "\u0000\u001f\u007f", "🦀", "NULL", "plain words"]


class Number(str):
    """A JSON number with its original digits."""


class Floating(float):
    """A finite float of 16, 32 or 64 bits: its text must read back the same at its width."""

    def __new__(cls, value, code):
        made = super().__new__(cls, value)
        made.code = code
        return made

    def reads_back_from(self, text):
        return struct.unpack(self.code, struct.pack(self.code, float(text)))[0] == self


# Expected values of the export. -----------------------------------------------

def expected(array):
    """The expected values of a top-level column in the export."""
    kind = array.type
    if nested(kind):
        return [None if value is None else as_json(value) for value in inner(array)]
    return inner(array)


def nested(kind):
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
            or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind) or pa.types.is_map(kind))


def inner(array):
    """The values of an Arrow array as Python objects that compare exactly: numbers as text."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return [None if v is None else str(v) for v in array.to_pylist()]
        return inner(array.storage)
    if pa.types.is_dictionary(kind):
        return inner(array.dictionary_decode())
    if pa.types.is_null(kind):
        return [None] * len(array)
    if pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return array.to_pylist()
    if pa.types.is_integer(kind):
        return [None if v is None else Number(v) for v in array.to_pylist()]
    if pa.types.is_floating(kind):
        code = "e" if pa.types.is_float16(kind) else "f" if pa.types.is_float32(kind) else "d"
        return [None if v is None or not math.isfinite(v) else Floating(v, code) for v in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if v is None else Number(scaled(v, kind.scale)) for v in array.to_pylist()]
    if pa.types.is_date(kind):
        return [None if v is None else v.isoformat() for v in array.to_pylist()]
    if pa.types.is_duration(kind):
        return [None if v is None else Number(v) for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(kind):
        return [None if v is None else moment(v, kind.unit) for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(kind):
        width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return [None if v is None else time_of_day(v, kind.unit) for v in array.cast(width).to_pylist()]
    if pa.types.is_struct(kind):
        fields = [(field.name, inner(array.field(index))) for index, field in enumerate(kind)]
        return [None if not valid else {name: values[row] for name, values in fields}
                for row, valid in enumerate(array.is_valid().to_pylist())]
    if pa.types.is_map(kind):
        keyed = pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type)
        return [None if value is None else pairs(value, keyed) for value in slices(array, lambda a: list(zip(inner(a.field(0)), inner(a.field(1)))))]
    if nested(kind):
        return slices(array, inner)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or kind == pa.binary_view():
        return [None if v is None else base64.b64encode(v).decode() for v in array.to_pylist()]
    raise SystemExit(f"no expectation for type {kind}")


def slices(array, convert):
    """The items of each list, one scalar at a time: slow but obviously correct."""
    return [convert(array[row].values) if array[row].is_valid else None for row in range(len(array))]


def pairs(items, keyed):
    return dict(items) if keyed else [{"key": key, "value": value} for key, value in items]


def scaled(value, scale):
    with decimal.localcontext() as context:
        context.prec = 100
        return format(value.quantize(decimal.Decimal(1).scaleb(-scale)), "f")


def moment(units, unit):
    units, unit = stored(units, unit)
    per_second, digits = UNITS[unit]
    second, fraction = divmod(units, per_second)
    shown = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)).strftime("%m-%dT%H:%M:%S")
    year = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)).year
    return f"{year:04}-{shown}" + (f".{fraction:0{digits}}" if digits else "") + "Z"


def stored(units, unit):
    """Parquet has no unit of seconds: pyarrow writes milliseconds and keeps the unit in its own schema."""
    return (units * 1000, "ms") if unit == "s" else (units, unit)


def time_of_day(units, unit):
    units, unit = stored(units, unit)
    per_second, digits = UNITS[unit]
    second, fraction = divmod(units, per_second)
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" + (f".{fraction:0{digits}}" if digits else "")


def as_json(value):
    """Nested values are JSON text, compared after parsing, with numbers as text."""
    return ("json", value)


def same(found, wanted):
    if isinstance(wanted, tuple):
        return isinstance(found, str) and same(parse(found), wanted[1])
    if isinstance(wanted, Floating):
        return isinstance(found, Number) and wanted.reads_back_from(found)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, dict):
        return isinstance(found, dict) and list(found) == list(wanted) and all(same(found[k], wanted[k]) for k in wanted)
    return type(found) is type(wanted) and found == wanted


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


# Written values. ---------------------------------------------------------------------------------------------

def sometimes(rng, count, make):
    """`count` values, some of them null, some repeated."""
    pool = [make() for _ in range(max(1, count // 3))]
    return [None if rng.random() < 0.15 else (rng.choice(pool) if rng.random() < 0.5 else make()) for _ in range(count)]


def flat_columns(rng, count):
    def column(make, kind):
        return pa.array(sometimes(rng, count, make), type=kind)

    def integer(bits, signed):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return lambda: rng.choice([low, high, 0, 1, rng.randint(low, high), rng.randint(max(low, -9), 9)])

    def number():
        return rng.choice([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e300, 5e-324, rng.uniform(-1e6, 1e6)])

    def digits(precision, scale):
        top = 10**precision - 1
        return lambda: decimal.Decimal(rng.choice([0, top, -top, rng.randint(-top, top)])).scaleb(-scale, decimal.Context(prec=100))

    def units(kind, seconds, unit):
        per_second = UNITS[unit][0]
        values = sometimes(rng, count, lambda: rng.randint(seconds[0] * per_second, seconds[1] * per_second))
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, type=width).cast(kind)

    columns = {"boolean": column(lambda: rng.random() < 0.5, pa.bool_())}
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = column(integer(bits, True), getattr(pa, f"int{bits}")())
        columns[f"uint{bits}"] = column(integer(bits, False), getattr(pa, f"uint{bits}")())
    columns["half"] = column(lambda: rng.choice([0.5, -2.0, 65504.0, math.nan, math.inf]), pa.float16())
    columns["float"] = column(lambda: rng.choice([0.1, -0.0, 3.4e38, math.nan, rng.uniform(-1, 1)]), pa.float32())
    columns["double"] = column(number, pa.float64())
    for name, kind in {"decimal32": pa.decimal32(9, 2), "decimal64": pa.decimal64(18, 5), "decimal128": pa.decimal128(38, 10),
                       "small decimal128": pa.decimal128(5, 0), "decimal256": pa.decimal256(38, 20)}.items():
        columns[name] = column(digits(kind.precision, kind.scale), kind)
    day = (-719_162 + 366, 2_932_896)
    columns["date32"] = pa.array(sometimes(rng, count, lambda: rng.randint(*day)), type=pa.int32()).cast(pa.date32())
    columns["date64"] = columns["date32"].cast(pa.date64())
    years, near = (-62_000_000_000, 253_000_000_000), (-9_000_000_000, 9_000_000_000)
    for unit in UNITS:
        seconds = near if unit == "ns" else years
        columns[f"timestamp {unit}"] = units(pa.timestamp(unit), seconds, unit)
        columns[f"timestamp {unit} zone"] = units(pa.timestamp(unit, tz="Europe/Rome"), seconds, unit)
        columns[f"duration {unit}"] = units(pa.duration(unit), near, unit)
    for unit in ("s", "ms"):
        columns[f"time {unit}"] = units(pa.time32(unit), (0, 86_399), unit)
    for unit in ("us", "ns"):
        columns[f"time {unit}"] = units(pa.time64(unit), (0, 86_399), unit)
    for name, kind in {"string": pa.string(), "large string": pa.large_string(), "string view": pa.string_view()}.items():
        columns[name] = column(lambda: rng.choice(WORDS) * rng.randint(1, 3), kind)
    for name, kind in {"binary": pa.binary(), "large binary": pa.large_binary(), "binary view": pa.binary_view()}.items():
        columns[name] = column(lambda: rng.randbytes(rng.randint(0, 9)), kind)
    columns["fixed binary"] = column(lambda: rng.randbytes(5), pa.binary(5))
    columns["dictionary"] = column(lambda: rng.choice(WORDS), pa.string()).dictionary_encode()
    columns["null"] = pa.nulls(count)
    columns["uuid"] = column(lambda: uuid.UUID(int=rng.getrandbits(128)).bytes, pa.uuid())
    columns["json"] = column(lambda: json.dumps({"n": rng.randint(0, 9)}), pa.json_(pa.string()))
    columns["bool8"] = column(lambda: rng.randint(0, 1), pa.bool8())
    return columns


def nested_columns(rng, count):
    def maybe(make):
        return None if rng.random() < 0.2 else make()

    def many(make):
        return [maybe(make) for _ in range(rng.randint(0, 3))]

    amount, when = pa.decimal128(7, 2), pa.timestamp("ms", tz="UTC")
    record = pa.struct([("n", pa.int32()), ("when", when), ("raw", pa.binary()), ("amount", amount)])

    def make_record():
        return {"n": maybe(lambda: rng.randint(-9, 9)), "when": maybe(lambda: datetime.datetime(2020, 1, rng.randint(1, 28), tzinfo=datetime.timezone.utc)),
                "raw": maybe(lambda: rng.randbytes(3)), "amount": maybe(lambda: decimal.Decimal(rng.randint(-999, 999)).scaleb(-2))}

    def word():
        return rng.choice(WORDS)

    def column(make, kind):
        return pa.array([maybe(make) for _ in range(count)], type=kind)

    return {
        "list": column(lambda: many(lambda: rng.randint(0, 99)), pa.list_(pa.int64())),
        "large list": column(lambda: many(word), pa.large_list(pa.string())),
        "fixed list": column(lambda: [rng.random(), maybe(rng.random)], pa.list_(pa.float64(), 2)),
        "list of lists": column(lambda: many(lambda: many(lambda: rng.random() < 0.5)), pa.list_(pa.list_(pa.bool_()))),
        "list of records": column(lambda: many(make_record), pa.list_(record)),
        "map": column(lambda: [(w, rng.randint(0, 9)) for w in rng.sample(WORDS, 2)], pa.map_(pa.string(), pa.int32())),
        "map by number": column(lambda: [(rng.randint(0, 4), many(word))], pa.map_(pa.int32(), pa.list_(pa.string()))),
        "record": column(make_record, record),
        "record.in record": column(lambda: {"inner": maybe(make_record), "list": many(word)}, pa.struct([("inner", record), ("list", pa.list_(pa.string()))])),
    }


def encodings(kind):
    """The encodings that pyarrow writes for a type, without its dictionary."""
    choices = ["PLAIN"]
    if pa.types.is_boolean(kind):
        choices += ["RLE"]
    elif pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        choices += ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
    elif pa.types.is_floating(kind):
        choices += ["BYTE_STREAM_SPLIT"]
    elif pa.types.is_fixed_size_binary(kind):
        choices += ["DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        choices += ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    return choices


def variants(table, rng):
    """Writer options that cover every option, and every encoding with every type that supports it."""
    layouts = itertools.cycle(itertools.product(["1.0", "2.0"], [True, False], [True, False]))
    for compression in COMPRESSIONS:
        page_version, store_schema, checksum = next(layouts)
        yield f"dictionary {compression}", dict(
            compression=compression, use_dictionary=True, data_page_version=page_version, store_schema=store_schema,
            write_page_checksum=checksum, data_page_size=rng.choice([64, 1 << 20]), row_group_size=rng.choice([7, 50, 10_000]))
    flat = [field for field in table.schema if not nested(field.type) and not pa.types.is_struct(field.type)]
    for turn in range(3):
        chosen = {field.name: encodings(field.type)[turn % len(encodings(field.type))] for field in flat if "." not in field.name}
        page_version, store_schema, checksum = next(layouts)
        yield f"encodings {turn}", dict(
            compression=COMPRESSIONS[turn], use_dictionary=False, column_encoding=chosen, data_page_version=page_version,
            store_schema=store_schema, write_page_checksum=checksum, row_group_size=31)
    for version, unit in (("1.0", "ms"), ("2.4", "us"), ("2.6", None)):
        yield f"version {version}", dict(
            version=version, row_group_size=100, coerce_timestamps=unit, allow_truncated_timestamps=unit is not None)
    yield "int96", dict(use_deprecated_int96_timestamps=True)
    yield "decimals as integers", dict(store_decimal_as_integer=True, use_compliant_nested_type=False)
    yield "page index", dict(write_page_index=True, write_batch_size=5, data_page_size=1, dictionary_pagesize_limit=10)


# Files that pyarrow reads and does not write. -------------------------------------------------------------------

def patched(path, replace):
    """Replaces parts of the footer, each of which occurs once, and writes its new length."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    head, footer = data[:-8 - length], data[-8 - length:-8]
    for old, new in replace:
        if footer.count(old) != 1:
            raise SystemExit(f"{path}: {old.hex()} is in the footer {footer.count(old)} times: {footer.hex()}")
        footer = footer.replace(old, new)
    path.write_bytes(head + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def odd_files(folder):
    """The dictionary offset 0 of old writers, and repeated groups without the annotation of lists."""
    path = folder / "dictionary offset 0.parquet"
    pq.write_table(pa.table({"n": [1552] * 39}), path, compression="NONE", store_schema=False)
    offset = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    # Fields 9 and 11 of a chunk: the offset of its data, here that of its dictionary, and 0.
    patched(path, [(bytes([0x26, offset * 2, 0x26, 8]), bytes([0x26, 8, 0x26, 0]))])
    yield path
    path = folder / "repeated without annotation.parquet"
    phones = pa.array([None, [], [{"number": 5, "kind": "home"}, {"number": 6, "kind": None}]])
    pq.write_table(pa.table({"id": [1, 2, 3], "phones": phones}), path, store_schema=False)
    # The converted type LIST and the logical type LIST.
    patched(path, [(bytes.fromhex("15064c3c000000"), b"\0")])
    yield path


# The check. ---------------------------------------------------------------------------------------------------

def flatten(name, array):
    """Structs as columns with dotted names. A null struct makes all its leaves null."""
    if not pa.types.is_struct(array.type):
        yield name, expected(array)
        return
    valid = array.is_valid().to_pylist()
    for index, field in enumerate(array.type):
        for path, values in flatten(f"{name}.{field.name}", array.field(index)):
            yield path, [value if ok else None for value, ok in zip(values, valid)]


def run(*arguments):
    outcome = subprocess.run(arguments, capture_output=True)
    if outcome.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}: exit {outcome.returncode}: {outcome.stderr.decode()}")
    return outcome.stdout


def read(path, written):
    """The table as pyarrow reads it, or the written table where pyarrow cannot read its own file (26.0.1 loses rows of
    empty lists in pages without values)."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        return written
    return table if table.num_rows == written.num_rows else written


def check(tools, label, path, written):
    """Converts and exports one file. Returns the number of equal values, and exits at the first difference."""
    store = path.with_suffix(".mcol")
    run(tools, "convert", path, "--output", store, "--force", "--json")
    rows = [parse(line) for line in run(tools, "export", store, "--format", "ndjson").decode().split("\n") if line]
    table = read(path, written)
    wanted = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
        wanted.update(flatten(name, column))
    if len(rows) != table.num_rows:
        raise SystemExit(f"{label}: {table.num_rows} rows written, {len(rows)} exported")
    for row, found in enumerate(rows):
        if list(found) != list(wanted):
            raise SystemExit(f"{label}: columns {list(found)}, expected {list(wanted)}")
        for name, values in wanted.items():
            if not same(found[name], values[row]):
                raise SystemExit(f"{label}: column {name!r}, row {row}: found {found[name]!r}, pyarrow reads {values[row]!r}")
    return len(rows) * len(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", required=True, type=Path, help="the mercato-tools binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=120)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    files = values = 0
    with tempfile.TemporaryDirectory() as folder:
        for count in (0, 1, arguments.rows):
            columns = flat_columns(rng, count) | nested_columns(rng, count)
            table = pa.table(columns)
            for label, options in variants(table, rng):
                path = Path(folder) / "table.parquet"
                written = table
                if label == "int96":
                    # pyarrow writes INT96 only within the years that 64 bits of nanoseconds cover.
                    far = [f.name for f in table.schema if pa.types.is_timestamp(f.type) and f.type.unit != "ns"]
                    written = table.drop_columns(far)
                pq.write_table(written, path, **options)
                values += check(arguments.tools, f"{label}, {count} rows", path, written)
                files += 1
        for path in odd_files(Path(folder)):
            values += check(arguments.tools, path.stem, path, pq.read_table(path))
            files += 1
    print(f"{files} files, {values} values: all agree (pyarrow {pa.__version__}, seed {arguments.seed})")


if __name__ == "__main__":
    sys.exit(main())
