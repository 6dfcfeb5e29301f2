#!/usr/bin/env python3
"""Writes Arrow IPC with pyarrow in all its types, as files and as streams, plain, LZ4 and ZSTD, with dictionaries that
grow and that are replaced; converts each with mercato-tools, exports NDJSON, and compares every value with the source.

    python arrow_inputs.py --tools target/release/mercato-tools [--seed N] [--rows N]

Exit code 0 only if every value agrees.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc

import parquet_round_trip as source

# Arrow keeps the seconds that Parquet does not have.
source.stored = lambda units, unit: (units, unit)


def dictionaries(rng: random.Random, count: int) -> dict[str, pa.Array]:
    """Columns of dictionaries beside those of the other types."""
    words = [None if rng.random() < 0.1 else rng.choice(source.WORDS) for _ in range(count)]
    narrow = pa.dictionary(pa.int8(), pa.string())
    keys = pa.array([rng.choice([0, 1, 2, None]) for _ in range(count)], pa.int16())
    holed = pa.DictionaryArray.from_arrays(keys, pa.array(["x", None, "y"]))
    numbers = pa.array([rng.randint(0, 9) for _ in range(count)], pa.int64()).dictionary_encode()
    return {"narrow": pa.array(words, pa.string()).cast(narrow), "holed": holed, "keyed numbers": numbers}


def variants(table: pa.Table) -> Iterator[tuple[str, str, pa.ipc.IpcWriteOptions, int]]:
    """A label, the kind, the options, and rows of a batch."""
    for kind in ("file", "stream"):
        for compression in (None, "lz4", "zstd"):
            for rows in (7, 1_000_000):
                options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=kind == "file")
                yield f"{kind}, {compression}, batches of {rows}", kind, options, rows
    yield "old metadata", "stream", pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4), 100
    yield "legacy frames", "stream", pa.ipc.IpcWriteOptions(use_legacy_format=True), 100
    yield "growing dictionaries", "stream", pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True), 100


def write(path: Path, table: pa.Table, kind: str, options: pa.ipc.IpcWriteOptions, rows: int) -> None:
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def check(tools: str, label: str, path: Path, wanted: dict[str, list[Any]], rows: int) -> int:
    store = path.with_suffix(".mcol")
    source.run(tools, "convert", path, "--output", store, "--force")
    lines = source.run(tools, "export", store, "--format", "ndjson", "--output", "/dev/stdout").decode().split("\n")[:-1]
    if len(lines) != rows:
        raise SystemExit(f"{label}: {len(lines)} rows, expected {rows}")
    found = [source.parse(line) for line in lines]
    for name, values in wanted.items():
        for row, (line, value) in enumerate(zip(found, values)):
            if not source.same(line[name], value):
                raise SystemExit(f"{label}: column {name!r}, row {row}: found {line[name]!r}, the source has {value!r}")
    if found and set(found[0]) != set(wanted):
        raise SystemExit(f"{label}: columns {sorted(found[0])}, expected {sorted(wanted)}")
    return rows * len(wanted)


def columns(table: pa.Table) -> dict[str, list[Any]]:
    """The values that the export has, by column."""
    wanted: dict[str, list[Any]] = {}
    for name in table.column_names:
        array = table.column(name).combine_chunks()
        wanted |= dict(source.flatten(name, array))
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    values = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (0, 1, arguments.rows):
            made = source.flat_columns(rng, count) | source.nested_columns(rng, count) | dictionaries(rng, count)
            table = pa.table(made)
            wanted = columns(table)
            for label, kind, options, rows in variants(table):
                path = folder / ("table.arrow" if kind == "file" else "table.arrows")
                write(path, table, kind, options, rows)
                values += check(arguments.tools, f"{label}, {count} rows", path, wanted, count)
            path = folder / "table.feather"
            pyarrow.feather.write_feather(table, path)
            values += check(arguments.tools, f"Feather, {count} rows", path, wanted, count)
        # A dictionary of each batch replaces the one before.
        parts = [pa.array(["a", "b", "a"]).dictionary_encode(), pa.array(["c", None, "d", "c"]).dictionary_encode()]
        replaced = pa.table({"d": pa.chunked_array(parts)})
        path = folder / "replaced.arrows"
        write(path, replaced, "stream", pa.ipc.IpcWriteOptions(), 100)
        values += check(arguments.tools, "replaced dictionaries", path, {"d": ["a", "b", "a", "c", None, "d", "c"]}, 7)
    print(f"{values} values: all agree (pyarrow {pa.__version__})")


if __name__ == "__main__":
    main()
