#!/usr/bin/env python3
"""Ten thousand published datasets: how long a start takes, what it reads, what pages cost, how much memory.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/many_datasets.py --binaries target/release [--datasets 10000] [--json FILE]

The store files are links to one small file of the demo; manifests, texts and tags differ. Of every page there are two times:
that of the client, and that of the server, which its log has (from the whole request to the last byte). The last start is
quoted. Exit code 1 where the median of a page for people is over the aim at the server. Needs nothing but Python.
"""

import argparse
import contextlib
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
from typing import Any

READY_SECONDS_MAX = 60
LISTS = ("/api/v1/datasets", "/api/v1/datasets?limit=100&offset=9000&lang=it", "/api/v1/datasets?tag=water",
         "/api/v1/datasets/relations/graph")
# The pages for people, as a browser asks for them.
PAGES = ("/", "/datasets", "/datasets?sort=title&page=300", "/datasets?tag=water&license=CC-BY-4.0", "/datasets?q=water+budget",
         "/datasets?q=water+budget&tag=energy", "/pricing", "/status", "/feed.atom", "/datasets/dataset-00042",
         "/datasets/dataset-00042/columns", "/datasets/dataset-00042/preview", "/datasets/dataset-00042/explore",
         "/datasets/dataset-00042/relations", "/datasets/dataset-00042/methodology", "/datasets/dataset-00042/changelog",
         "/datasets/dataset-00042/use", "/datasets/dataset-00042/feed.atom", "/graph", "/account/sign-in", "/account/sign-up",
         "/nowhere")
LIST_REQUESTS = 300
# Median of a page for people at the server, with 10,000 datasets.
PAGE_MILLISECONDS_AIM = 5.0
LOG_SECONDS_MAX = 30
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


def get(connection: http.client.HTTPConnection, path: str, accept: str = "*/*") -> tuple[int, bytes, float, str]:
    """Status, body, seconds at the client, and the number that the server gave the request."""
    began = time.perf_counter()
    connection.request("GET", path, headers={"Accept": accept})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, body, time.perf_counter() - began, answer.headers["X-Request-Id"]


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


def server_times(log: Path, last: str) -> dict[str, float]:
    """Milliseconds at the server by number of the request, once the log has the last of them."""
    deadline = time.perf_counter() + LOG_SECONDS_MAX
    while time.perf_counter() < deadline:
        found = {}
        for line in log.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                event = json.loads(line)
                if event.get("message") == "request":
                    found[event["request_id"]] = event["duration_us"] / 1e3
        if last in found:
            return found
        time.sleep(0.1)
    raise SystemExit("the log of the server lacks requests")


def percentiles(milliseconds: list[float]) -> dict[str, float]:
    """Median and the value that one of a hundred passes."""
    ordered = sorted(milliseconds)
    return {"p50": round(statistics.median(ordered), 3), "p99": round(ordered[len(ordered) * 99 // 100], 3)}


def files(data: Path) -> set[tuple[str, int, int]]:
    """Every file of the catalogue with its time and size."""
    found = ((path, path.stat()) for path in (data / "datasets").rglob("*") if path.is_file())
    return {(str(path), state.st_mtime_ns, state.st_size) for path, state in found}


def run(binaries: Path, data: Path, count: int, name: str) -> list[dict[str, Any]]:
    """Starts the server once and prints what it cost. Returns the figures of every target."""
    port = free_port()
    command = [binaries / "mercato", "serve", "--data", data, "--listen", f"127.0.0.1:{port}",
               "--admin", f"unix:{data / 'admin.sock'}", "--requests-per-minute", "0", "--requests-per-day", "0"]
    began = time.perf_counter()
    log = data.parent / "server.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(command, stdout=sink)
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
        return times(connection, log)
    finally:
        server.terminate()
        server.wait(READY_SECONDS_MAX)


def times(connection: http.client.HTTPConnection, log: Path) -> list[dict[str, Any]]:
    """Asks for every target and prints what it took, at the client and at the server."""
    targets = [(path, "*/*") for path in LISTS] + [(path, "text/html") for path in PAGES]
    figures, numbers = [], []
    for path, accept in targets:
        answers = [get(connection, path, accept) for _ in range(LIST_REQUESTS)]
        status, body, *_ = answers[0]
        numbers.append([number for *_, number in answers])
        figures.append({"path": path, "page": accept == "text/html", "status": status, "bytes": len(body),
                        "client": percentiles([seconds * 1e3 for _, _, seconds, _ in answers])})
    at_server = server_times(log, numbers[-1][-1])
    for figure, asked in zip(figures, numbers, strict=True):
        figure["server"] = percentiles([at_server[number] for number in asked if number in at_server])
        client, server = figure["client"], figure["server"]
        print(f"  {figure['path']}: {figure['status']}, {figure['bytes'] / 1024:.0f} KiB, at the server p50 {server['p50']:.2f} ms, "
              f"p99 {server['p99']:.2f} ms; at the client p50 {client['p50']:.2f} ms, p99 {client['p99']:.2f} ms")
    return figures


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="where the figures of the last start go")
    arguments = parser.parse_args()
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=arguments.binaries) as name:
        data = Path(name) / "data"
        make(arguments.binaries, data, arguments.datasets)
        before = files(data)
        for start in ("first start", "second start", "third start"):
            figures = run(arguments.binaries, data, arguments.datasets, start)
        if files(data) != before:
            raise SystemExit("a start changed a file of the catalogue")
        if any(path.endswith(".parquet") for path, _, _ in before):
            raise SystemExit("there is Parquet in the data directory")
        print("no start changed a file; there is no Parquet to read")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    pages = [figure for figure in figures if figure["page"]]
    slowest = max(pages, key=lambda figure: figure["server"]["p50"])
    print(f"slowest page at the server: {slowest['path']}, p50 {slowest['server']['p50']:.2f} ms; aim {PAGE_MILLISECONDS_AIM} ms")
    if slowest["server"]["p50"] > PAGE_MILLISECONDS_AIM:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
