"""The faults of the cluster: each begins, lasts a while and is mended. Knows no load."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from database import Database
from machines import Machine, part
from servers import Server
from stores import Store
from wire import DatabaseProxy

LONGEST_SECONDS = 4.0
# Longer than a lease, so that others settle the streams of a server that is cut off.
CUT_SECONDS = 14.0
# Every so many faults the standby is promoted.
PROMOTION_EVERY = 12
PAID_SECONDS_MAX = 60
# Longest that the answers to so many commits may take to be swallowed.
SWALLOW_SECONDS_MAX = 1_800


@dataclass
class Faults:
    """Does harm, mends it and counts."""

    database: Database
    # The machine with the address of the database, which leads on to the primary, and its ways by who takes them.
    gate: Machine
    proxies: dict[str, DatabaseProxy]
    servers: list[Server]
    chance: random.Random
    # The moment of the newest answer that was paid for.
    last_paid: Callable[[], float]
    # Where the datasets lie, if not with the servers.
    store: Store | None
    counts: Counter[str] = field(default_factory=Counter)
    # From the order to promote to the first paid answer, in seconds.
    promotions: list[float] = field(default_factory=list)

    def cause(self, count: int) -> None:
        """So many of them, some at the same time as another."""
        for number in range(1, count + 1):
            if number % PROMOTION_EVERY == 0:
                self.promote()
            else:
                self.one()
            time.sleep(self.chance.uniform(0.2, 2))

    def one(self) -> None:
        """One fault, in a third of all cases with a server killed beside it."""
        kinds = [self.kill_server, self.kill_server, self.stop_server, self.freeze_server, self.lose_server,
                 self.unplug_server, self.unplug_server, self.part_from_database, self.part_from_database, self.refuse,
                 self.kill_primary, self.freeze_primary, self.unplug_primary, self.kill_standby, self.part_standby,
                 self.swallow, self.swallow]
        if self.store is not None:
            kinds += [self.unplug_store, self.part_from_store, self.kill_store if self.store.is_on_disk else self.unplug_store]
        chosen = self.chance.choice(kinds)
        beside = self.chance.choice(self.servers) if self.chance.random() < 0.33 else None
        if beside is not None:
            self.counts["server killed beside another fault"] += 1
            beside.kill()
        server = self.chance.choice([server for server in self.servers if server is not beside])
        print(f"{time.strftime('%H:%M:%S')} {chosen.__name__} {server.folder.name}"
              f"{f', {beside.folder.name} killed' if beside else ''}", flush=True)
        chosen(server)
        for server in self.servers:
            server.wait_until_ready()

    def wait(self, most: float = LONGEST_SECONDS) -> None:
        """As long as a fault lasts."""
        time.sleep(self.chance.uniform(0, most))

    def kill_server(self, server: Server) -> None:
        """A server is gone; its streams are settled by others where it stays away."""
        self.counts["server killed"] += 1
        server.kill()
        self.wait(self.chance.choice((LONGEST_SECONDS, CUT_SECONDS)))

    def stop_server(self, server: Server) -> None:
        """A server is stopped as an operator does it."""
        self.counts["server stopped"] += 1
        server.stop()

    def freeze_server(self, server: Server) -> None:
        """A server stands still, and goes on where it was, as a virtual machine that is moved; its lease may be over."""
        self.counts["server frozen"] += 1
        server.freeze(True)
        self.wait(CUT_SECONDS)
        server.freeze(False)

    def lose_server(self, server: Server) -> None:
        """The machine of a server is gone, and tells nobody; another one takes its address."""
        self.counts["machine of a server lost"] += 1
        server.machine.unplug()
        server.kill()
        self.wait(CUT_SECONDS)
        server.machine.replace()

    def unplug_server(self, server: Server) -> None:
        """A server loses everybody, and keeps its connections if it is back in time."""
        self.counts["link of a server down"] += 1
        server.machine.unplug()
        self.wait(CUT_SECONDS)
        server.machine.plug()

    def part_from_database(self, server: Server) -> None:
        """A server loses the database, and nobody else."""
        self.counts["server parted from the database"] += 1
        self.part(server.machine, self.gate)

    def refuse(self, server: Server) -> None:
        """A server's connections to the database end, and further ones are refused."""
        self.counts["connections of a server refused"] += 1
        server.proxy.cut()
        self.wait(CUT_SECONDS)
        server.proxy.mend()

    def part(self, one: Machine, other: Machine) -> None:
        """Two machines lose each other."""
        part(one, other)
        self.wait(CUT_SECONDS)
        part(one, other, is_parted=False)

    def kill_primary(self, _: Server) -> None:
        """The database dies and returns."""
        self.counts["primary killed"] += 1
        self.database.primary.kill()
        self.wait()
        self.database.primary.start()
        self.database.wait_until_synchronous()

    def freeze_primary(self, _: Server) -> None:
        """The database says nothing for a while, and goes on where it was."""
        self.counts["primary frozen"] += 1
        self.database.primary.freeze(True)
        try:
            self.wait(CUT_SECONDS)
        finally:
            self.database.primary.freeze(False)

    def unplug_primary(self, _: Server) -> None:
        """The database loses everybody."""
        self.counts["link of the primary down"] += 1
        self.database.primary.machine.unplug()
        self.wait(CUT_SECONDS)
        self.database.primary.machine.plug()
        self.database.wait_until_synchronous()

    def kill_standby(self, _: Server) -> None:
        """Commits wait until the standby is back."""
        self.counts["standby killed"] += 1
        self.database.standby.kill()
        self.wait()
        self.database.standby.start()
        self.database.wait_until_synchronous()

    def part_standby(self, _: Server) -> None:
        """Commits wait until primary and standby reach each other."""
        self.counts["standby parted from the primary"] += 1
        self.part(self.database.primary.machine, self.database.standby.machine)
        self.database.wait_until_synchronous()

    def kill_store(self, server: Server) -> None:
        """The object store is gone, and a server without a cache may start before it is back."""
        assert self.store is not None
        self.counts["store killed"] += 1
        self.store.kill()
        self._empty(server)
        self.wait()
        self.store.start()

    def unplug_store(self, server: Server) -> None:
        """The object store loses everybody, and a server without a cache may start before it is back."""
        assert self.store is not None
        self.counts["link of the store down"] += 1
        self.store.machine.unplug()
        self._empty(server)
        self.wait(CUT_SECONDS)
        self.store.machine.plug()

    def part_from_store(self, server: Server) -> None:
        """One server loses the object store."""
        assert self.store is not None
        self.counts["server parted from the store"] += 1
        self.part(server.machine, self.store.machine)

    def _empty(self, server: Server) -> None:
        if self.chance.random() < 0.5:
            server.kill()
            server.forget()
            server.start()

    def swallow(self, server: Server) -> None:
        """The answer to a commit is lost."""
        before = server.proxy.swallowed
        server.proxy.swallow()
        deadline = time.monotonic() + LONGEST_SECONDS
        while server.proxy.swallowed == before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.counts["answer to a commit swallowed" if server.proxy.swallowed > before else "nothing to swallow"] += 1
        server.proxy.mend()

    def swallow_many(self, count: int) -> None:
        """The answers to so many commits are lost, on each way again as soon as one arrived."""
        for proxy in self.proxies.values():
            proxy.swallow(is_armed_again=True)
        deadline = time.monotonic() + SWALLOW_SECONDS_MAX
        while (done := sum(proxy.swallowed for proxy in self.proxies.values())) < count:
            if time.monotonic() > deadline:
                raise SystemExit(f"{done} of {count} answers were swallowed within {SWALLOW_SECONDS_MAX} s")
            time.sleep(0.1)
        for name, proxy in self.proxies.items():
            proxy.mend()
            self.counts[f"answer to a commit swallowed, {name}"] = proxy.swallowed

    def promote(self) -> None:
        """The primary is lost for good, in half of the cases with its link, so that nobody is told before the address moves."""
        is_silent = self.chance.random() < 0.5
        self.counts["standby promoted, machine lost" if is_silent else "standby promoted"] += 1
        print(f"{time.strftime('%H:%M:%S')} promote{', silently' if is_silent else ''}", flush=True)
        if is_silent:
            self.database.primary.machine.unplug()
            self.wait()
        ordered = self.database.promote()
        if is_silent:
            # The machine that has the address now knows no connection of the former one.
            for proxy in self.proxies.values():
                proxy.cut()
                proxy.mend()
        deadline = time.monotonic() + PAID_SECONDS_MAX
        while self.last_paid() < ordered and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.last_paid() < ordered:
            raise SystemExit(f"nothing was paid within {PAID_SECONDS_MAX} s of a promotion")
        self.promotions.append(self.last_paid() - ordered)
        self.database.standby = self.database.new_standby()
        for server in self.servers:
            server.wait_until_ready()
