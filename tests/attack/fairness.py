#!/usr/bin/env python3
"""A customer who asks for little must be served at once while others ask for all they can get, through one proxy: behind
nginx with the configuration of docs/examples a modest customer asks for a small page now and then, at first alone, then
beside many greedy customers, then beside one greedy customer with many connections.

    python tests/attack/fairness.py --binaries target/release          about a minute and a half
    python tests/attack/fairness.py --binaries target/debug --short    half of that

Exit code 0 only if the modest customer has no error, and, in the full form, its slowest answers in a hundred take at
most so many times what they take with nothing beside them. A greedy customer may be sent away, and then waits for as long as it is told.
Needs nothing but Python and nginx.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import proxies
from customers import Customer, Habit, Phase, page_request
from proxies import Proxy
from site_under_test import Site, processor_seconds, raise_descriptor_limit

GREEDY_CONNECTIONS = 64
GREEDY_ADDRESS = "127.0.0.103"
MODEST = Habit("modest", 40, reconnects=False, address="127.0.0.101")
# How many times its quiet p99 the p99 of the modest customer may be.
P99_TIMES_QUIET_MAX = 5.0
# Less than this is a matter of how fast a machine wakes its programs up, so it is taken for this.
QUIET_P99_MILLISECONDS_MIN = 2.0
# How long the modest customer is watched alone, each of three times, and beside others, each of two times.
QUIET_SECONDS = {True: 4.0, False: 10.0}
GREEDY_SECONDS = {True: 10.0, False: 20.0}
# Until connections are open, or what others asked for last is done.
SETTLE_SECONDS = 1.0
RECEIVE_BYTES = 1 << 18
HEAD_BYTES_MAX = 1 << 14
STATUSES_SENT_AWAY = (429, 503)


@dataclass(frozen=True)
class Greed:
    """Greedy customers: how many accounts share the connections, and how large the pages are."""

    name: str
    accounts: int
    page_rows: int


GREEDS = (Greed("many customers", GREEDY_CONNECTIONS, 1_000), Greed("one customer", 1, 10_000))


@dataclass
class Loot:
    """What the greedy customers got."""

    pages: list[int] = field(default_factory=lambda: [0] * GREEDY_CONNECTIONS)
    statuses: Counter[int] = field(default_factory=Counter)
    # More than there are at one time where some were ended and others opened in their places.
    connections: int = 0
    faults: list[str] = field(default_factory=list)
    processor_seconds: float = 0.0


class Greedy(asyncio.BufferedProtocol):
    """One connection of a greedy customer: asks again as soon as it has an answer. Reads heads, counts the bytes of
    bodies."""

    # Nobody looks at the bodies, so all connections receive into one place.
    room = bytearray(RECEIVE_BYTES)

    def __init__(self, number: int, request: bytes, loot: Loot, lost: asyncio.Event) -> None:
        self.number, self.request, self.loot, self.lost = number, request, loot, lost
        self.head, self.missing, self.pause, self.status = b"", 0, 0.0, 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """The next request."""
        if self.transport is not None and not self.transport.is_closing():
            self.head = b""
            self.transport.write(self.request)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.room

    def buffer_updated(self, nbytes: int) -> None:
        if self.missing:
            self.missing -= nbytes
        else:
            self.head += self.room[:nbytes]
            head, mark, body = self.head.partition(b"\r\n\r\n")
            if not mark:
                if len(self.head) > HEAD_BYTES_MAX:
                    self.fail(f"no head in {self.head[:200]!r}")
                return
            self.begin(head)
            self.missing -= len(body)
        if self.missing == 0:
            self.end()
        elif self.missing < 0:
            self.fail(f"{-self.missing} bytes behind an answer")

    def begin(self, head: bytes) -> None:
        """A head has come."""
        first, *lines = head.split(b"\r\n")
        fields = dict(line.lower().split(b":", 1) for line in lines)
        self.status, self.missing = int(first.split(b" ")[1]), int(fields[b"content-length"])
        self.pause = float(fields.get(b"retry-after", b"0"))

    def end(self) -> None:
        """An answer has come whole."""
        self.loot.statuses[self.status] += 1
        if self.status == 200:
            self.loot.pages[self.number] += 1
            self.ask()
        elif self.status in STATUSES_SENT_AWAY and self.pause > 0:
            asyncio.get_running_loop().call_later(self.pause, self.ask)
        else:
            self.fail(f"{self.status}, Retry-After {self.pause:g}")

    def fail(self, what: str) -> None:
        """Something that a greedy customer must not meet either."""
        self.loot.faults.append(f"a greedy customer: {what}")
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    def close(self) -> None:
        """Ends the connection without waiting for what is on its way."""
        if self.transport is not None:
            self.transport.abort()


def be_greedy(port: int, requests: list[bytes], orders: Connection) -> None:
    """The process of all greedy connections, each with its request."""
    loot = Loot()
    asyncio.run(grab(port, requests, orders, loot))
    used = resource.getrusage(resource.RUSAGE_SELF)
    loot.processor_seconds = used.ru_utime + used.ru_stime
    orders.send(loot)


async def grab(port: int, requests: list[bytes], orders: Connection, loot: Loot) -> None:
    """All greedy connections, until an order to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(orders.fileno(), stop.set)

    async def one(number: int, request: bytes) -> None:
        # A proxy may end a connection; the next is opened in its place.
        while not stop.is_set():
            await one_connection(port, number, request, loot, stop)

    await asyncio.gather(*(one(number, request) for number, request in enumerate(requests)))


