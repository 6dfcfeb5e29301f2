#!/usr/bin/env python3
"""Exports files of one column with missing values as CSV, and reads them back with the default settings of DuckDB and pandas,
and as records: every row must be there, and exactly the missing values must be missing.

    python csv_out.py --tools target/release/mercato-tools

A spreadsheet shows a record of one empty field as an empty cell, and passes over no record, so `csv` stands for it.
Exit code 0 only if every reader sees the same.
"""

import argparse
import csv
import datetime
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

# DuckDB infers quotes and types from the first 20,480 rows.
ROWS = 45_000
TYPES = {
    "integers": (pa.int64(), lambda number: number * 7 + 1),
    "doubles": (pa.float64(), lambda number: number + 0.5),
    "decimals": (pa.decimal128(12, 2), lambda number: Decimal(number) + Decimal("0.25")),
    "booleans": (pa.bool_(), lambda number: number % 2 == 0),
    "days": (pa.date32(), lambda number: datetime.date(2000, 1, 1) + datetime.timedelta(days=number % 9_000)),
    "texts": (pa.string(), lambda number: f"text {number}"),
    "repeated texts": (pa.string(), lambda number: f"text {number % 5}"),
}
MISSING = {
    "the first": lambda number: number == 0,
    "some": lambda number: number % 9 == 4,
    "a late one": lambda number: number == ROWS - 3,
    "the last": lambda number: number == ROWS - 1,
    "all": lambda number: True,
}


def check(what: str, found: list[bool], expected: list[bool]) -> None:
    """Compares which rows have no value."""
    if found != expected:
        sys.exit(f"{what}: {len(found)} rows, {sum(found)} missing; expected {len(expected)} and {sum(expected)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, type=lambda text: Path(text).resolve())
    tools = parser.parse_args().tools
    files = 0
    with tempfile.TemporaryDirectory() as name:
        source, store, out = (Path(name) / file for file in ["in.parquet", "t.mcol", "out.csv"])
        for kind, (arrow, value) in TYPES.items():
            for where, is_missing in MISSING.items():
                expected = [is_missing(number) for number in range(ROWS)]
                values = [None if missing else value(number) for number, missing in enumerate(expected)]
                pq.write_table(pa.table({"v": pa.array(values, arrow)}), source)
                for command in (["convert", source, "--output", store, "--force"],
                                ["export", store, "--format", "csv", "--output", out, "--force"]):
                    done = subprocess.run([tools, *command], capture_output=True, text=True)
                    if done.returncode:
                        sys.exit(f"{command}: {done.stderr}")
                what = f"{kind}, {where} missing"
                with out.open(newline="", encoding="utf-8") as file:
                    records = list(csv.reader(file))
                if records[0] != ["v"] or any(len(record) != 1 for record in records):
                    sys.exit(f"{what}: a record has not one field")
                check(f"{what}: records", [record == [""] for record in records[1:]], expected)
                frame = pandas.read_csv(out)
                check(f"{what}: pandas", frame["v"].isna().tolist(), expected)
                rows = duckdb.sql(f"SELECT v FROM read_csv('{out}', header = true)").fetchall()
                check(f"{what}: DuckDB", [row[0] is None for row in rows], expected)
                files += 1
    print(f"{files} files of one column have the same {ROWS} rows for DuckDB, pandas and as records")


if __name__ == "__main__":
    main()
