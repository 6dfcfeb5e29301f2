#!/usr/bin/env python3
"""Whether pages for people slow the queries of customers: W1 alone, beside pages, and beside other public answers, in turns.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/pages_beside_queries.py --binaries target/release [--datasets 10000] [--json FILE]

One server with a catalogue of that many datasets and TPC-H lineitem. First the rate that W1 reaches in a closed loop. Then in
each round, at half of that rate (an open loop), W1 is measured alone, beside pages for people at `--pages` a second, and beside
as many public answers of the API; and the closed loop once more, alone and beside pages. The order changes from round to round.
Pages are also measured alone. Ratios are of medians over the rounds of one run. Needs Linux and nothing but Python.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import many_datasets

CREDITS = 1_000_000_000_000
PAGES = {
    "home": "/", "list": "/datasets", "sorted": "/datasets?sort=title&page={random:1..{last}}", "facets": "/datasets?tag={pick:air|water|energy}",
    "search": "/datasets?q={pick:water|energy|schools}+budget", "dataset": "/datasets/{some}",
    "columns": "/datasets/tpch-lineitem/columns", "preview": "/datasets/tpch-lineitem/preview",
    "explore": "/datasets/tpch-lineitem/explore", "pricing": "/pricing", "status": "/status", "sign-in": "/account/sign-in",
}
ANSWERS = {
    "list": "/api/v1/datasets", "tag": "/api/v1/datasets?tag={pick:air|water|energy}",
    "search": "/api/v1/datasets/search?q={pick:water|energy|schools}+budget", "header": "/api/v1/datasets/{some}",
    "schema": "/api/v1/datasets/tpch-lineitem/schema", "sample": "/api/v1/datasets/tpch-lineitem/sample",
}
CONNECTIONS = 16
BESIDE_CONNECTIONS = 4
WARM_UP_SECONDS = 2
# Datasets that the loads look at.
SLUGS_MAX = 40
SHARE_OF_RATE = 0.5


def works(paths: dict[str, str], accept: str, count: int, file: Path) -> Path:
    """A file of works for `mercato-tools loadgen`, all of the same weight."""
    slugs = [many_datasets.slug(number) for number in range(0, count, max(1, count // SLUGS_MAX))]
    lines = [f'mix = "{",".join(f"{name}=1" for name in paths)}"', "depths = [0]"]
    for name, path in paths.items():
        known = path.replace("{some}", f"{{pick:{'|'.join(slugs)}}}").replace("{last}", str(max(1, count // 20)))
        lines += ["", "[[work]]", f'name = "{name}"', f'description = "{name}"', 'method = "GET"', f'path = "{known}"',
                  "[work.headers]", f'Accept = "{accept}"']
    file.write_text("\n".join(lines) + "\n")
    return file


class Market:
    """A server with the datasets, and load on it."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.binaries: Path = arguments.binaries.resolve()
        self.data = folder / "data"
        self.port = many_datasets.free_port()
        environment = {"PATH": f"{self.binaries}{os.pathsep}{os.environ['PATH']}"}
        self.environment = os.environ | environment
        self.tools("demo", "--scale", arguments.scale, "--no-serve")
        many_datasets.make(self.binaries, self.data, arguments.datasets)
        account = self.tools("account", "create", "--name", "bench")["id"]
        self.tools("credits", "buy", "--account", account, "--credits", CREDITS)
        self.key: str = self.tools("key", "create", "--account", account)["key"]
        self.pages = works(PAGES, "text/html", arguments.datasets, folder / "pages.toml")
        self.answers = works(ANSWERS, "application/json", arguments.datasets, folder / "answers.toml")

    def tools(self, *words: object) -> dict[str, Any]:
        """Runs a command of the tools on the data directory."""
        command = [str(word) for word in (self.binaries / "mercato-tools", *words, "--data", self.data, "--json")]
        outcome = subprocess.run(command, check=True, capture_output=True, env=self.environment)
        found: dict[str, Any] = json.loads(outcome.stdout) if outcome.stdout.startswith(b"{") else {}
        return found

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """The server, for as long as the block lasts."""
        import time
        command = [self.binaries / "mercato", "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
                   "--admin", f"unix:{self.data / 'admin.sock'}", "--requests-per-minute", "0", "--requests-per-day", "0"]
        began = time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            many_datasets.wait_until_ready(self.port, began)
            connection = many_datasets.http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            while many_datasets.get(connection, "/api/v1/datasets/search?q=water")[0] == 503:
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait(many_datasets.READY_SECONDS_MAX)

    def load(self, *words: object, connections: int = CONNECTIONS, seconds: float | None = None,
             key: str = "") -> "subprocess.Popen[bytes]":
        """Starts the load generator. Who looks at pages sends no key."""
        duration = self.arguments.seconds if seconds is None else seconds
        command = [str(word) for word in (
            self.binaries / "mercato-tools", "loadgen", "--url", f"http://127.0.0.1:{self.port}", "--connections", connections,
            "--warm-up", WARM_UP_SECONDS, "--duration", duration, "--json", *words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment | {"MERCATO_API_KEY": key})

    def w1(self, rate: float | None) -> "subprocess.Popen[bytes]":
        """W1 in a closed loop, or at a rate."""
        return self.load("--work", "w1", *(("--rate", f"{rate:.1f}") if rate else ()), key=self.key)

    def beside(self, file: Path) -> "subprocess.Popen[bytes]":
        """Other requests, from before the measurement to behind its end."""
        # It ends after the load that it runs beside.
        seconds = self.arguments.seconds + WARM_UP_SECONDS
        return self.load("--works", file, "--rate", self.arguments.pages, connections=BESIDE_CONNECTIONS, seconds=seconds)

    def measure(self, rate: float | None, file: Path | None) -> dict[str, dict[str, float]]:
        """Figures of W1 and of what runs beside it."""
        other = self.beside(file) if file else None
        found = {"w1": figures(self.w1(rate))}
        if other:
            found["beside"] = figures(other)
        return found


def figures(load: "subprocess.Popen[bytes]") -> dict[str, float]:
    """Rate and latencies of a load. A failed request ends the run."""
    output = load.communicate()[0]
    if load.returncode != 0:
        raise SystemExit(f"a load failed: {output.decode(errors='replace')[:4000]}")
    report = json.loads(output)
    if report["unsent"]:
        print(f"  {report['unsent']} requests found no free connection", file=sys.stderr)
    latency = report["total"]["latencyMilliseconds"]
    return {"perSecond": report["total"]["ratePerSecond"], "p50": latency["p50"], "p99": latency["p99"]}


def median_of(rounds: list[dict[str, dict[str, float]]], who: str) -> dict[str, float]:
    """The medians of figures over rounds."""
    return {name: statistics.median(each[who][name] for each in rounds) for name in ("perSecond", "p50", "p99")}


def measure(market: Market, rounds: int) -> dict[str, Any]:
    """All rounds and their medians."""
    closed = median_of([market.measure(None, None) for _ in range(2)], "w1")
    rate = closed["perSecond"] * SHARE_OF_RATE
    print(f"W1 alone, closed loop: {closed['perSecond']:,.0f}/s; measured at {rate:,.0f}/s")
    kinds: dict[str, tuple[float | None, Path | None]] = {
        "alone": (rate, None), "beside pages": (rate, market.pages), "beside public answers": (rate, market.answers),
        "closed, alone": (None, None), "closed, beside pages": (None, market.pages)}
    found: dict[str, list[dict[str, dict[str, float]]]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        order = list(kinds) if number % 2 == 0 else list(reversed(kinds))
        for kind in order:
            found[kind].append(market.measure(*kinds[kind]))
    result: dict[str, Any] = {"rate": rate, "pagesPerSecond": market.arguments.pages, "rounds": found, "medians": {}}
    for kind, each in found.items():
        result["medians"][kind] = {who: median_of(each, who) for who in each[0]}
    alone = [figures(market.beside(market.pages)) for _ in range(rounds)]
    result["medians"]["pages alone"] = {
        "beside": {name: statistics.median(each[name] for each in alone) for name in ("perSecond", "p50", "p99")}}
    return result


def tell(result: dict[str, Any]) -> None:
    """Prints medians and ratios."""
    medians = result["medians"]
    for kind, each in medians.items():
        for who, found in each.items():
            name = "W1" if who == "w1" else "the others"
            print(f"  {kind}, {name}: {found['perSecond']:,.1f}/s, p50 {found['p50']:.3f} ms, p99 {found['p99']:.3f} ms")

    def ratio(kind: str, to: str, figure: str) -> float:
        return float(medians[kind]["w1"][figure] / medians[to]["w1"][figure])

    print("ratios of W1:")
    for kind in ("beside pages", "beside public answers"):
        print(f"  {kind} / alone: p50 {ratio(kind, 'alone', 'p50'):.3f}, p99 {ratio(kind, 'alone', 'p99'):.3f}")
    print(f"  beside pages / beside public answers: p50 {ratio('beside pages', 'beside public answers', 'p50'):.3f}, "
          f"p99 {ratio('beside pages', 'beside public answers', 'p99'):.3f}")
    print(f"  closed loop, beside pages / alone: rate {ratio('closed, beside pages', 'closed, alone', 'perSecond'):.3f}")


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--scale", default="0.1", help="of lineitem")
    parser.add_argument("--pages", type=float, default=50, help="pages a second")
    parser.add_argument("--seconds", type=float, default=15, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where all figures go")
    arguments = parser.parse_args()
    if arguments.datasets < 2:
        parser.error("--datasets: at least 2")
    with tempfile.TemporaryDirectory(dir=arguments.binaries) as name:
        market = Market(arguments, Path(name).resolve())
        with market.serving():
            result = measure(market, arguments.rounds)
    tell(result)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