async def one_connection(port: int, number: int, request: bytes, loot: Loot, stop: asyncio.Event) -> None:
    """A greedy customer's connection, to its end or that of the whole."""
    loot.connections += 1
    lost = asyncio.Event()
    _, customer = await asyncio.get_running_loop().create_connection(
        lambda: Greedy(number, request, loot, lost), "127.0.0.1", port, local_addr=(GREEDY_ADDRESS, 0))
    waits = [asyncio.ensure_future(event.wait()) for event in (lost, stop)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    customer.close()


def steal(site: Site, proxy: Proxy, modest: Customer, requests: list[bytes], greed: Greed,
          seconds: float) -> tuple[Phase, Loot]:
    """What the modest customer meets beside the greedy ones, and what they get."""
    pipe, other = multiprocessing.Pipe()
    greedy = multiprocessing.Process(target=be_greedy, args=(proxy.port, requests, other), daemon=True)
    before = [processor_seconds(program.process()) for program in (site, proxy)]
    greedy.start()
    other.close()
    began = time.monotonic()
    time.sleep(seconds)
    beside = modest.phase(f"beside {greed.name}")
    pipe.send("stop")
    loot: Loot = pipe.recv()
    took = time.monotonic() - began
    greedy.join()
    after = [processor_seconds(program.process()) for program in (site, proxy)]
    server, nginx = ((now - then) / took for now, then in zip(after, before, strict=True))
    print(f"greedy, {greed.name}: {sum(loot.pages) / took:.0f} pages of {greed.page_rows} rows a second, "
          f"{min(loot.pages)} to {max(loot.pages)} a connection, {loot.connections} connections, {dict(loot.statuses)}\n"
          f"  of {os.cpu_count()} processors: server {server:.2f}, nginx {nginx:.2f}, greedy customers "
          f"{loot.processor_seconds / took:.2f}", flush=True)
    return beside, loot


def check(site: Site, proxy: Proxy, modest_key: str, requests: dict[Greed, list[bytes]], short: bool) -> list[str]:
    """Quiet, greed, quiet again; what went wrong."""
    modest = Customer(MODEST, proxy.port, page_request(modest_key))
    between, quiet, greedy = Phase("between"), Phase("quiet"), []
    try:
        rest(modest, between, quiet, QUIET_SECONDS[short])
        for greed in GREEDS:
            greedy.append(steal(site, proxy, modest, requests[greed], greed, GREEDY_SECONDS[short]))
            rest(modest, between, quiet, QUIET_SECONDS[short])
    finally:
        modest.stop()
    faults = [f"the modest customer: {error}" for error in (between.errors + quiet.errors)[:3]]
    allowed = P99_TIMES_QUIET_MAX * max(quiet.quantile(0.99), QUIET_P99_MILLISECONDS_MIN)
    print(f"\n{'answers':>8} {'p50 ms':>8} {'p99 ms':>8} {'× quiet':>8}  the modest customer; {allowed:.1f} ms are allowed")
    for phase in (quiet, *(beside for beside, _ in greedy)):
        p50, p99 = phase.quantile(0.5), phase.quantile(0.99)
        print(f"{len(phase.latencies):>8} {p50:>8.2f} {p99:>8.2f} {p99 / quiet.quantile(0.99):>8.2f}  {phase.name}")
    for beside, loot in greedy:
        p99 = beside.quantile(0.99)
        faults += [f"{beside.name}: {error}" for error in beside.errors[:3] + loot.faults[:3]]
        if min(loot.pages) == 0:
            faults.append(f"{beside.name}: a greedy connection got nothing, so this was no measure")
        # The short form runs on busy machines with debug programs. What is no number is a fault as well.
        if not short and not p99 <= allowed:
            faults.append(f"{beside.name}: p99 {p99:.1f} ms, at most {allowed:.1f} ms are allowed")
    return faults


def rest(modest: Customer, between: Phase, quiet: Phase, seconds: float) -> None:
    """Adds what the modest customer meets alone, when what was before has gone."""
    time.sleep(SETTLE_SECONDS)
    between.add(modest.phase("between"))
    time.sleep(seconds)
    quiet.add(modest.phase("quiet"))


def main() -> int:
    """Reads the options and checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as name:
        site = Site(arguments.binaries.resolve(), Path(name), proxies.TRUSTED)
        site.prepare()
        modest_key = site.new_account("modest")
        keys = [site.new_account(f"greedy {number}") for number in range(GREEDY_CONNECTIONS)]
        requests = {greed: [page_request(keys[number % greed.accounts], greed.page_rows)
                            for number in range(GREEDY_CONNECTIONS)] for greed in GREEDS}
        with site, proxies.busy_nginx(site.folder, site.port) as proxy:
            faults = check(site, proxy, modest_key, requests, arguments.short)
            faults += proxies.nginx_faults(proxy)
    for fault in faults:
        print(f"FAULT {fault[:500]}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
