#!/usr/bin/env python3
"""Writes random tables as CSV (by Python and by pyarrow) and as NDJSON, plain, gzip and zstd, converts each with
mercato-tools, exports NDJSON, and compares every value with the file as pyarrow reads it.

    python text_inputs.py --tools target/release/mercato-tools [--seed N] [--rows N]

Exit code 0 only if every value agrees.
"""

import argparse
import csv
import datetime
import decimal
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

WORDS = ["a", "è", "\"quoted\"", "com,ma", "semi;colon", "line\nbreak", "crlf\r\nbreak", "tab\there", "🦀", " space ", "back\\slash"]
TYPES = {
    "id": pa.int64(),
    "price": pa.decimal128(12, 2),
    "ratio": pa.float64(),
    "open": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us", tz="UTC"),
    "zip": pa.string(),
    "name": pa.string(),
}


def row(generate):
    """Values by column as texts; None is null."""
    values = {
        "id": str(generate.randint(-(2**62), 2**62)),
        "price": f"{generate.randint(-10**6, 10**6)}.{generate.randint(0, 99):02}",
        "ratio": repr(generate.uniform(-1, 1) * 10 ** generate.randint(-12, 12)),
        "open": generate.choice(["true", "false"]),
        "day": str(datetime.date(1600, 1, 1) + datetime.timedelta(days=generate.randint(0, 250_000))),
        "at": f"20{generate.randint(10, 37)}-0{generate.randint(1, 9)}-1{generate.randint(0, 9)}T1{generate.randint(0, 9)}:30:59.{generate.randint(0, 999_999):06}Z",
        "zip": f"0{generate.randint(0, 9999):04}",
        "name": "x" + "".join(generate.choice(WORDS) for _ in range(generate.randint(0, 4))),
    }
    return {name: None if generate.random() < 0.1 else value for name, value in values.items()}


def write_csv(path, rows, end):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=end, quoting=csv.QUOTE_MINIMAL)
        writer.writerow(TYPES)
        writer.writerows([row[name] for name in TYPES] for row in rows)


def write_ndjson(path, rows):
    typed = {"id", "price", "ratio", "open"}
    with path.open("w", encoding="utf-8") as file:
        for line in rows:
            members = (f"{json.dumps(name)}: {text if name in typed else json.dumps(text)}"
                       for name, text in line.items() if text is not None)
            file.write("{" + ", ".join(members) + "}\n")


def expected(table):
    """The values of a table as pyarrow read it."""
    return table.to_pylist()


def found(tools, path, folder):
    """The values of a file as it is exported after its conversion."""
    store = folder / "out.mcol"
    subprocess.run([tools, "convert", path, "--output", store, "--force"], check=True, capture_output=True)
    done = subprocess.run([tools, "export", store, "--format", "ndjson", "--output", "/dev/stdout"], check=True, capture_output=True)
    return [json.loads(line, parse_float=decimal.Decimal) for line in done.stdout.decode().split("\n")[:-1]]


def same(name, value, text):
    """Whether a value of pyarrow and one of the export are the same."""
    if value is None or text is None:
        return value is text
    if name == "ratio":
        return value == float(text)
    if name == "price":
        return str(value) == str(text)
    if name == "day":
        return str(value) == text
    if name == "at":
        return value == datetime.datetime.fromisoformat(text)
    return value == text


def check(what, table, rows):
    if len(table) != len(rows):
        sys.exit(f"{what}: {len(rows)} rows, expected {len(table)}")
    for number, (one, other) in enumerate(zip(table, rows)):
        for name in TYPES:
            if not same(name, one[name], other.get(name)):
                sys.exit(f"{what}: row {number}, {name}: {other.get(name)!r}, expected {one[name]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=5_000)
    arguments = parser.parse_args()
    generate = random.Random(arguments.seed)
    rows = [row(generate) for _ in range(arguments.rows)]
    options = pacsv.ConvertOptions(column_types=TYPES, strings_can_be_null=True, quoted_strings_can_be_null=False,
                                   null_values=[""], timestamp_parsers=[pacsv.ISO8601])
    files = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for end in ["\n", "\r\n"]:
            path = folder / "a.csv"
            write_csv(path, rows, end)
            table = pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True), convert_options=options)
            check(f"CSV with {end!r}", expected(table), found(arguments.tools, path, folder))
            for codec, ending in [("gzip", "gz"), ("zstd", "zst")]:
                packed = folder / f"a.csv.{ending}"
                with pa.CompressedOutputStream(str(packed), codec) as out:
                    out.write(path.read_bytes())
                check(f"CSV in {codec}", expected(table), found(arguments.tools, packed, folder))
            again = folder / "b.csv"
            pacsv.write_csv(table, again)
            check("CSV of pyarrow", expected(table), found(arguments.tools, again, folder))
            files += 4
        path = folder / "a.ndjson"
        write_ndjson(path, rows)
        check("NDJSON", expected(table), found(arguments.tools, path, folder))
    print(f"{files + 1} files of {arguments.rows} rows agree with pyarrow")


if __name__ == "__main__":
    main()
