#!/usr/bin/env python3
"""Writes random tables as CSV (by Python and by pyarrow) and as NDJSON, plain, gzip and zstd, converts each with
mercato-tools, exports NDJSON, and compares every value with the file as pyarrow reads it. Then does the same with the
shapes of csv_shapes.py, beside DuckDB's sniffer, and prints one line for each.

    python text_inputs.py --tools target/release/mercato-tools [--seed N] [--rows N]

Exit code 0 only if every value agrees.
"""

import argparse
import csv
import datetime
import decimal
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import csv_shapes
import duckdb
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


def convert(tools, path, folder, options):
    """What the tool says, and the columns and rows that came out, if any did."""
    store = folder / "shape.mcol"
    store.unlink(missing_ok=True)
    done = subprocess.run([tools, "convert", path, "--output", store, *options], capture_output=True, text=True)
    if done.returncode != 0:
        if store.exists() or done.stderr.count("\n") > 1 and done.returncode == 1:
            sys.exit(f"{path}: a refusal left an output, or more than a line: {done.stderr}")
        return done.stderr, None
    out = subprocess.run([tools, "export", store, "--format", "ndjson", "--output", "/dev/stdout"], check=True, capture_output=True)
    facts = json.loads(subprocess.run([tools, "inspect", store, "--json"], check=True, capture_output=True).stdout)
    rows = [json.loads(line, parse_float=decimal.Decimal) for line in out.stdout.decode().split("\n")[:-1]]
    return done.stderr, ([column["name"] for column in facts["columns"]], [list(row.values()) for row in rows])


def same_cell(meant, cell):
    """Whether a cell is what is meant. Numbers may be meant as texts; dates always are."""
    if meant is None or cell is None or isinstance(meant, bool) or isinstance(cell, bool):
        return meant is cell
    if isinstance(cell, (datetime.date, datetime.datetime)):
        if isinstance(cell, datetime.datetime):
            cell = cell.astimezone(datetime.timezone.utc) if cell.tzinfo else cell
            return meant in (f"{cell:%Y-%m-%dT%H:%M:%S}Z", f"{cell:%Y-%m-%d}")
        return meant == str(cell)
    if isinstance(cell, datetime.time):
        return meant == f"{cell:%H:%M}"
    if isinstance(cell, str):
        return meant == cell
    if isinstance(cell, float) and cell != cell:
        return False
    try:
        return decimal.Decimal(str(meant)) == decimal.Decimal(str(cell))
    except decimal.InvalidOperation:
        return False


def same_table(shape, table):
    columns, rows = table
    return columns == shape.columns and len(rows) == len(shape.rows) and all(
        len(one) == len(other) and all(map(same_cell, one, other)) for one, other in zip(shape.rows, rows))


def of_duckdb(shape, path):
    """What DuckDB's sniffer makes of a file: right, refused, text or wrong."""
    if shape.ending not in ("csv", "tsv"):
        return "-"
    try:
        found = duckdb.connect().execute("SELECT * FROM read_csv(?)", [str(path)])
        table = [column[0] for column in found.description], [list(row) for row in found.fetchall()]
    except (duckdb.Error, UnicodeDecodeError):
        return "refused"
    # NaN and infinity are null in JSON, and DuckDB counts the columns without a name from 0.
    finite = lambda cell: None if isinstance(cell, float) and not math.isfinite(cell) else cell
    table = shape.columns if "--no-header" in shape.options else table[0], [[finite(cell) for cell in row] for row in table[1]]
    if not shape.can_be_read:
        return "read"
    if same_table(shape, table):
        return "right"
    columns, rows = table
    if columns == shape.columns and len(rows) == len(shape.rows) and all(
            same_cell(meant, cell) or isinstance(cell, str) for one, other in zip(shape.rows, rows) for meant, cell in zip(one, other)):
        return "text"
    return "wrong"


class Wrong(Exception):
    """A shape that is read wrong, or refused without the option that helps."""


def check_shape(tools, shape, folder):
    """What the tool makes of a file without options. With those of the shape, every value must be right."""
    path = folder / f"shape.{shape.ending}"
    path.write_bytes(shape.content)
    told, table = convert(tools, path, folder, [])
    if table is not None and shape.can_be_read and same_table(shape, table):
        verdict = "right"
    elif shape.says and shape.says in told:
        verdict = "refused" if table is None else "warned"
    else:
        raise Wrong(f"expected the values or `{shape.says}`; found {table} and {told}")
    if verdict == "warned" and not all(isinstance(cell, str) or same_cell(meant, cell)
                                       for one, other in zip(shape.rows, table[1]) for meant, cell in zip(one, other)):
        raise Wrong(f"read wrong, with a warning: {table}")
    if shape.options:
        told, table = convert(tools, path, folder, shape.options)
        if table is None or not same_table(shape, table):
            raise Wrong(f"with {shape.options}: found {table} and {told}")
    return verdict, of_duckdb(shape, path)


def check_shapes(tools, folder):
    shapes = list(csv_shapes.all_shapes())
    names = [shape.name for shape in shapes]
    assert len(set(names)) == len(names), "a name of a shape repeats"
    counts, wrong = {}, []
    print(f"{'shape':46} {'mercato':8} {'with':46} DuckDB's sniffer")
    for shape in shapes:
        try:
            ours, duckdbs = check_shape(tools, shape, folder)
        except Wrong as error:
            wrong.append(f"{shape.name}: {error}")
            continue
        options = " ".join(shape.options) if ours != "right" else ""
        print(f"{shape.name:46} {ours:8} {options:46} {duckdbs}")
        for who, verdict in [("mercato", ours), ("DuckDB", duckdbs)]:
            counts[who, verdict] = counts.get((who, verdict), 0) + 1
    for who in ["mercato", "DuckDB"]:
        print(f"{who}: " + ", ".join(f"{count} {verdict}" for (one, verdict), count in sorted(counts.items()) if one == who))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(shapes)} shapes: read right, or refused or warned of with the option that helps; none read wrong")


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
        check_shapes(arguments.tools, folder)
    print(f"{files + 1} files of {arguments.rows} rows agree with pyarrow")


if __name__ == "__main__":
    main()
