#!/usr/bin/env python3
"""A server under mixed load for a long time: pages, walks, streams, downloads, searches and the catalog; publications,
new, rotated and revoked keys; and restarts by SIGTERM in the first half, so that the second half shows what grows.

    python tests/soak/soak.py --binaries target/release                 twenty minutes
    python tests/soak/soak.py --binaries target/debug --minutes 0.4     a short look

Exit code 0 only if no answer was wrong and none an error but the client's own, if memory and descriptors did not grow in
the second half, if every restart ended with 0, and if the books verify and agree with what clients were charged.
"""

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "attack"))

from site_under_test import Footprint, Site  # noqa: E402

CREDITS = 1_000_000_000_000
TIMEOUT_SECONDS = 60
PAUSE_SECONDS = 0.01
SAMPLE_SECONDS = 2.0
RESTARTS = 3
PUBLISH_SECONDS = 20.0
KEYS_SECONDS = 5.0
# What the second half may add at most; allocators and caches are still settling when it begins.
GROWTH_MEBIBYTES_MAX = 96
GROWTH_SHARE_MAX = 0.25
DESCRIPTORS_GROWTH_MAX = 24
THREADS_GROWTH_MAX = 8
DATASETS = ("tpch-lineitem", "tpch-orders", "tpch-customer", "tpch-part")
QUESTIONS = ("orders", "who delivers parts", "clienti", "prezzo di vendita", "nation and region", "supplier parts cost")
FILTERS: tuple[dict[str, object], ...] = (
    {}, {"sortBy": "l_extendedprice", "sortDirection": "desc"}, {"filters": {"l_returnflag": "R"}},
    {"filters": {"l_quantity": {"gte": 40}}, "sortBy": "l_shipdate"},
    {"filters": {"$or": [{"l_shipmode": "AIR"}, {"l_tax": {"lt": 0.02}}]}, "columns": ["l_orderkey", "l_comment"]})


class Books:
    """What the clients know that they paid."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.charged = 0
        self.uncertain = 0
        self.met: Counter[str] = Counter()
        self.faults: list[str] = []

    def paid(self, what: str, credits: int) -> None:
        """A whole answer."""
        with self.lock:
            self.charged += credits
            self.met[what] += 1

    def broken(self, what: str, most: int, why: object, excused: bool) -> None:
        """An answer that did not come or not whole; it may have cost so much at most."""
        with self.lock:
            self.uncertain += most
            self.met[f"{what}, cut by a restart" if excused else f"{what}, broken"] += 1
            if not excused and len(self.faults) < 50:
                self.faults.append(f"{what}: {why}")

    def fault(self, what: str) -> None:
        """Something that must not happen."""
        with self.lock:
            if len(self.faults) < 50:
                self.faults.append(what)


class World:
    """The server, its keys, and who uses them."""

    def __init__(self, site: Site, account: str) -> None:
        self.site, self.account = site, account
        self.books = Books()
        self.over = threading.Event()
        self.restarting = threading.Event()
        self.restarts = 0
        self.keys: list[tuple[str, str]] = []

    def key(self, chance: random.Random) -> str:
        """One of the keys that are valid for good."""
        return chance.choice(self.keys[:3])[1]

    def new_key(self) -> None:
        """One more key."""
        made = self.site.tools("key", "create", "--account", self.account)
        self.keys.append((made["id"], made["key"]))


class Client:
    """One connection of one user."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.chance = world, random.Random(number)
        self.connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None, key: str | None = None,
            accept: str | None = None) -> http.client.HTTPResponse:
        """Sends a request; the answer is still to be read."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.world.site.port, timeout=TIMEOUT_SECONDS)
        headers = {"X-Api-Key": key} if key else {}
        if accept:
            headers["Accept"] = accept
        content = None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        self.connection.request(method, path, content, headers)
        return self.connection.getresponse()

    def close(self) -> None:
        """Forgets the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def page(client: Client) -> int:
    """Some pages of a walk, each paid."""
    body = dict(client.chance.choice(FILTERS), limit=client.chance.choice((1, 10, 100, 1000)))
    key, paid = client.world.key(client.chance), 0
    for _ in range(client.chance.randrange(1, 6)):
        answer = client.ask("POST", f"/api/v1/datasets/{DATASETS[0]}/query", body, key)
        data = whole(answer)
        rows = json.loads(data)["data"]["rowsReturned"]
        charged = int(answer.getheader("X-Credits-Charged") or -1)
        if charged != rows:
            raise ValueError(f"{rows} rows for {charged} credits")
        client.world.books.paid("page", charged)
        paid += charged
        cursor = json.loads(data)["data"]["nextCursor"]
        if cursor is None:
            break
        body["cursor"] = cursor
    return paid


