#!/usr/bin/env python3
"""Queries that are as expensive as can be, of one account that pays nothing: twelve connections ask a table of millions of
rows for 99 texts that no row has, again and again, and some leave before their answer. Beside them a customer asks for one
row now and then. The server is one with its default bounds; only the limits of requests a minute and a day are lifted.

    python tests/attack/expensive.py --binaries target/release          about a minute
    python tests/attack/expensive.py --binaries target/debug --short    fewer rows, and no bound on latencies

Exit code 0 only if the customer has no error, attackers get nothing but refusals for too much work, and the server rests as
soon as they have gone; and, in the full form, if the customer's slowest answers in a hundred stay under a bound. Needs
nothing but Python.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from customers import Customer, Habit, Line, Phase
from site_under_test import Site
from wire import connect, split

SLUG = "sensors"
ROWS = {True: 300_000, False: 3_000_000}
CONNECTIONS = 12
CONDITIONS = 99
# Of ten queries, so many are not waited for.
LEAVING_OF_TEN = 3
LEAVE_SECONDS_MAX = 0.5
ATTACK_SECONDS = {True: 8.0, False: 40.0}
ANSWER_SECONDS_MAX = 60.0
P99_MILLISECONDS_MAX = 100.0
# From the last departure until the server rests, and what counts as rest: a share of one processor.
REST_SECONDS = {True: 0.5, False: 0.1}
REST_WATCHED_SECONDS = 0.5
REST_SHARE_MAX = 0.1
# A machine that is busy with other things takes long for the default of 2 s of processor time.
FLAGS = {True: ["--work-seconds", "0.2"], False: []}
FREE_QUERIES = 100
CUSTOMER = Habit("one row", 5, reconnects=False, address="127.0.0.101")
REFUSALS = ("QUERY_TOO_EXPENSIVE", "BUSY", "TOO_MANY_REQUESTS_IN_FLIGHT")


def publish(site: Site, rows: int) -> None:
    """A table whose texts never repeat, so that no index and no dictionary helps to search them."""
    folder = site.folder / SLUG
    folder.mkdir(parents=True)
    site.data.mkdir()
    (folder / "dataset.toml").write_text(f'slug = "{SLUG}"\n')
    table = site.folder / f"{SLUG}.csv"
    with table.open("w") as sink:
        sink.write("id,words\n")
        for start in range(0, rows, 10_000):
            sink.writelines(f"{row},reading {row} of station {row % 977}\n"
                            for row in range(start, min(rows, start + 10_000)))
    command = [site.binaries / "mercato-tools", "publish", folder, "--input", table, "--version", "1.0.0",
               "--sort-index", "id", "--data", site.data]
    outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"publish: exit {outcome.returncode}: {outcome.stderr.decode()}")


def free_key(site: Site) -> str:
    """The key of an account that never bought anything."""
    account = site.tools("account", "create", "--name", "greedy")["id"]
    return str(site.tools("key", "create", "--account", account)["key"])


def free_queries(port: int, key: str) -> int:
    """How many queries an account has left this month."""
    request = f"GET /api/v1/account HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\n\r\n".encode()
    line = Line(port, CUSTOMER.address)
    _, body = line.ask(request)
    line.close()
    return int(json.loads(body)["data"]["freeQueriesRemaining"])


def query(key: str, body: dict[str, object]) -> bytes:
    """The bytes of a query."""
    content = json.dumps(body).encode()
    return (f"POST /api/v1/datasets/{SLUG}/query HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n").encode() + content


async def attack(port: int, key: str, seconds: float) -> Counter[str]:
    """All attackers, for so long; what they met."""
    met: Counter[str] = Counter()
    chance = random.Random(7)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    async def one(number: int) -> None:
        asked = 0
        while loop.time() < end:
            asked += 1
            # Never the same filter, so that no result is kept.
            tests = [{"words": {"contains": f"~{number}.{asked}.{text}"}} for text in range(CONDITIONS)]
            reader, writer = await connect(port, number)
            writer.write(query(key, {"filters": {"$or": tests}}))
            leaves = chance.randrange(10) < LEAVING_OF_TEN
            patience = chance.uniform(0.05, LEAVE_SECONDS_MAX) if leaves else min(end - loop.time(), ANSWER_SECONDS_MAX)
            met[await answer(reader, max(patience, 0.05))] += 1
            writer.close()

    await asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    return met


async def answer(reader: asyncio.StreamReader, seconds: float) -> str:
    """The reason of a refusal, or what else came within some seconds."""
    received = b""
    try:
        async with asyncio.timeout(seconds):
            while not split(received):
                piece = await reader.read(1 << 16)
                if not piece:
                    return "ended"
                received += piece
    except TimeoutError:
        return "left"
    except OSError as error:
        return repr(error)
    status, body = split(received)[0]
    details = (json.loads(body).get("error") or {}).get("details") or {}
    return str(details.get("reason", status))


def own_seconds(process: int) -> float:
    """What a process has taken of the processors, to the nanosecond."""
    # The number of the clock of another process, as `clock_getcpuclockid` makes it.
    return time.clock_gettime(~process << 3 | 2)


def share_at_rest(process: int) -> float:
    """The share of a processor that the server takes."""
    before, began = own_seconds(process), time.monotonic()
    time.sleep(REST_WATCHED_SECONDS)
    return (own_seconds(process) - before) / (time.monotonic() - began)


def check(binaries: Path, folder: Path, short: bool) -> list[str]:
    """Quiet, attack, rest; what went wrong."""
    site = Site(binaries, folder, FLAGS[short])
    publish(site, ROWS[short])
    greedy, modest = free_key(site), site.new_account("modest")
    with site:
        request = query(modest, {"limit": 1, "sortBy": "id", "sortDirection": "desc"})
        customer = Customer(CUSTOMER, site.port, request, 1)
        time.sleep(2)
        quiet = customer.phase("quiet")
        met = asyncio.run(attack(site.port, greedy, ATTACK_SECONDS[short]))
        time.sleep(REST_SECONDS[short])
        share = share_at_rest(site.process())
        beside = customer.phase("beside")
        customer.stop()
        left = free_queries(site.port, greedy)
    print(f"expensive queries: {dict(met)}; at rest the server takes {share:.3f} of a processor")
    for phase in (quiet, beside):
        print(f"  customer {phase.name}: {len(phase.latencies)} answers, {len(phase.errors)} errors, "
              f"p50 {phase.quantile(0.5):.2f} ms, p99 {phase.quantile(0.99):.2f} ms", flush=True)
    charged = [] if left == FREE_QUERIES else [f"expensive queries: refusals were charged, {left} free queries are left"]
    return faults_of(quiet, beside, met, share, short) + charged


def faults_of(quiet: Phase, beside: Phase, met: Counter[str], share: float, short: bool) -> list[str]:
    """What must not have come of it."""
    faults = [f"the customer: {error}" for error in (quiet.errors + beside.errors)[:3]]
    if not met.keys() <= {*REFUSALS, "left"}:
        faults.append(f"an attacker met {dict(met)}")
    if met["QUERY_TOO_EXPENSIVE"] == 0:
        faults.append("no query was too expensive, so this was no measure")
    if share > REST_SHARE_MAX:
        faults.append(f"{REST_SECONDS[short]} s after the attackers left, the server takes {share:.2f} of a processor")
    p99 = beside.quantile(0.99)
    if not short and not p99 <= P99_MILLISECONDS_MAX:
        faults.append(f"the customer: p99 {p99:.1f} ms, at most {P99_MILLISECONDS_MAX:.0f} ms are allowed")
    return [f"expensive queries: {fault}" for fault in faults]


def main() -> int:
    """Reads the options and checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        faults = check(arguments.binaries.resolve(), Path(name), arguments.short)
    for fault in faults:
        print(f"FAULT {fault[:500]}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
