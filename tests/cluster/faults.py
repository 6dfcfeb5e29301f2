"""The faults of the cluster: each begins, lasts a while and is mended. Knows no load."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from database import Database
from servers import Server
from stores import Store

LONGEST_SECONDS = 4.0
# Longer than a lease, so that others settle the streams of a server that is cut off.
CUT_SECONDS = 14.0
# Every so many faults the standby is promoted.
PROMOTION_EVERY = 12


@dataclass
class Faults:
    """Does harm, mends it and counts."""

    database: Database
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
        kinds = [self.kill_server, self.kill_server, self.stop_server, self.kill_primary, self.kill_standby,
                 self.freeze_primary, self.cut_off, self.stall, self.swallow, self.swallow]
        if self.store is not None:
            kinds += [self.kill_store, self.kill_store]
        chosen = self.chance.choice(kinds)
        beside = self.chance.choice(self.servers) if self.chance.random() < 0.33 else None
        if beside is not None:
            self.counts["server killed beside another fault"] += 1
            beside.kill()
        chosen(self.chance.choice([server for server in self.servers if server is not beside]))
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

    def kill_primary(self, _: Server) -> None:
        """The database dies and returns."""
        self.counts["primary killed"] += 1
        self.database.primary.kill()
        self.wait()
        self.database.primary.start()
        self.database.wait_until_synchronous()

    def kill_standby(self, _: Server) -> None:
        """Commits wait until the standby is back."""
        self.counts["standby killed"] += 1
        self.database.standby.kill()
        self.wait()
        self.database.standby.start()
        self.database.wait_until_synchronous()

    def freeze_primary(self, _: Server) -> None:
        """The database says nothing for a while, and goes on where it was."""
        self.counts["primary frozen"] += 1
        self.database.primary.freeze(True)
        try:
            self.wait(CUT_SECONDS)
        finally:
            self.database.primary.freeze(False)

    def kill_store(self, server: Server) -> None:
        """The object store is gone, and a server without a cache starts before it is back."""
        assert self.store is not None
        self.counts["store killed"] += 1
        self.store.kill()
        if self.chance.random() < 0.5:
            server.kill()
            server.forget()
            server.start()
        self.wait()
        self.store.start()

    def cut_off(self, server: Server) -> None:
        """A server loses its connections to the database, and gets no further ones."""
        self.counts["server cut off"] += 1
        server.proxy.cut()
        self.wait(CUT_SECONDS)
        server.proxy.mend()

    def stall(self, server: Server) -> None:
        """Nothing passes between a server and the database, and no connection ends."""
        self.counts["server stalled"] += 1
        server.proxy.stall()
        self.wait(CUT_SECONDS)
        server.proxy.mend()

    def swallow(self, server: Server) -> None:
        """The answer to a commit is lost."""
        before = server.proxy.swallowed
        server.proxy.swallow_next()
        deadline = time.monotonic() + LONGEST_SECONDS
        while server.proxy.swallowed == before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.counts["answer to a commit swallowed" if server.proxy.swallowed > before else "nothing to swallow"] += 1
        server.proxy.mend()

    def promote(self) -> None:
        """The primary is lost for good."""
        self.counts["standby promoted"] += 1
        ordered = self.database.promote()
        deadline = time.monotonic() + 60
        while self.last_paid() < ordered and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.last_paid() < ordered:
            raise SystemExit("nothing was paid within 60 s of a promotion")
        self.promotions.append(self.last_paid() - ordered)
        self.database.standby = self.database.new_standby()
        for server in self.servers:
            server.wait_until_ready()