def stream(client: Client) -> int:
    """A stream to its end, or left in its midst."""
    limit = client.chance.choice((10, 1_000, 20_000))
    path = f"/api/v1/datasets/{client.chance.choice(DATASETS)}/query/stream"
    answer = client.ask("POST", path, {"limit": limit}, client.world.key(client.chance))
    if limit == 20_000 and client.chance.random() < 0.5:
        answer.read(30_000)
        client.close()
        client.world.books.broken("stream left", limit, "", excused=True)
        return 0
    data = whole(answer)
    rows = data.count(b"data: {")
    end = json.loads(data.rsplit(b": end ", 1)[1])
    if not rows == end["rowsReturned"] == end["creditsCharged"]:
        raise ValueError(f"{rows} rows, {end}")
    client.world.books.paid("stream", rows)
    return rows


def download(client: Client) -> int:
    """A whole file; its length is what was announced."""
    path = f"/api/v1/datasets/tpch-supplier/download?format={client.chance.choice(('csv', 'json', 'ndjson'))}"
    answer = client.ask("GET", path, key=client.world.key(client.chance))
    data = whole(answer)
    charged = int(answer.getheader("X-Credits-Charged") or -1)
    if charged < 0 or (answer.getheader("Content-Length") or str(len(data))) != str(len(data)):
        raise ValueError(f"{len(data)} bytes, {answer.getheaders()}")
    client.world.books.paid("download", charged)
    return charged


def search(client: Client) -> int:
    """A question without a key."""
    question = client.chance.choice(QUESTIONS).replace(" ", "%20")
    data = json.loads(whole(client.ask("GET", f"/api/v1/datasets/search?q={question}")))
    if data["data"]["total"] < len(data["data"]["results"]):
        raise ValueError(f"{data}")
    client.world.books.paid("search", 0)
    return 0


def browse(client: Client) -> int:
    """What anybody may read."""
    slug = client.chance.choice(DATASETS)
    for path in ("/api/v1/datasets", f"/api/v1/datasets/{slug}", f"/api/v1/datasets/{slug}/schema",
                 f"/api/v1/datasets/{slug}/sample", "/api/v1/datasets/tpch-region", "/readyz"):
        whole(client.ask("GET", path))
    client.world.books.paid("browse", 0)
    return 0


def whole(answer: http.client.HTTPResponse) -> bytes:
    """The body of an answer that has to be right."""
    data = answer.read()
    if answer.status != 200:
        raise ValueError(f"{answer.status} {data[:300]!r}")
    return data


# The most that one call of each can cost without its end being seen.
KINDS: dict[str, tuple[Callable[[Client], int], int]] = {
    "page": (page, 1_000), "stream": (stream, 20_000), "download": (download, 20_000), "search": (search, 0),
    "browse": (browse, 0)}


def use(world: World, kind: str, number: int) -> None:
    """One user, for as long as the soak lasts."""
    client, (action, most) = Client(world, number), KINDS[kind]
    while not world.over.is_set():
        restarts = world.restarts
        try:
            action(client)
        except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError) as error:
            client.close()
            excused = world.restarting.is_set() or restarts != world.restarts
            world.books.broken(kind, most, repr(error), excused)
            time.sleep(0.2)
        time.sleep(PAUSE_SECONDS * client.chance.random())
    client.close()


