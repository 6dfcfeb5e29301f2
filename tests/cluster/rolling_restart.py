#!/usr/bin/env python3
"""Restarts three servers one after the other, as fast as they start, behind nginx with docs/examples/nginx-cluster.conf.

    tests/books/postgres.sh python tests/cluster/rolling_restart.py --binaries target/debug

No server is marked `down`. Meanwhile customers read, page with POST and GET, and stream. Then one server is 503 for everything, as
for a version that its full disk does not take. Exit code 0 only if every request was answered 200 while servers restarted, and
every row was paid once; and if another server answered each GET that was 503, while each POST was sent once. Needs nginx, and a
database in MERCATO_TEST_POSTGRES.
"""

import argparse
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from balancer import Balancer
from stores import free_port

SERVERS, ROUNDS = 3, 3
ROWS, PAGE_ROWS, STREAM_ROWS = 1_000, 7, 40
BOUGHT = 10_000_000
# Customers of each kind. Each has a key of its own, so every server has some of them.
CUSTOMERS = 4
SECONDS_MAX = 60
DATASET = "/api/v1/datasets/numbers"
# What each kind of customer asks for, again and again: method, target, body, rows that it costs.
ASKS = {
    "reads": ("GET", f"{DATASET}/sample", None, 0),
    "pages": ("POST", f"{DATASET}/query", json.dumps({"limit": PAGE_ROWS}), PAGE_ROWS),
    "pages with GET": ("GET", f"{DATASET}/query?limit={PAGE_ROWS}", None, PAGE_ROWS),
    "streams": ("POST", f"{DATASET}/query/stream", json.dumps({"limit": STREAM_ROWS}), STREAM_ROWS),
}


