#!/usr/bin/env python3
"""Three servers with one set of books on PostgreSQL, used through nginx while everything fails at random.

    python tests/cluster/cluster.py --binaries target/debug                    200 faults
    python tests/cluster/cluster.py --binaries target/debug --short            12 faults
    python tests/cluster/cluster.py --binaries target/debug --store rclone     the versions in object storage; or moto
    python tests/cluster/cluster.py --binaries target/debug --swallow 1000     answers to so many commits are lost instead

PostgreSQL has a synchronous standby. Servers, primary, standby, store and the address of the database are machines with a
network of their own, the load and nginx are at the bridge between them:

    load, nginx ── bridge ─┬─ server 1, 2, 3
                           ├─ gate (the address of the database) ─┬─ primary, standby
                           └─ store

Killed without warning: servers, primary, standby, store. They freeze, their links go down, and two of them lose each other.
Connections are refused, answers to commits are lost, machines are gone for good, and the standby is promoted. Meanwhile
customers walk through pages, stream, resume, download, and an operator sells credits, changes keys and publishes.

Exit code 0 only if afterwards every answer that came whole is paid exactly once, nothing that was refused is paid, walks saw
every row once, entries and balances add up, no reservation is left, and every key is what it should be at every server.
Needs root, iproute2, PostgreSQL, nginx, and the packages of requirements.txt beside this file.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

import checks
from balancer import Balancer
from database import USER, Database
from machines import Network, enter
from faults import Faults
from load import USERS, Account, User, World, publish, use
from servers import PORT, Server
from stores import STORES
from wire import DatabaseProxy

SERVERS = 3
ROWS = 50_000
SHORT_FAULTS = 12
# What a lease lasts, and how long it takes another server at most to settle what it covered.
LEASE_SECONDS, SETTLE_SECONDS = 10, 5
# Longest that a reservation may stay behind its lease while faults go on, in which nobody may be there to settle it.
OVERDUE_SECONDS_MAX = 60
OVERDUE = """SELECT coalesce(max(extract(epoch FROM clock_timestamp() - s.lease_until)), 0)::float
    FROM reservation r JOIN server s ON s.id = r.server"""
TOOL_SECONDS_MAX = 180
# Connections of a server to the database.
SESSIONS_MAX = 6
# Longest that a server may leave a transaction open with nothing under way: longer than the longest cut.
IDLE_SECONDS_MAX = 20
IDLE = """SELECT coalesce(max(extract(epoch FROM clock_timestamp() - state_change)), 0)::float
    FROM pg_stat_activity WHERE state = 'idle in transaction' AND application_name = 'mercato'"""


def main() -> int:
    """Reads the options, builds the cluster, harms it and looks at what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_FAULTS} faults")
    parser.add_argument("--swallow", type=int, metavar="N", help="no faults but N answers to commits that are lost")
    parser.add_argument("--store", choices=sorted(STORES), help="the versions in object storage, which fails, too")
    parser.add_argument("--seed", type=int, default=None, help="the same faults again; their moments differ")
    parser.add_argument("--keep", type=Path, help="a new folder for logs and tables, which stays")
    given = parser.parse_args()
    enter()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mercato-cluster.") as name:
        folder = Path(name) if given.keep is None else given.keep
        folder.mkdir(exist_ok=True)
        # The database has an owner of its own.
        folder.chmod(0o755)
        cluster = Cluster(given.binaries.resolve(), folder, given.store)
        try:
            faults = cluster.endure(SHORT_FAULTS if given.short else given.faults, given.swallow, seed)
        finally:
            cluster.stop()
    for fault in faults:
        print(f"FAULT {fault[:1000]}", file=sys.stderr)
    return 1 if faults else 0