def publish(world: World) -> None:
    """A new version of a dataset, again and again."""
    made, number = world.site.data / "demo", 1
    while not world.over.wait(PUBLISH_SECONDS):
        number += 1
        slug = "region" if number % 2 else "nation"
        outcome = subprocess.run(
            [str(part) for part in (world.site.binaries / "mercato-tools", "publish", made / slug, "--parquet",
                                    made / f"{slug}.parquet", "--version", f"1.{number}.0", "--data", world.site.data)],
            capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if outcome.returncode != 0:
            world.books.fault(f"publish {slug} 1.{number}.0: {outcome.stderr.decode()}")
        world.books.paid("publication", 0)


def change_keys(world: World) -> None:
    """Keys come, are used, are rotated and revoked; a revoked one is refused at once."""
    client = Client(world, 7)
    while not world.over.wait(KEYS_SECONDS):
        restarts = world.restarts
        try:
            world.new_key()
            key_id, key = world.keys.pop()
            client.close()
            answer = client.ask("GET", "/api/v1/account", key=key)
            whole(answer)
            if client.chance.random() < 0.5:
                rotated = world.site.tools("key", "rotate", "--key", key_id, "--grace-seconds", "0")
                whole(client.ask("GET", "/api/v1/account", key=rotated["key"]))
                world.site.tools("key", "revoke", "--key", rotated["id"])
            else:
                world.site.tools("key", "revoke", "--key", key_id)
            answer = client.ask("GET", "/api/v1/account", key=key)
            answer.read()
            if answer.status != 401:
                raise ValueError(f"a key that has ended: {answer.status}")
            world.books.paid("key change", 0)
        except (OSError, http.client.HTTPException, ValueError, SystemExit) as error:
            client.close()
            world.books.broken("key change", 0, repr(error), world.restarting.is_set() or restarts != world.restarts)


def restart(world: World) -> None:
    """As an operator does it, under load."""
    world.restarting.set()
    code = world.site.stop()
    if code != 0:
        world.books.fault(f"a restart ended with {code}")
    world.site.__enter__()
    world.restarts += 1
    # Those who began before it are excused once more.
    time.sleep(1)
    world.restarting.clear()


def watch(world: World, seconds: float) -> list[tuple[float, Footprint]]:
    """Restarts in the first half, and what the server takes in the second."""
    began, samples = time.monotonic(), []
    while (passed := time.monotonic() - began) < seconds:
        due = (world.restarts + 1) * seconds * 0.45 / RESTARTS
        if world.restarts < RESTARTS and passed >= due:
            restart(world)
        if not world.site.is_running():
            world.books.fault("the server is gone")
            break
        if passed > seconds / 2:
            samples.append((passed, world.site.footprint()))
        time.sleep(SAMPLE_SECONDS)
    return samples


def growth(samples: list[tuple[float, Footprint]]) -> tuple[dict[str, float], list[str]]:
    """The first and the last fifth of the second half beside each other."""
    fifth = max(1, len(samples) // 5)

    def middle(part: list[tuple[float, Footprint]], of: Callable[[Footprint], float]) -> float:
        return statistics.median(of(footprint) for _, footprint in part)

    figures: dict[str, float] = {}
    faults = []
    for name, of, allowed in (
            ("mebibytes", lambda one: one.resident_mebibytes, GROWTH_MEBIBYTES_MAX),
            ("mebibytesWithoutFiles", lambda one: one.own_mebibytes, GROWTH_MEBIBYTES_MAX),
            ("descriptors", lambda one: one.descriptors, DESCRIPTORS_GROWTH_MAX),
            ("threads", lambda one: one.threads, THREADS_GROWTH_MAX)):
        first, last = middle(samples[:fifth], of), middle(samples[-fifth:], of)
        figures[f"{name}First"], figures[f"{name}Last"] = first, last
        spare = max(allowed, first * GROWTH_SHARE_MAX) if name.startswith("mebibytes") else allowed
        if last > first + spare:
            faults.append(f"{name} grew from {first} to {last}")
    return figures, faults


def main() -> int:
    """Reads the options, soaks, and looks into the books."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--without", action="append", default=[], choices=[*KINDS, "publish", "keys"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Site(arguments.binaries.resolve(), Path(name), ["--drain-seconds", "20", "--free-queries-per-month", "0"])
        site.prepare()
        account = site.tools("account", "create", "--name", "soak")["id"]
        site.tools("credits", "buy", "--account", account, "--credits", CREDITS)
        world = World(site, account)
        for _ in range(3):
            world.new_key()
        with site:
            users = [(kind, number) for number, kind in enumerate(
                ("page", "page", "page", "stream", "stream", "download", "search", "browse"))]
            threads = [threading.Thread(target=use, args=(world, kind, number)) for kind, number in users
                       if kind not in arguments.without]
            threads += [threading.Thread(target=one, args=(world,)) for one, word in
                        ((publish, "publish"), (change_keys, "keys")) if word not in arguments.without]
            for thread in threads:
                thread.start()
            samples = watch(world, arguments.minutes * 60)
            world.over.set()
            for thread in threads:
                thread.join(TIMEOUT_SECONDS * 2)
            code = site.stop()
        faults = world.books.faults + ([] if code == 0 else [f"the end came with {code}"])
        figures, grown = growth(samples) if samples else ({}, [])
        faults += grown + check_books(site, world)
    print(json.dumps({"minutes": arguments.minutes, "restarts": world.restarts, "met": dict(world.books.met),
                      "charged": world.books.charged, **figures}, indent=2))
    for fault in faults:
        print(f"FAULT {fault[:600]}", file=sys.stderr)
    return 1 if faults else 0


def check_books(site: Site, world: World) -> list[str]:
    """Every entry adds up, and the account paid what its clients saw, and no more than they asked for beside it."""
    verified = site.tools("ledger", "verify")
    shown = site.tools("account", "show", "--account", world.account)
    spent = CREDITS - int(shown.get("credits", shown.get("balance", -1)))
    low, high = world.books.charged, world.books.charged + world.books.uncertain
    print(f"the books: {verified}; spent {spent}, clients know of {low} and of {high - low} more at most")
    return [] if low <= spent <= high else [f"spent {spent}, expected {low} to {high}"]


if __name__ == "__main__":
    sys.exit(main())
