#!/usr/bin/env python3
"""How each cost grows: with rows, columns, connections, cores, and when the files exceed the memory.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/growth.py --binaries target/release --json growth.json --plots docs/plots

Uses the Python environment and the data of benches/peers. Takes a quarter of an hour; --large adds 60,000,000 rows, which
takes as long again and 9 GB of disk. Knows no peer.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

import environment  # noqa: E402

if TYPE_CHECKING:
    import machine
    from mercato import Mercato

PARTS = ("rows", "columns", "connections", "memory")
SCALES = (0.01, 0.1, 1.0)
LARGE_SCALE = 10.0
MEMORY_LIMIT = "2GiB"
ORDERS_PER_SCALE = 1_500_000
DEEP = "5.9M"
COLUMNS = (1, 4, 16, 64, 250, 1_000)
ROWS_OF_WIDE_TABLES = 100_000
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
LOAD_SECONDS = 3.0
# Parts of the store file that the server's memory may hold.
MEMORY_SHARES = (2.0, 0.75, 0.5, 0.25)
SCATTERED_PAGES = 400
MEMORY_BLOCK_SECONDS = 8.0
SEED = 7
CGROUP_V1 = Path("/sys/fs/cgroup/memory")
CGROUP_V2 = Path("/sys/fs/cgroup")
WORDS = ("acqua", "bilancio", "carta", "dati", "energia", "fiume", "giugno", "hotel")


def reference(scale: float) -> dict[str, Any]:
    """What the works need to know of `lineitem`, without looking: keys of orders lie eight to every thirty-two."""
    from works import DEPTHS
    chosen = random.Random(SEED)
    numbers = (chosen.randrange(int(ORDERS_PER_SCALE * scale)) for _ in range(2_000))
    depths = {name: int(depth * scale) for name, depth in DEPTHS.items()}
    return {"rows": int(6_000_000 * scale), "depths": depths, "airMatches": 0, "orders": [n // 8 * 32 + n % 8 + 1 for n in numbers],
            "anchors": {name: {"price": "0", "order": 0, "line": 0} for name, depth in depths.items() if depth}}


class Growth:
    """The parts of the measurement and what they share."""

    def __init__(self, options: argparse.Namespace) -> None:
        import machine
        import measure
        self.binaries = options.binaries.resolve()
        self.folder: Path = options.folder
        self.large: bool = options.large
        self.turn = machine.Turn(options.lock)
        self.watchdog = machine.Watchdog(options.memory_limit)
        self.effort = measure.Effort(rounds=3, block_seconds=0.8, block_requests=300, load_seconds=LOAD_SECONDS, starts=3)

    def target(self, name: str, parquet: Path) -> "Mercato":
        """A data directory of its own."""
        from mercato import Mercato
        return Mercato(self.folder / "growth" / name, parquet, self.binaries)

    def publish(self, target: "Mercato") -> dict[str, float]:
        """Converts and publishes; what that took."""
        self.turn.take()
        load = target.publish("--memory-limit", MEMORY_LIMIT)
        return {"seconds": load.spent.seconds, "processorSeconds": load.spent.processor_seconds, "peakMiB": load.spent.peak_mib,
                "withoutFilesMiB": load.spent.without_files_mib, "bytes": load.bytes}

    @contextlib.contextmanager
    def serving(self, target: "Mercato", works: list[Any]) -> Iterator[Any]:
        """The server, for as long as the block lasts."""
        from measure import Served
        served = Served(target, works, self.watchdog)
        try:
            yield served
        finally:
            self.turn.give_back()
            served.stop()

    def latencies(self, served: Any, works: list[Any]) -> dict[str, Any]:
        """Figures of each work."""
        import measure
        cells = {work.name: measure.Cell() for work in works}
        for _ in range(self.effort.rounds):
            for work in works:
                self.turn.take()
                served.block(work, cycle(work.variants), self.effort, cells[work.name])
        return {name: cell.figures() for name, cell in cells.items()}

    def rows(self) -> list[dict[str, Any]]:
        """From 60,000 rows to millions: conversion, and the works that an index answers."""
        import works
        found = []
        for scale in (*SCALES, LARGE_SCALE) if self.large else SCALES:
            parquet = environment.lineitem(self.folder, scale)
            target = self.target(f"rows-{scale:g}", parquet)
            entry: dict[str, Any] = {"scale": scale, "parquetBytes": parquet.stat().st_size, "publish": self.publish(target)}
            wanted = ("W1", f"W2k@{DEEP}", "W3s", "W4", "W5p")
            asked = [work for work in works.every(reference(scale)) if work.name in wanted]
            with self.serving(target, asked) as served:
                entry["rows"] = row_count(target)
                entry["works"] = self.latencies(served, asked)
            found.append(entry)
            environment.say(f"{entry['rows']:,} rows: published in {entry['publish']['seconds']:.1f} s, "
                            + ", ".join(f"{name} {figures['p50Ms']:.3f} ms" for name, figures in entry["works"].items()))
            if scale > 1:
                shutil.rmtree(target.folder.parent)
                shutil.rmtree(parquet.parent)
        return found

    def columns(self) -> list[dict[str, Any]]:
        """From one column to a thousand: conversion, the first rows with all columns and with one, a deep page."""
        from works import Question, Work
        found = []
        for count in COLUMNS:
            parquet = wide_table(self.folder / "growth", count)
            target = self.target(f"columns-{count}", parquet)
            entry: dict[str, Any] = {"columns": count, "parquetBytes": parquet.stat().st_size, "publish": self.publish(target)}
            asked = [
                Work("all columns", "first 100 rows", "page", "ms", 0, [Question(limit=100)]),
                Work("sorted, deep", "100 rows sorted by one column, near the end", "page", "ms", 0,
                     [Question(order="c0", limit=100, offset=ROWS_OF_WIDE_TABLES - 1_000)]),
                Work("ten rows", "first 10 rows", "page", "ms", 0, [Question(limit=10)]),
            ]
            with self.serving(target, asked) as served:
                entry["works"] = self.latencies(served, asked)
            shutil.rmtree(target.folder.parent)
            parquet.unlink()
            found.append(entry)
            environment.say(f"{count} columns: published in {entry['publish']['seconds']:.1f} s, "
                            + ", ".join(f"{name} {figures['p50Ms']:.3f} ms" for name, figures in entry["works"].items()))
        return found

    def middle(self) -> "Mercato":
        """The store of six million rows."""
        target = self.target("rows-1", environment.lineitem(self.folder, 1.0))
        if not target.loaded():
            self.publish(target)
        return target

    def connections(self) -> list[dict[str, Any]]:
        """From one connection to 64, with all cores and with one."""
        import client
        import machine
        import works
        target = self.middle()
        asked = [work for work in works.every(reference(1.0)) if work.name in ("W1", "W4")]
        found = []
        cores = sorted(os.sched_getaffinity(0))
        for count in dict.fromkeys((1, len(cores))):
            # One core leaves the others to the client; all of them are shared with it.
            target.prefix = ["taskset", "--cpu-list", ",".join(map(str, cores[:count]))]
            with self.serving(target, []) as served:
                for work in asked:
                    requests = [each for each in (target.asked(work, question) for question in work.variants[:500]) if each]
                    for connections in CONNECTIONS:
                        self.turn.take()
                        usage = machine.Usage(served.processes())
                        figures = client.load(target.address, requests, connections, LOAD_SECONDS)
                        found.append({"cores": count, "work": work.name, "connections": connections, **figures, **usage.end()})
                        environment.say(f"{work.name}, {count} cores, {connections} connections: {figures['perSecond']:,.0f}/s, "
                                        f"p99 {figures['p99']:.2f} ms")
        target.prefix = []
        return found

    def memory(self) -> list[dict[str, Any]]:
        """The same server with less memory than its file: pages from everywhere, and a stream through all of it."""
        import client
        import measure
        target = self.middle()
        size = target.store().stat().st_size
        found = []
        for share in MEMORY_SHARES:
            limit = int(size * share) // 4096 * 4096
            with limited(limit) as (prefix, group):
                target.prefix = prefix
                forget_pages(target.store())
                with self.serving(target, []) as served:
                    entry: dict[str, Any] = {"limitBytes": limit, "fileBytes": size, "group": group, "works": {}}
                    for work in scattered(target):
                        cell = measure.Cell()
                        questions = iter(work.variants)
                        self.turn.take()
                        effort = measure.Effort(1, MEMORY_BLOCK_SECONDS, len(work.variants), 0, 0)
                        try:
                            served.block(work, questions, effort, cell)
                        except OSError as error:
                            # What reads the disk for every row may take longer than anybody waits.
                            cell.seconds, cell.error = [], served.recover(error)
                        entry["works"][work.name] = cell.figures()
                    entry["after"] = healthy(client.Client(target.address, measure.ANSWER_SECONDS_MAX))
                found.append(entry)
                environment.say(f"memory for {share:g} of the file: "
                                + ", ".join(f"{name} {figures['error'] or format(figures['p50Ms'], '.2f')} ms"
                                            for name, figures in entry["works"].items()))
        target.prefix = []
        return found


def row_count(target: "Mercato") -> int:
    """How many rows the dataset has."""
    import client
    connection = client.Client(target.address, 60)
    _, body = client.whole(connection, client.request("GET", "/api/v1/datasets/lineitem", {}))
    connection.close()
    return int(json.loads(body)["data"]["rowCount"])


def healthy(connection: Any) -> bool:
    """Whether the server still says that it is ready."""
    import client
    status = connection.ask(client.request("GET", "/readyz", {})).status
    connection.close()
    return bool(status == 200)


def scattered(target: "Mercato") -> list[Any]:
    """Pages at chance depths in the order of the price, which touch rows all over the file; the newest of a filter; a stream."""
    from works import Question, Work, every
    chosen = random.Random(SEED)
    depths = [chosen.randrange(6_000_000) for _ in range(SCATTERED_PAGES)]
    pages = [Question(order="l_extendedprice", limit=100, offset=depth) for depth in depths]
    usual = {work.name: work for work in every(reference(1.0))}
    return [Work("page anywhere by price", "", "page", "ms", 0, pages), Work("first page", "", "page", "ms", 0, usual["W1"].variants * 100),
            Work("W3s", "", "page", "ms", 0, usual["W3s"].variants * 40), usual["W6 NDJSON"]]


def wide_table(folder: Path, count: int) -> Path:
    """A table of that many columns: whole numbers, amounts, doubles and words in turn."""
    import numpy
    import pyarrow
    import pyarrow.parquet
    folder.mkdir(parents=True, exist_ok=True)
    chance = numpy.random.default_rng(SEED)
    schema, columns = [], []
    for number in range(count):
        kind = number % 4
        if kind == 0:
            values: Any = pyarrow.array(chance.integers(0, 1_000_000, ROWS_OF_WIDE_TABLES))
        elif kind == 1:
            values = pyarrow.array(chance.random(ROWS_OF_WIDE_TABLES))
        elif kind == 2:
            values = pyarrow.array(chance.integers(0, 20_000, ROWS_OF_WIDE_TABLES), pyarrow.int32()).cast(pyarrow.date32())
        else:
            values = pyarrow.array(WORDS).take(pyarrow.array(chance.integers(0, len(WORDS), ROWS_OF_WIDE_TABLES)))
        schema.append((f"c{number}", values.type))
        columns.append(values)
    path = folder / f"columns-{count}.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=pyarrow.schema(schema)), path)
    return path


def forget_pages(path: Path) -> None:
    """Asks the system to drop what it holds of a file, so that reading it counts for whoever reads next."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def own_group() -> tuple[Path, str] | None:
    """The control group of this process that accounts for memory, and the name of its limit."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return CGROUP_V1 / path.lstrip("/"), "memory.limit_in_bytes"
        if not controllers and (CGROUP_V2 / path.lstrip("/") / "cgroup.procs").exists():
            found = CGROUP_V2 / path.lstrip("/"), "memory.max"
            if (found[0] / "memory.max").exists():
                return found
    return None


@contextlib.contextmanager
def limited(limit: int) -> Iterator[tuple[list[str | Path], str]]:
    """A prefix for commands that may use that much memory, pages of files included; `systemd-run` where groups cannot be made."""
    group = own_group()
    name = f"mercato-growth-{os.getpid()}"
    if group is not None and os.access(group[0], os.W_OK):
        place = group[0] / name
        place.mkdir()
        try:
            (place / group[1]).write_text(str(limit))
            yield ["sh", "-c", f'echo $$ > "{place}/cgroup.procs" && exec "$@"', "limited"], "control group"
        finally:
            remove_group(place)
    elif shutil.which("systemd-run"):
        yield ["systemd-run", "--scope", "--quiet", "--property", f"MemoryMax={limit}"], "systemd-run"
    else:
        raise SystemExit("memory: neither a control group nor systemd-run can limit a process here; leave the part out with --parts")


def remove_group(place: Path) -> None:
    """Removes a control group as soon as the last process has left it."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            place.rmdir()
            return
        time.sleep(0.05)