class Cluster:
    """The database, the servers, the store and nginx."""

    def __init__(self, binaries: Path, folder: Path, store: str | None) -> None:
        self.binaries, self.folder = binaries, folder
        self.network = Network()
        (folder / "store").mkdir()
        self.store = None if store is None else STORES[store](folder / "store", self.network.machine("store"))
        self.balancer: Balancer | None = None
        self.servers: list[Server] = []
        self.overdue = self.longest_idle = 0.0
        self.database = Database(folder / "database", self.network)
        self.gate = self.network.machine("gate")
        self.proxies: dict[str, DatabaseProxy] = {}
        self.proxy = self.new_proxy("operator")
        try:
            self._build()
        except BaseException:
            self.stop()
            raise

    def _build(self) -> None:
        self.tools("books", "migrate", "--books", self.url())
        dataset = self.folder / "numbers"
        dataset.mkdir()
        (dataset / "dataset.toml").write_text('slug = "numbers"\n[title]\nen = "Numbers"\n')
        chance = random.Random(1)
        words = [f"{chance.randrange(ROWS):05d}{'lorem ipsum ' * 12}" for _ in range(ROWS)]
        (self.folder / "numbers.csv").write_text(
            "id,word\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
        self.publish(dataset, self.folder / "numbers.csv", "1.0.0")
        data, flags, variables = self.folder / "data", (), {}
        if self.store is not None:
            variables = self.store.variables()
            # Room for the walked version and a few of the changing one.
            data, flags = None, ("--store", variables["MERCATO_TEST_S3"], "--cache-bytes", "40MiB")
        for number in range(1, SERVERS + 1):
            folder = self.folder / f"server-{number}"
            folder.mkdir()
            machine, proxy = self.network.machine(folder.name), self.new_proxy(folder.name)
            self.servers.append(Server(self.binaries, folder, machine, proxy, data, flags, variables))
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_until_ready()
        # Requests are counted as they are sent, so nginx sends none twice.
        addresses = [f"{server.machine.address}:{PORT}" for server in self.servers]
        self.balancer = Balancer(self.folder / "nginx", addresses, "nginx.conf", parameters=" max_fails=0")

    def new_proxy(self, name: str) -> DatabaseProxy:
        """A further way to the primary."""
        self.proxies[name] = DatabaseProxy(self.gate, lambda: self.database.primary.machine.address)
        return self.proxies[name]

    def publish(self, dataset: Path, rows: Path, version: str) -> None:
        """Publishes a version where the servers find it."""
        place = ("--data", self.folder / "data")
        if self.store is not None:
            place = ("--store", self.store.variables()["MERCATO_TEST_S3"], "--books", self.url())
        self.tools("publish", dataset, "--input", rows, "--version", version, *place)

    def publish_news(self, number: int) -> str | None:
        """Publishes a version of the dataset that changes; why not, if not."""
        dataset = self.folder / "news"
        dataset.mkdir(exist_ok=True)
        (dataset / "dataset.toml").write_text('slug = "news"\n[title]\nen = "News"\n')
        (self.folder / "news.csv").write_text("id\n" + "".join(f"{number}\n" for _ in range(1_000)))
        try:
            self.publish(dataset, self.folder / "news.csv", f"1.{number}.0")
        except SystemExit as failed:
            return str(failed)
        return None

    def url(self) -> str:
        """The books, for the operator's commands."""
        return f"postgres://{USER}@{self.gate.address}:{self.proxy.port}/postgres"

    def tools(self, *arguments: Any) -> str:
        """What an operator's command prints."""
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments)]
        variables = {} if self.store is None else self.store.variables()
        outcome = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                                 env=os.environ | variables, timeout=TOOL_SECONDS_MAX)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr}")
        return outcome.stdout

    def account(self, user: User) -> Account:
        """A new customer."""
        books = ("--books", self.url(), "--json")
        made = json.loads(self.tools("account", "create", "--name", "load", *books))["id"]
        self.tools("credits", "buy", "--account", made, "--credits", user.bought, *books)
        cap = ("--credits-per-day", user.bought) if user.is_capped else ()
        key = json.loads(self.tools("key", "create", "--account", made, *cap, *books))["key"]
        return Account(made, key, user.is_exact, user.bought)

    def endure(self, count: int, swallowed: int | None, seed: int) -> list[str]:
        """Load and faults at the same time, then the checks."""
        assert self.balancer is not None
        world = World(self.balancer.port, self.servers, ROWS)
        accounts = [self.account(user) for user in USERS]
        for server in self.servers:
            server.wait_until_known([account.key for account in accounts])
        began = time.monotonic()
        threads = [threading.Thread(target=use, args=(world, user.action, account, seed + number))
                   for number, (user, account) in enumerate(zip(USERS, accounts, strict=True))]
        threads.append(threading.Thread(target=self.watch, args=(world,)))
        if self.store is not None:
            threads.append(threading.Thread(target=publish, args=(world, self.publish_news)))
        for thread in threads:
            thread.start()
        faults = Faults(self.database, self.gate, self.proxies, self.servers, random.Random(seed),
                        lambda: world.known.last_paid, self.store)
        try:
            time.sleep(2)
            if swallowed is None:
                faults.cause(count)
            else:
                faults.swallow_many(swallowed)
            time.sleep(2)
        finally:
            world.over.set()
            for thread in threads:
                thread.join()
        seconds = time.monotonic() - began
        # Streams that their clients left are settled, and those of servers that are gone when their lease is over.
        time.sleep(LEASE_SECONDS + SETTLE_SECONDS)
        found = self.compare(world, accounts)
        print(json.dumps({"seconds": round(seconds), "faults": dict(faults.counts), "met": dict(world.known.met.most_common()),
                          "acknowledged": len(world.known.paid), "refused": len(world.known.refused),
                          "longestBehindLeaseSeconds": round(self.overdue, 1),
                          "longestIdleInTransactionSeconds": round(self.longest_idle, 1),
                          "secondsFromPromotionToPaidAnswer": [round(one, 2) for one in faults.promotions]}, indent=2))
        return found

    def watch(self, world: World) -> None:
        """How long reservations stay behind the lease of their server, and locks behind a server that says nothing."""
        while not world.over.wait(1):
            try:
                with self.database.primary.connect() as connection:
                    (overdue,), (idle,) = (connection.execute(text).fetchone() or (0,) for text in (OVERDUE, IDLE))
                    self.overdue, self.longest_idle = max(self.overdue, overdue), max(self.longest_idle, idle)
            except psycopg.Error:
                pass

    def compare(self, world: World, accounts: list[Account]) -> list[str]:
        """Everything that is wrong."""
        found = list(world.known.faults)
        if self.overdue > OVERDUE_SECONDS_MAX:
            found.append(f"a reservation stayed {self.overdue:.0f} s behind the lease of its server")
        if self.longest_idle > IDLE_SECONDS_MAX:
            found.append(f"a transaction held its locks for {self.longest_idle:.0f} s while its server said nothing")
        for server in self.servers:
            found += self.compare_keys(server, world)
            newest = max(world.known.published, default=0)
            served = server.version_of("news") if newest else None
            if newest and (served is None or int(served.split(".")[1]) < newest):
                found.append(f"{server.folder.name} serves news {served}, 1.{newest}.0 was published")
        with self.database.primary.connect() as connection:
            found += checks.of_sessions(connection, SERVERS * SESSIONS_MAX)
            found += checks.of_tables(connection)
            found += checks.of_requests(connection, world.known)
            found += checks.of_accounts(connection, world.known, accounts)
        found += checks.of_ledger(self.binaries, self.url())
        for server in self.servers:
            server.stop()
            found += [f"a stop ended with {code}" for code in server.codes if code != 0]
            found += server.faults()
        if len(world.known.paid) == 0:
            found.append("nothing was paid at all")
        return found

    def compare_keys(self, server: Server, world: World) -> list[str]:
        """Every key is what it should be at this server."""
        found = []
        for keys, expected in ((world.known.valid, 200), (world.known.revoked, 401)):
            for key in keys:
                status = server.account_status(key)
                if status != expected:
                    found.append(f"{server.folder.name}: a key is answered {status}, expected {expected}")
        return found

    def stop(self) -> None:
        """Ends everything."""
        for server in self.servers:
            server.kill()
        if self.balancer is not None:
            self.balancer.stop()
        self.database.stop()
        if self.store is not None:
            self.store.kill()


if __name__ == "__main__":
    sys.exit(main())
