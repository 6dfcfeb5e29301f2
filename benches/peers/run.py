#!/usr/bin/env python3
"""mercato beside DuckDB, ClickHouse, PostgreSQL, ROAPI and Polars: the same Parquet, the same works, answers compared.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/peers/run.py --binaries target/release --json peers.json --table peers.md

Makes its own Python environment and data in --folder, and uses them again. Takes half an hour, with --quick five minutes.
Exit code 1 when an answer of ours is wrong or missing; missed aims stand in the table.
"""

import argparse
import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environment

if TYPE_CHECKING:
    from works import Work

HERE = Path(__file__).parent
PEERS = ("duckdb", "clickhouse", "postgresql", "roapi", "polars")
WORKS = ("W1", "W2k", "W2o", "W3", "W3s", "W4", "W5c", "W5p", "W5all", "W6", "W7", "W8", "W9", "W10")
LOADED_WORKS = ("W1", "W4")
POWER_FORMS = ("page", "count")
PACKAGES = {"duckdb": "duckdb", "clickhouse": "chdb", "roapi": "roapi", "polars": "polars", "postgresql": "asyncpg"}


def names(allowed: tuple[str, ...]) -> Any:
    """A reader of names separated by commas."""
    def read(text: str) -> list[str]:
        found = [name for name in text.split(",") if name]
        wrong = [name for name in found if name not in allowed]
        if wrong:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(wrong)}; known: {', '.join(allowed)}")
        return found
    return read


def arguments() -> argparse.Namespace:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--scale", type=float, help="scale factor of lineitem; 1 is six million rows (default 1, with --quick 0.1)")
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), help=f"of {','.join(PEERS)}; default all")
    parser.add_argument("--works", type=names(WORKS), default=list(WORKS), help=f"of {','.join(WORKS)}; default all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and fewer repetitions")
    parser.add_argument("--folder", type=Path, default=HERE.parent.parent / "target" / "peers",
                        help="where environment, data and stores are kept (default target/peers); about 4 GB at scale 1")
    parser.add_argument("--installed", action="store_true", help="use the packages of this Python; install nothing")
    parser.add_argument("--lock", type=Path, help="file whose exclusive lock is held while time is taken, at most two minutes on end")
    parser.add_argument("--memory-limit", type=float, default=10.0, metavar="GIB", help="a server above it is killed (default 10)")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--table", type=Path, help="file for the table in Markdown")
    return parser.parse_args()


def versions(peers: list[str]) -> dict[str, str]:
    """What the peers are."""
    found = {}
    for peer in peers:
        if peer == "postgresql":
            programs = environment.postgresql_programs()
            found["PostgreSQL"] = programs.parent.name if programs else "?"
        found[PACKAGES[peer]] = importlib.metadata.version(PACKAGES[peer])
    return found


def compare(options: argparse.Namespace) -> tuple[dict[str, Any], "list[Work]"]:
    """The whole comparison."""
    import machine
    import measure
    import peers
    import works
    from mercato import Mercato, MercatoPower
    from reference import Oracle

    effort = measure.QUICK if options.quick else measure.THOROUGH
    scale = options.scale or (0.1 if options.quick else 1.0)
    parquet = environment.lineitem(options.folder, scale)
    oracle = Oracle(parquet)
    reference = oracle.describe(scale)
    every = works.every(reference)
    asked = [work for work in every if work.name.replace("@", " ").split()[0] in options.works]
    stores = options.folder / f"stores-{scale:g}"
    ours = Mercato(stores, parquet, options.binaries.resolve())
    power = MercatoPower(stores, parquet, options.binaries.resolve())
    targets = [ours, power, *(peers.PEERS[name](stores, parquet) for name in options.peers if name in peers.PEERS)]
    columns = {target.name: target.title for target in targets}
    if "polars" in options.peers:
        columns["polars"] = measure.InProcess.title
    results: dict[str, Any] = {
        "machine": machine.describe(), "versions": versions(options.peers), "scale": scale, "rows": reference["rows"],
        "columns": columns, "answers": {}, "loads": [], "stores": [], "starts": {}}
    turn = machine.Turn(options.lock)
    machine.end_on_sigterm()
    subjects: list[Any] = []
    try:
        filled = fill(targets, ours, power, "W9" in options.works, options.quick, turn)
        results["stores"] = filled if "W9" in options.works else []
        first = next(work for work in every if work.name == "W1")
        if "W10" in options.works:
            results["starts"] = {target.name: measure.start_times(target.quick_starter(), first, effort, turn) for target in targets}
        watchdog = machine.Watchdog(options.memory_limit)
        for target in targets:
            subjects.append(measure.Served(target, every, watchdog))
        served = list(subjects)
        if "polars" in options.peers:
            subjects.append(measure.InProcess(parquet, watchdog))
        # Long answers first, so that the memory beside them is theirs and not what other works have left in caches.
        for work in sorted(asked, key=lambda work: not work.is_rate):
            taking_part = [each for each in subjects if each.name != power.name or work.form in POWER_FORMS]
            cells = measure.rounds(work, taking_part, effort, oracle, turn)
            results["answers"][work.name] = {name: cell.figures() for name, cell in cells.items()}
        if "W8" in options.works:
            for work in every:
                if work.name in LOADED_WORKS:
                    results["loads"] += measure.loads(work, served, effort, turn)
    finally:
        turn.give_back()
        for subject in subjects:
            subject.stop()
    results["waitedSeconds"] = round(turn.waited_seconds, 1)
    return results, every


def fill(targets: Any, ours: Any, power: Any, afresh: bool, quick: bool, turn: Any) -> list[dict[str, Any]]:
    """Makes the stores that are missing, or all of them where loading is a work."""
    found = []
    for target in targets:
        if target is power:
            power.copy_of(ours)
        elif afresh or not target.loaded():
            turn.take()
            for load in target.load(quick):
                found.append({"target": target.name, "name": load.name, "seconds": load.spent.seconds, "bytes": load.bytes,
                              "processorSeconds": load.spent.processor_seconds, "peakMiB": load.spent.peak_mib,
                              "withoutFilesMiB": load.spent.without_files_mib})
                environment.say(f"W9: {target.name}, {load.name}: {load.spent.seconds:.1f} s, {load.spent.peak_mib:.0f} MiB, "
                                f"{load.bytes / 1e6:.0f} MB")
    return found


def main() -> int:
    """Runs it."""
    options = arguments()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.installed:
        environment.enter(options.folder, __file__)
        environment.install_programs(options.peers, "W8" in options.works)
    import report

    began = time.monotonic()
    results, works = compare(options)
    results["seconds"] = round(time.monotonic() - began, 1)
    text = report.text(results, works)
    print(text)
    environment.say(f"took {results['seconds']:.0f} s, of which {results['waitedSeconds']:.0f} s were waiting for the lock")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.table:
        options.table.write_text(text)
    wrong = [f"{work}: {cells['mercato']['error']}" for work, cells in results["answers"].items() if cells["mercato"].get("error")]
    for line in wrong:
        environment.say(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
