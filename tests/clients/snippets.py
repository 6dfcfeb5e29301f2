"""The commands of the Explore page as a person pastes them: each runs in a shell as it stands, and all give the same rows.

    python snippets.py --binaries target/debug

Takes pandas, Polars and pyarrow. The programs for R run where Rscript is. Exit code 0 only without a fault.
"""

import argparse
import ast
import csv
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from marketplace import Marketplace

VIEW = ("/datasets/tpch-orders/explore?filter=o_clerk&test=contains&value=00&filter=o_orderkey&test=lte&value=12000"
        "&filter=o_clerk&test=startsWith&value=Clerk&sort=o_orderkey&direction=desc&columns=1,3,7")
CLIENT = Path(__file__).parents[2] / "clients" / "python" / "src"
SECONDS_MAX = 120

Row = dict[str, Any]


def rows_of_curl(text: str) -> list[Row]:
    """The rows of a page of the API."""
    rows: list[Row] = json.loads(text)["data"]["results"]
    return rows


def rows_of_csv(text: str) -> list[Row]:
    """The rows of a CSV file, whose first column holds integers."""
    rows: list[Row] = list(csv.DictReader(io.StringIO(text)))
    return [row | {"o_orderkey": int(row["o_orderkey"])} for row in rows]


def rows_of_python(text: str) -> list[Row]:
    """The rows that a loop printed."""
    return [ast.literal_eval(line) for line in text.splitlines()]


def rows_of_json(text: str) -> list[Row]:
    """The rows of a JSON document."""
    rows: list[Row] = json.loads(text)
    return rows


# What a program prints, instead of a table for people.
PRINTED = {
    "curl": (None, "", rows_of_curl),
    "csv": ("-o 'tpch-orders.csv'", "-o -", rows_of_csv),
    "python": (None, "", rows_of_python),
    "pandas": ("print(frame)", "print(frame.to_json(orient='records'))", rows_of_json),
    "polars": ("print(frame)", "print(frame.write_json())", rows_of_json),
    "r": ("print(rows)", "write.csv(rows, row.names = FALSE)", rows_of_csv),
}


def run(market: Marketplace, folder: Path, command: str) -> str:
    """What a shell prints for a command, with the key in its environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"MERCATO_KEY": market.key, "PYTHONPATH": str(CLIENT), "PATH": path}
    outcome = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
                             timeout=SECONDS_MAX, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"exit {outcome.returncode}: {outcome.stderr}\n{command}")
    return outcome.stdout


def main() -> int:
    """Runs each command of a view."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    arguments = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name, Marketplace(arguments.binaries.resolve(), Path(name)) as market:
        page = market.read(VIEW).decode()
        found = re.findall(r'<code id="([a-z]+)-text">(.*?)</code>', page, re.DOTALL)
        commands = {tab: html.unescape(text) for tab, text in found}
        wanted: list[Row] = []
        for tab, (printed, instead, rows_of) in PRINTED.items():
            command = commands[tab]
            if not command.startswith("export MERCATO_KEY="):
                faults.append(f"{tab}: begins with {command[:40]!r}")
            if tab == "r" and shutil.which("Rscript") is None:
                print("r: there is no Rscript here")
                continue
            if printed is not None and printed not in command:
                raise SystemExit(f"{tab} does not have {printed}:\n{command}")
            rows = rows_of(run(market, Path(name), command.replace(printed, instead) if printed else command))
            wanted = wanted or rows
            print(f"{tab}: {len(rows)} rows")
            if rows != wanted or not rows:
                faults.append(f"{tab}: {rows[:3]} where curl has {wanted[:3]}")
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