def arguments() -> argparse.Namespace:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {','.join(PARTS)}; default all")
    parser.add_argument("--large", action="store_true", help="60,000,000 rows too: 9 GB of disk for a while")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "target" / "peers", help="as of benches/peers/run.py")
    parser.add_argument("--lock", type=Path, help="as of benches/peers/run.py")
    parser.add_argument("--memory-limit", type=float, default=10.0, metavar="GIB", help="a server above it is killed (default 10)")
    parser.add_argument("--json", type=Path, required=True, help="file for all figures; parts that are not run stay as they are in it")
    parser.add_argument("--plots", type=Path, help="folder for the plots")
    return parser.parse_args()


def main() -> None:
    """Runs the parts."""
    options = arguments()
    parts = options.parts.split(",")
    if not set(parts) <= set(PARTS):
        raise SystemExit(f"--parts: known are {', '.join(PARTS)}")
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    environment.enter(options.folder, __file__)
    environment.install_programs([], "connections" in parts)
    import growth_plots
    import machine

    machine.end_on_sigterm()
    growth = Growth(options)
    results: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    try:
        for part in parts:
            results[part] = getattr(growth, part)()
            results.setdefault("machine", {})[part] = machine.describe()
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    finally:
        growth.turn.give_back()
        subprocess.run(["sync"], check=False)
    if options.plots:
        growth_plots.draw(results, options.plots)


if __name__ == "__main__":
    main()
