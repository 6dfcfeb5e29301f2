#!/usr/bin/env python3
"""Restarts three servers behind nginx one right after the other, without telling nginx, while customers buy.

    tests/books/postgres.sh python tests/cluster/rolling.py --binaries target/debug

nginx has the configuration of docs/examples/nginx-cluster.conf. No page by POST and no public answer may be lost, and what
was answered is what was paid. A page by GET is sent once, so it may be 502 while its server is away. Needs nginx, and a
database in MERCATO_TEST_POSTGRES.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from stores import free_port

SERVERS = 3
ROUNDS = 2
KEYS = 12
CREDITS = 1_000_000
SECONDS = 30
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "nginx-cluster.conf"
BODY = json.dumps({"limit": 1}).encode()
ASKED = {
    "page by POST": ("POST", "/api/v1/datasets/sales/query", BODY),
    "page by GET": ("GET", "/api/v1/datasets/sales/query?limit=1", None),
    "list": ("GET", "/api/v1/datasets", None),
}


def ask(port, method, target, body=None, key=None):
    """The status of an answer that came whole; 0 without one."""
    headers = {"Content-Type": "application/json"} | ({"X-Api-Key": key} if key else {})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


class World:
    def __init__(self, folder, binaries):
        self.folder, self.binaries = folder, binaries
        self.books = f"{os.environ['MERCATO_TEST_POSTGRES']}?options=-c%20search_path%3Drolling"
        self.ports = [free_port() for _ in range(SERVERS)]
        self.servers = {}
        self.tools("books", "migrate", "--books", self.books)
        self.account = self.tools("account", "create", "--name", "A", "--books", self.books)["id"]
        self.tools("credits", "buy", "--account", self.account, "--credits", str(CREDITS), "--books", self.books)
        self.keys = [self.tools("key", "create", "--account", self.account, "--books", self.books)["key"] for _ in range(KEYS)]
        source = folder / "source"
        source.mkdir()
        (source / "dataset.toml").write_text('slug = "sales"\n')
        (source / "rows.csv").write_text("id\n" + "".join(f"{row}\n" for row in range(100)))
        self.tools("publish", source, "--input", source / "rows.csv", "--version", "1.0.0", "--data", folder / "0")
        for number in range(1, SERVERS):
            shutil.copytree(folder / "0", folder / str(number))

    def tools(self, *words):
        words = [self.binaries / "mercato-tools", *words, "--json"]
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout or "null")

    def start(self, number):
        """Starts a server and waits until it is ready."""
        words = [
            self.binaries / "mercato", "serve", "--data", self.folder / str(number), "--books", self.books,
            "--listen", f"127.0.0.1:{self.ports[number]}", "--admin", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1/32",
            "--requests-per-minute", "0", "--requests-per-day", "0", "--free-queries-per-month", "0",
        ]
        log = open(self.folder / f"{number}.log", "ab")
        self.servers[number] = subprocess.Popen(words, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS
        while ask(self.ports[number], "GET", "/readyz") != 200:
            assert time.monotonic() < deadline, f"server {number} does not answer"
            time.sleep(0.01)

    def stop(self, number):
        self.servers[number].send_signal(signal.SIGTERM)
        assert self.servers[number].wait(SECONDS) == 0, f"server {number} does not end well"

    def balance(self):
        """Starts nginx with the example, before all servers."""
        self.port, folder = free_port(), self.folder / "nginx"
        folder.mkdir()
        text = EXAMPLE.read_text().replace("listen 80;", f"listen 127.0.0.1:{self.port};").replace("    listen [::]:80;\n", "")
        for number, port in enumerate(self.ports):
            before, text = text, text.replace(f"server 10.0.0.1{number + 1}:8080", f"server 127.0.0.1:{port}")
            assert text != before, f"the example has no server {number + 1}"
        places = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root; " if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(f"{user}daemon off; pid {folder}/pid; error_log stderr error;\nevents {{ }}\n"
                                           f"http {{ access_log off; {places}\n{text} }}\n")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.nginx = subprocess.Popen([program, "-c", folder / "nginx.conf"], stderr=(folder / "log").open("wb"))
        deadline = time.monotonic() + SECONDS
        while ask(self.port, "GET", "/healthz") != 200:
            assert time.monotonic() < deadline, f"nginx does not answer: {(folder / 'log').read_text()}"
            time.sleep(0.05)


def customers(world, seen, is_over):
    """Threads that ask for something again and again, with one key after the other."""
    def buy(name, turn):
        while not is_over.is_set():
            turn += 1
            status = ask(world.port, *ASKED[name], key=world.keys[turn % KEYS])
            seen[name][status] += 1
            time.sleep(0.005)
    threads = [threading.Thread(target=buy, args=(name, turn)) for name in ASKED for turn in range(2)]
    for thread in threads:
        thread.start()
    return threads


def check(world):
    for number in range(SERVERS):
        world.start(number)
    world.balance()
    time.sleep(1)
    seen, is_over = {name: collections.Counter() for name in ASKED}, threading.Event()
    threads = customers(world, seen, is_over)
    try:
        for number in list(range(SERVERS)) * ROUNDS:
            time.sleep(0.2)
            world.stop(number)
            world.start(number)
        time.sleep(1)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    print({name: dict(counts) for name, counts in seen.items()})
    for name in ("page by POST", "list"):
        assert set(seen[name]) == {200} and seen[name][200] > 100, f"{name}: {seen[name]}"
    assert set(seen["page by GET"]) <= {200, 502}, seen["page by GET"]
    assert seen["page by GET"][200] > 100, seen["page by GET"]
    for number in range(SERVERS):
        world.stop(number)
    answered = seen["page by POST"][200] + seen["page by GET"][200]
    paid = CREDITS - world.tools("account", "show", "--account", world.account, "--books", world.books)["credits"]
    assert paid == answered, f"{answered} rows answered, {paid} paid"
    assert world.tools("ledger", "verify", "--books", world.books)["balanced"] is True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        world = World(pathlib.Path(name), arguments.binaries.resolve())
        try:
            check(world)
        finally:
            for process in [*world.servers.values(), getattr(world, "nginx", None)]:
                if process and process.poll() is None:
                    process.terminate()
                    process.wait(SECONDS)
    print("a rolling restart without a word to nginx loses nothing")


if __name__ == "__main__":
    main()
