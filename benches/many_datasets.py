#!/usr/bin/env python3
"""Ten thousand published datasets: how long a start takes, what it reads, what a page of the list costs, how much memory.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/many_datasets.py --binaries target/release [--datasets 10000]

The store files are links to one small file of the demo; manifests, texts and tags differ. Needs nothing but Python.
"""

import argparse
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

READY_SECONDS_MAX = 60
LISTS = ("/api/v1/datasets", "/api/v1/datasets?limit=100&offset=9000&lang=it", "/api/v1/datasets?tag=water",
         "/api/v1/datasets/relations/graph")
# The pages for people, as a browser asks for them.
PAGES = ("/", "/datasets", "/datasets?sort=title&page=300", "/datasets?tag=water&license=CC-BY-4.0", "/datasets?q=water+budget",
         "/datasets?q=water+budget&tag=energy", "/pricing", "/status", "/feed.atom", "/datasets/dataset-00042",
         "/datasets/dataset-00042/columns", "/datasets/dataset-00042/preview", "/datasets/dataset-00042/explore",
         "/datasets/dataset-00042/relations", "/nowhere")
LIST_REQUESTS = 300
TAGS = ("air", "water", "budget", "schools", "transport", "energy", "health", "culture")
MANIFEST = """slug = "{slug}"
featured = {featured}
license = "CC-BY-4.0"
tags = ["{first}", "{second}"]
related = ["{related}"]
[title]
en = "Dataset number {number}"
it = "Dataset numero {number}"
[description]
en = "One of many datasets about {first} and {second}, made to measure a large catalogue."
it = "Uno di molti dataset su {first} e {second}, creato per misurare un catalogo grande."
"""


def slug(number: int) -> str:
    """The name of a dataset."""
    return f"dataset-{number:05d}"


def make(binaries: Path, data: Path, count: int) -> None:
    """A data directory with that many datasets."""
    demo = data.parent / "demo"
    subprocess.run([binaries / "mercato-tools", "demo", "--scale", "0.001", "--no-serve", "--data", demo, "--json"],
                   check=True, stdout=subprocess.DEVNULL)
    store = demo / "datasets" / "tpch-nation" / "versions" / "1.0.0.mcol"
    for number in range(count):
        folder = data / "datasets" / slug(number)
        (folder / "versions").mkdir(parents=True)
        first, second = TAGS[number % len(TAGS)], TAGS[number // len(TAGS) % len(TAGS)]
        text = MANIFEST.format(slug=slug(number), featured="true" if number % 1000 == 0 else "false", first=first,
                               second=second, related=slug((number * 7 + 1) % count), number=number)
        (folder / "dataset.toml").write_text(text)
        (folder / "methodology.md").write_text(f"# Methodology\n\nRow by row, number {number}.\n")
        (folder / "changelog.md").write_text("# Changelog\n\n## [1.0.0] - 2026-11-21\n\n- First version.\n")
        target = folder / "versions" / "1.0.0.mcol"
        try:
            os.link(store, target)
        except OSError:
            # A file system allows only so many names of one file; a copy is the next original.
            store = shutil.copyfile(store, target)


def figures(process: int, name: str) -> dict[str, int]:
    """Numbers of a file under /proc."""
    lines = Path(f"/proc/{process}/{name}").read_text().splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key: int(value.split()[0]) for key, value in pairs if value.split() and value.split()[0].isdigit()}


def processor_seconds(process: int) -> tuple[float, float]:
    """Time in user mode and in the kernel."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / ticks, int(fields[12]) / ticks


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def get(connection: http.client.HTTPConnection, path: str, accept: str = "*/*") -> tuple[int, bytes, float]:
    """Status, body, and the seconds that it took."""
    began = time.perf_counter()
    connection.request("GET", path, headers={"Accept": accept})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, body, time.perf_counter() - began


def wait_until_ready(port: int, began: float) -> float:
    """Seconds from the start of the process to the first answer of /readyz."""
    while time.perf_counter() - began < READY_SECONDS_MAX:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_SECONDS_MAX)
            if get(connection, "/readyz")[0] == 200:
                return time.perf_counter() - began
        except OSError:
            time.sleep(0.002)
    raise SystemExit("the server does not become ready")


def files(data: Path) -> set[tuple[str, int, int]]:
    """Every file of the catalogue with its time and size."""
    found = ((path, path.stat()) for path in (data / "datasets").rglob("*") if path.is_file())
    return {(str(path), state.st_mtime_ns, state.st_size) for path, state in found}


def run(binaries: Path, data: Path, count: int, name: str) -> None:
    """Starts the server once and prints what it cost."""
    port = free_port()
    command = [binaries / "mercato", "serve", "--data", data, "--listen", f"127.0.0.1:{port}",
               "--admin", f"unix:{data / 'admin.sock'}", "--requests-per-minute", "0", "--requests-per-day", "0"]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        ready = wait_until_ready(port, began)
        user, system = processor_seconds(server.pid)
        read = figures(server.pid, "io")
        memory = figures(server.pid, "status")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_SECONDS_MAX)
        total = json.loads(get(connection, "/api/v1/datasets")[1])["data"]["total"]
        if total != count:
            raise SystemExit(f"{total} datasets are listed, expected {count}")
        print(f"{name}: ready after {ready:.3f} s, processor {user:.2f} s + {system:.2f} s in the kernel; read {read['rchar'] / 1e6:.1f} MB through calls, wrote "
              f"{read['wchar'] / 1e3:.0f} kB; resident {memory['VmRSS'] / 1024:.0f} MiB, of which not from files "
              f"{memory['RssAnon'] / 1024:.0f} MiB")
        while get(connection, "/api/v1/datasets/search?q=water")[0] == 503:
            time.sleep(0.1)
        for path, accept in [(path, "*/*") for path in LISTS] + [(path, "text/html") for path in PAGES]:
            answers = [get(connection, path, accept) for _ in range(LIST_REQUESTS)]
            took = sorted(seconds for _, _, seconds in answers)
            status, body, _ = answers[0]
            print(f"  {path}: {status}, {len(body) / 1024:.0f} KiB, median {statistics.median(took) * 1e3:.2f} ms, "
                  f"p99 {took[len(took) * 99 // 100] * 1e3:.2f} ms")
    finally:
        server.terminate()
        server.wait(READY_SECONDS_MAX)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--datasets", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        data = Path(name) / "data"
        make(arguments.binaries, data, arguments.datasets)
        before = files(data)
        for start in ("first start", "second start", "third start"):
            run(arguments.binaries, data, arguments.datasets, start)
        if files(data) != before:
            raise SystemExit("a start changed a file of the catalogue")
        if any(path.endswith(".parquet") for path, _, _ in before):
            raise SystemExit("there is Parquet in the data directory")
        print("no start changed a file; there is no Parquet to read")


if __name__ == "__main__":
    main()
