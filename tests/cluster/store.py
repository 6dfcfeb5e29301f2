#!/usr/bin/env python3
"""Publishes into object storage beside two servers: waits, kills in the middle of a fetch, restarts, outages of the store, wrong
secrets, missing buckets, full disks.

    tests/books/postgres.sh python tests/cluster/store.py --binaries target/debug

Runs once for each kind of store of stores.py. The full disk needs root. Needs the packages of requirements.txt, in the Python that runs it, and a database
in MERCATO_TEST_POSTGRES.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from stores import STORES, free_port

SECONDS = 30
ROWS = 400_000


def until(what, is_so, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.002)
    return found


class Server:
    """A running server over a data directory of its own."""

    def __init__(self, world, name, *flags, **variables):
        self.world, self.name, self.flags, self.variables = world, name, flags, variables
        self.data = world.folder / name
        self.data.mkdir(exist_ok=True)
        world.servers.append(self)
        self.start()

    def start(self):
        self.port = free_port()
        words = [
            self.world.binaries / "mercato", "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
            "--free-queries-per-month", "0",
            "--admin", "127.0.0.1:0", "--books", self.world.books, "--store", self.world.url, *self.flags,
        ]
        log = open(self.world.folder / f"{self.name}.log", "ab")
        self.process = subprocess.Popen(words, env=self.world.environment | self.variables, stdout=log, stderr=log)
        until(f"{self.name} answers", lambda: self.get("/healthz")[0] == 200)

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers, answer.read()
        except OSError:
            return 0, {}, b""

    def version(self, slug):
        """The version whose rows are served, and the first rows; nothing where there are none."""
        status, headers, body = self.get(f"/api/v1/datasets/{slug}/sample")
        return (headers["X-Dataset-Version"], json.loads(body)["data"]["totalRows"]) if status == 200 else (None, status)

    def readiness(self):
        """Status, state of the store and warnings, as the operator sees them."""
        # The file is written after the public listener answers.
        address = until("its address", lambda: (self.data / "admin.address").exists() and (self.data / "admin.address").read_text())
        address = address.strip()
        try:
            with urllib.request.urlopen(f"http://{address}/readyz", timeout=10) as answer:
                status, data = answer.status, json.load(answer)["data"]
        except urllib.error.HTTPError as answer:
            status, data = answer.code, json.load(answer)["data"]
        return status, data["store"], [f"{warning['slug']}: {warning['reason']}" for warning in data["datasets"]["warnings"]]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(SECONDS * 2) == 0, self.name

    def unfinished(self):
        """Store files that are being fetched."""
        return [path for path in (self.data / "cache").glob("datasets/*/versions/.*") if ".store" in path.name]

    def kill(self):
        self.process.kill()
        self.process.wait()


class World:
    def __init__(self, folder, binaries, store, kind):
        self.servers = []
        self.folder, self.binaries, self.store = pathlib.Path(folder), binaries, store
        variables = store.variables()
        self.url = variables["MERCATO_TEST_S3"] + "/check"
        self.environment = os.environ | variables
        self.books = f"{os.environ['MERCATO_TEST_POSTGRES']}?options=-c%20search_path%3Dstore{kind}"

    def tools(self, *words, code=0):
        """Runs a command, which ends with that code. Returns what it says."""
        words = [self.binaries / "mercato-tools", *words]
        ended = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        assert ended.returncode == code, f"{words[1:]}: {ended.returncode}, not {code}: {ended.stdout}{ended.stderr}"
        return ended.stdout + ended.stderr

    def change(self, *words, code=0):
        return self.tools(*words, "--store", self.url, "--books", self.books, code=code)

    def publish(self, slug, version, rows, *words, code=0):
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        (source / "dataset.toml").write_text(f'slug = "{slug}"\n')
        with open(source / "rows.csv", "w") as out:
            out.write("id,value,word\n")
            out.writelines(f"{row},{row * 7919 % 1000003},w{row * 31 % 9973}\n" for row in range(rows))
        return self.change("publish", source, "--input", source / "rows.csv", "--version", version, *words, code=code)


def check(world, kind):
    world.tools("books", "migrate", "--books", world.books)
    world.publish("numbers", "1.0.0", 1_000)
    a, b = Server(world, "a"), Server(world, "b")
    servers = [a, b]
    world.publish("numbers", "1.1.0", 2_000, "--wait")
    assert [server.version("numbers") for server in servers] == [("1.1.0", 2_000)] * 2, "--wait waits for every server"

    world.publish("numbers", "1.2.0", 500, "--append", "--wait", "30")
    assert [server.version("numbers") for server in servers] == [("1.2.0", 2_500)] * 2
    listed = json.loads(world.change("datasets", "list", "--json"))
    assert [(line["slug"], line["rows"]) for line in listed["datasets"]] == [("numbers", 2_500)], listed

    # Killed in the middle of a fetch: what it left goes, and the version is fetched again.
    killed = 0
    for attempt in range(10):
        version = f"2.{attempt}.0"
        world.publish("large", version, ROWS)
        until("the fetch begins, or is done", lambda: b.unfinished() or b.version("large")[0] == version)
        is_cut = bool(b.unfinished())
        b.kill()
        left = b.unfinished()
        b.start()
        assert not set(left) & set(b.unfinished()), "leftovers are removed at the start"
        until("the version is served", lambda: b.version("large") == (version, ROWS))
        killed += is_cut and bool(left)
        if killed == 2:
            break
    assert killed, "no fetch was cut off in ten attempts"

    tell_missing_bucket(world)
    if world.store.checks_keys:
        tell_wrong_secret(world)
    if os.geteuid() == 0:
        tell_full_disk(world)

    # A server that stands still is named.
    os.kill(b.process.pid, signal.SIGSTOP)
    said = world.publish("numbers", "1.3.0", 3_000, "--wait", "2", code=3)
    assert str(b.process.pid) in said, said
    assert a.version("numbers") == ("1.3.0", 3_000)
    os.kill(b.process.pid, signal.SIGCONT)
    until("it catches up", lambda: b.version("numbers") == ("1.3.0", 3_000))

    world.change("rollback", "numbers", "--to", "1.2.0", "--wait")
    assert [server.version("numbers") for server in servers] == [("1.2.0", 2_500)] * 2
    world.change("unpublish", "numbers", "--wait")
    withdrawn = [server.version("numbers") for server in servers]
    assert withdrawn == [(None, 404)] * 2, withdrawn

    # The store is away: what is here is served, and nothing is published.
    world.store.kill()
    assert world.publish("large", "3.0.0", 10, code=1)
    assert [server.version("large")[1] for server in servers] == [ROWS] * 2
    if kind == "rclone":
        world.store.start()
        world.publish("large", "3.0.0", 10, "--wait")
        assert [server.version("large") for server in servers] == [("3.0.0", 10)] * 2
    for server in servers:
        server.stop()
    return killed


def tell_missing_bucket(world):
    """Also for a long object, whose bytes the store does not read."""
    source = world.folder / "source"
    place = ["--input", source / "rows.csv", "--version", "1.0.0", "--store", "s3://nowhere-at-all/x", "--books", world.books]
    said = world.tools("publish", source, *place, code=1)
    assert "no such bucket" in said, said


def tell_wrong_secret(world):
    """A server that can fetch nothing is not ready, and says why."""
    server = Server(world, "wrong", AWS_SECRET_ACCESS_KEY="wrong")
    status, store, warnings = server.readiness()
    assert (status, store) == (503, {"status": "failing", "cacheDisk": "serving", "missing": 2}), (status, store)
    assert [warning.split(":")[0] for warning in warnings] == ["large", "numbers"], warnings
    assert all("denies access" in warning for warning in warnings), warnings
    listed = world.tools("cluster", "status", "--books", world.books)
    assert "lacks 2" in listed, listed
    server.stop()


def tell_full_disk(world):
    """What is there is served, the rest is 503, and there is a warning until there is room."""
    cache = world.folder / "small" / "cache"
    cache.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", cache], check=True)
    try:
        server = Server(world, "small", "--prefetch", "none")
        until("numbers are fetched", lambda: server.version("numbers")[0])
        assert server.version("large") == (None, 503)
        until("it is told", lambda: server.readiness()[1]["cacheDisk"] == "failing")
        status, store, warnings = server.readiness()
        assert (status, store["status"], store["missing"]) == (200, "serving", 0), store
        assert len(warnings) == 1 and "large: version" in warnings[0] and "No space left" in warnings[0], warnings
        assert server.version("numbers")[0] and server.version("large") == (None, 503)
        subprocess.run(["mount", "-o", "remount,size=200m", cache], check=True)
        until("there is room", lambda: server.version("large")[1] == ROWS)
        assert server.readiness()[1]["cacheDisk"] == "serving"
        server.stop()
    finally:
        subprocess.run(["umount", "--lazy", cache], check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binaries", required=True, type=pathlib.Path)
    arguments.add_argument("--only", choices=sorted(STORES), help="one kind of store instead of all")
    given = arguments.parse_args()
    for kind in [given.only] if given.only else sorted(STORES):
        with tempfile.TemporaryDirectory(prefix="mercato-store.") as folder:
            store = STORES[kind](folder)
            world = World(folder, given.binaries.resolve(), store, kind)
            try:
                killed = check(world, kind)
                print(f"store.py: {kind}: publications reach two servers; {killed} fetches cut off by a kill", flush=True)
            except AssertionError:
                for log in sorted(pathlib.Path(folder).glob("?.log")):
                    print(f"-- {log.name}\n{log.read_text()[-4000:]}", file=sys.stderr)
                raise
            finally:
                store.kill()
                for server in world.servers:
                    server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
