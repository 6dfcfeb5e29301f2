#!/usr/bin/env python3
"""Packs the Python client, installs it into an empty environment, and runs its tests there against real servers.

    python python_client.py --binaries target/debug

Exit code 0 only if the package holds what it should, its types and style are right, and all tests pass: those beside a
server in memory, and those beside real ones, with cut connections, exhausted limits and the snippets of its README.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from marketplace import Marketplace

CLIENT = Path(__file__).parent.parent.parent / "clients" / "python"
REQUESTS_PER_MINUTE = 6
POOR_CREDITS = 500
FREE_QUERIES = 100
EVERYTHING_ROWS = 3_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True, help="folder with mercato and mercato-tools")
    binaries = parser.parse_args().binaries.resolve()
    with tempfile.TemporaryDirectory(prefix="mercato-python-") as folder:
        check(binaries, Path(folder))
    return 0


def check(binaries: Path, folder: Path) -> None:
    wheel = packed(folder / "wheel")
    print(f"{wheel.name} holds {contents(wheel)} files")
    python = environment(folder / "venv")
    install(python, str(wheel))
    run(python, "-c", ALONE, where=folder)
    print("works alone")
    install(python, f"{wheel}[arrow,polars,pandas,fsspec]", "-r", str(CLIENT / "tests" / "requirements.txt"))
    run(python, "-m", "mypy", "--cache-dir", str(folder / "mypy"), where=CLIENT)
    run(python, "-m", "ruff", "check", "--no-cache", ".", where=CLIENT)
    run(python, "generate.py", "--check", where=CLIENT)
    check_types_of_snippets(python, folder)
    with_servers(binaries, folder, python)


def check_types_of_snippets(python: Path, folder: Path) -> None:
    """The snippets of the README, as a program of somebody who has installed the package and is strict about types."""
    snippets = re.findall(r"^```python\n(.*?)^```", (CLIENT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (folder / "buyer").mkdir()
    (folder / "buyer" / "program.py").write_text("\n".join(snippets))
    run(python, "-m", "mypy", "--strict", "--cache-dir", str(folder / "mypy-buyer"), "program.py", where=folder / "buyer")


def with_servers(binaries: Path, folder: Path, python: Path) -> None:
    """Runs all tests beside a server without request limits, and one with few requests a minute."""
    (folder / "shop").mkdir()
    market = Marketplace(binaries, folder / "shop", free_queries=FREE_QUERIES)
    everything = folder / "everything.parquet"
    pq.write_table(table_of_every_type(), everything)
    market.publish("everything", everything)
    live = {"key": market.key, "free_key": market.another_key(), "poor_key": market.another_key(POOR_CREDITS),
            "everything": str(everything)}
    limited = market.copy(folder / "limited", REQUESTS_PER_MINUTE)
    with market, limited:
        live |= {"url": market.url, "limited_url": limited.url}
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", where=CLIENT, MERCATO_LIVE=json.dumps(live))
        errors = market.server_errors() + limited.server_errors()
    if errors:
        raise SystemExit("errors in the log of the server:\n" + "\n".join(errors[:5]))


# What must work with nothing but httpx.
ALONE = """
import importlib.util, sys
import mercato, mercato.cli
assert all(importlib.util.find_spec(name) is None for name in ("pyarrow", "pandas", "polars", "fsspec")), "not empty"
client = mercato.Client("http://127.0.0.1:1", "mk_a", retry=mercato.RetryPolicy(tries=1))
try:
    client.dataset("a").query().to_arrow()
except mercato.MissingExtra as error:
    assert "mercato[arrow]" in str(error), error
else:
    raise SystemExit("a table without pyarrow")
try:
    client.filesystem()
except mercato.MissingExtra as error:
    assert "mercato[fsspec]" in str(error), error
else:
    raise SystemExit("files without fsspec")
try:
    client.account()
except mercato.ConnectionError as error:
    assert str(error).startswith("http://127.0.0.1:1: "), error
else:
    raise SystemExit("an answer from nowhere")
"""


def packed(folder: Path) -> Path:
    """The wheel."""
    run(Path(sys.executable), "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(CLIENT))
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{len(wheels)} wheels in place of one")
    return wheels[0]


def contents(wheel: Path) -> int:
    """Checks that the wheel has all sources, the mark of types, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    wanted = {path.relative_to(CLIENT / "src").as_posix() for path in (CLIENT / "src").rglob("*")
              if path.is_file() and "__pycache__" not in path.parts}
    if names != wanted or "mercato/py.typed" not in names:
        raise SystemExit(f"the wheel differs from the sources: {sorted(names ^ wanted)}")
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    if needed != ["Requires-Dist: httpx>=0.27"]:
        raise SystemExit(f"the package needs {needed}")
    return len(names)


def environment(folder: Path) -> Path:
    """An empty environment. It has no pip of its own, which some systems cannot make."""
    run(Path(sys.executable), "-m", "venv", "--without-pip", str(folder))
    return folder / "bin" / "python"


def install(python: Path, *what: str) -> None:
    run(Path(sys.executable), "-m", "pip", "--python", str(python), "install", "--quiet", *what)


def run(python: Path, *words: str, where: Path | None = None, **variables: str) -> None:
    outcome = subprocess.run([python, *words], cwd=where, stdin=subprocess.DEVNULL, check=False, env=os.environ | variables)
    if outcome.returncode != 0:
        raise SystemExit(f"{' '.join(words[:3])}: exit {outcome.returncode}")


def table_of_every_type() -> pa.Table:
    """A column of each type that a client tells apart, with nulls and extremes."""
    rows = range(EVERYTHING_ROWS)
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)

    def column(kind: pa.DataType, make: object, null_at: int = 7) -> pa.Array:
        return pa.array([None if row % null_at == 3 else make(row) for row in rows], kind)  # type: ignore[operator]

    return pa.table({
        "number": pa.array(list(rows), pa.int64()),
        "small": column(pa.int8(), lambda row: row % 256 - 128),
        "wide": column(pa.int64(), lambda row: (-1) ** row * (2**63 - 1 - row)),
        "unsigned": column(pa.uint64(), lambda row: 2**64 - 1 - row),
        "price": column(pa.decimal128(12, 2), lambda row: Decimal(row * 5) / 100),
        "long_price": column(pa.decimal128(38, 10), lambda row: Decimal(row).scaleb(20) + Decimal("0.1234567890")),
        "double": column(pa.float64(), lambda row: float("nan") if row == 0 else float("inf") if row == 1 else row / 7),
        "single": column(pa.float32(), lambda row: row / 8),
        "flag": column(pa.bool_(), lambda row: row % 2 == 0),
        "day": column(pa.date32(), lambda row: date(1969, 12, 1) + timedelta(days=row)),
        "seconds": column(pa.timestamp("ms", "UTC"), lambda row: epoch + timedelta(milliseconds=row * 86_399_123)),
        "micros": column(pa.timestamp("us", "UTC"), lambda row: epoch - timedelta(microseconds=row * 7_777_777)),
        "local": column(pa.timestamp("us"), lambda row: datetime(2000, 1, 1) + timedelta(microseconds=row)),
        "word": column(pa.string(), lambda row: ("", "è", '"quoted", twice', "line\nbreak")[row % 4]),
        "text": column(pa.string(), lambda row: f"text {row} \U0001f30d"),
    })


if __name__ == "__main__":
    sys.exit(main())