class Server:
    """A server with a data directory of its own, and the books of all."""

    def __init__(self, binaries: Path, data: Path, books: str) -> None:
        self.binaries, self.data, self.books = binaries, data, books
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        command: list[Any] = [self.binaries / "mercato", "serve", "--data", self.data, "--books", self.books, "--listen",
                              f"127.0.0.1:{self.port}", "--admin", f"unix:{self.data / 'admin.sock'}", "--requests-per-minute",
                              "0", "--requests-per-day", "0", "--free-queries-per-month", "0"]
        with (self.data / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS_MAX
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"a server does not become ready:\n{(self.data / 'log').read_text()[-3000:]}")
            time.sleep(0.01)

    def is_ready(self) -> bool:
        """What its own health says."""
        try:
            return ask(self.port, "GET", "/readyz", None, {})[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def stop(self) -> int:
        """As an init system does. Returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_MAX)

    def kill(self) -> None:
        """If something failed."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def ask(port: int, method: str, target: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
    """The answer on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Unable(http.server.BaseHTTPRequestHandler):
    """A server that is 503 for everything."""

    protocol_version = "HTTP/1.1"
    asked: Counter[str] = Counter()

    def do_GET(self) -> None:
        """Reads the request and answers."""
        self.asked[self.command] += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(503)
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class Shop:
    """The servers, their books and their customers."""

    def __init__(self, binaries: Path, folder: Path, books: str) -> None:
        self.binaries, self.folder, self.books = binaries, folder, books
        self.tools("books", "migrate", "--books", books)
        source = folder / "numbers"
        source.mkdir()
        (source / "dataset.toml").write_text('slug = "numbers"\n')
        (folder / "numbers.csv").write_text("id\n" + "".join(f"{row}\n" for row in range(ROWS)))
        self.tools("publish", source, "--input", folder / "numbers.csv", "--version", "1.0.0", "--data", folder / "data")
        self.servers = []
        for number in range(SERVERS):
            data = folder / f"server-{number}"
            shutil.copytree(folder / "data", data)
            self.servers.append(Server(binaries, data, books))
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.answered: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.keys: list[str] = []

    def tools(self, *arguments: Any) -> Any:
        """What an operator's command prints."""
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments, "--json")]
        outcome = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                                 timeout=SECONDS_MAX)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr}")
        return json.loads(outcome.stdout or "null")

    def customer(self) -> tuple[str, str]:
        """An account with credits, and its key."""
        account = self.tools("account", "create", "--name", "load", "--books", self.books)["id"]
        self.tools("credits", "buy", "--account", account, "--credits", BOUGHT, "--books", self.books)
        return account, self.tools("key", "create", "--account", account, "--books", self.books)["key"]

    def use(self, port: int, kind: str, key: str) -> None:
        """Asks until it is over, on connections that are kept."""
        method, target, body, _ = ASKS[kind]
        headers = {"X-Api-Key": key, "Content-Type": "application/json"}
        if kind == "streams":
            headers["Accept"] = "application/x-ndjson"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
        while not self.over.is_set():
            try:
                connection.request(method, target, body, headers)
                answer = connection.getresponse()
                text = answer.read()
                outcome = "" if answer.status == 200 else f"{answer.status} {text[:200]!r}"
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                outcome = repr(error)
            with self.lock:
                if outcome:
                    self.lost[f"{kind}: {outcome}"] += 1
                else:
                    self.answered[kind] += 1
            # Connections to the servers are idle now and then.
            time.sleep(0.002)
        connection.close()

    def restart_all(self) -> list[float]:
        """Restarts each server as soon as the one before it is ready. Returns how long each took."""
        seconds = []
        for _ in range(ROUNDS):
            for server in self.servers:
                began = time.monotonic()
                code = server.stop()
                if code != 0:
                    raise SystemExit(f"a server ended with {code}")
                server.start()
                seconds.append(time.monotonic() - began)
        return seconds

    def meet_unable(self, balancer: Balancer, keys: list[str]) -> list[str]:
        """Asks where one of two servers is 503 for everything. Returns what is wrong."""
        statuses: dict[str, Counter[int]] = {kind: Counter() for kind in ("reads", "pages", "pages with GET")}
        for kind, counts in statuses.items():
            method, target, body, _ = ASKS[kind]
            for key in keys:
                headers = {"X-Api-Key": key, "Content-Type": "application/json"}
                counts[ask(balancer.port, method, target, body, headers)[0]] += 1
        passed_on, refused = Unable.asked["GET"], statuses["pages"][503]
        print(f"one server is unable: {passed_on} GETs were passed on, {refused} of {len(keys)} POSTs were 503")
        found = [f"{kind}: {dict(statuses[kind])}" for kind in ("reads", "pages with GET") if set(statuses[kind]) != {200}]
        if passed_on == 0 or refused == 0 or not set(statuses["pages"]) <= {200, 503}:
            found.append(f"{passed_on} GETs met the server, and POSTs were {dict(statuses['pages'])}")
        if Unable.asked["POST"] != refused:
            found.append(f"the server had {Unable.asked['POST']} POSTs, and {refused} were answered 503")
        return found

    def wait_until_known(self, keys: list[str]) -> None:
        """Until every server has heard of the keys."""
        deadline = time.monotonic() + SECONDS_MAX
        for server in self.servers:
            while any(ask(server.port, "GET", "/api/v1/account", None, {"X-Api-Key": key})[0] != 200 for key in keys):
                if time.monotonic() > deadline:
                    raise SystemExit("a server does not know a key")
                time.sleep(0.05)

    def run(self, balancer: Balancer) -> list[str]:
        """Load and restarts at the same time. Returns what is wrong."""
        customers = [(kind, *self.customer()) for kind in ASKS for _ in range(CUSTOMERS)]
        self.wait_until_known([key for _, _, key in customers])
        threads = [threading.Thread(target=self.use, args=(balancer.port, kind, key)) for kind, _, key in customers]
        for thread in threads:
            thread.start()
        try:
            time.sleep(1)
            seconds = self.restart_all()
            time.sleep(1)
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        found = [f"{count} times {what}" for what, count in self.lost.items()]
        expected = sum(ASKS[kind][3] * count for kind, count in self.answered.items())
        shown = [self.tools("account", "show", "--account", account, "--books", self.books) for _, account, _ in customers]
        paid = len(customers) * BOUGHT - sum(account["credits"] for account in shown)
        if paid != expected:
            found.append(f"{paid} credits were charged for {expected} rows")
        if "Connection refused" not in balancer.log.read_text():
            found.append("no request met a server that was away: nothing was tried")
        self.keys = [key for _, _, key in customers]
        print(f"{len(seconds)} restarts of {min(seconds):.1f} to {max(seconds):.1f} s; "
              f"answered: {dict(self.answered)}, {paid} credits")
        return found


def main() -> int:
    """Builds the shop, restarts it and looks at what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mercato-restart.") as name:
        shop = Shop(given.binaries.resolve(), Path(name), os.environ["MERCATO_TEST_POSTGRES"])
        balancers = []
        try:
            for server in shop.servers:
                server.start()
            addresses = [f"127.0.0.1:{server.port}" for server in shop.servers]
            balancers.append(Balancer(Path(name) / "nginx", addresses, "nginx-cluster.conf"))
            faults = shop.run(balancers[0])
            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unable) as unable:
                threading.Thread(target=unable.serve_forever, daemon=True).start()
                addresses = [f"127.0.0.1:{unable.server_port}", addresses[0]]
                balancers.append(Balancer(Path(name) / "nginx-unable", addresses, "nginx-cluster.conf"))
                faults += shop.meet_unable(balancers[1], shop.keys)
                unable.shutdown()
        finally:
            for server in shop.servers:
                server.kill()
            for balancer in balancers:
                balancer.stop()
    for fault in faults:
        print(f"FAULT {fault[:1000]}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
