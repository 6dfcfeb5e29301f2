#!/usr/bin/env python3
"""A store file that is damaged in place, again and again, while sixteen clients read from it: some bytes anywhere in the file
change, and its time stays as it was. After each damage the sound file is put back.

    python tests/attack/damage.py --binaries target/release          10,000 answers with rows
    python tests/attack/damage.py --binaries target/debug --short    1,000

Exit code 0 only if every row of every answer is one of the table, each refusal is a 503 that costs nothing, and the account
paid what the answers with rows say. Needs nothing but Python.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from site_under_test import DATASET, Site

CLIENTS = 16
ANSWERS = {True: 1_000, False: 10_000}
ROUNDS = {True: 10, False: 100}
ROWS_MAX = 40
# Places that change at a time and the bytes at each, and how long clients read before and after.
PLACES_MAX = 32
BYTES_MAX = 64
SOUND_SECONDS_MAX = 0.3
DAMAGED_SECONDS_MAX = 1.0
SERVED_SECONDS_MAX = 60
WRONG_SHOWN = 5

Row = dict[str, Any]


def key_of(row: Row) -> tuple[int, int]:
    """What no two rows share."""
    return row["l_orderkey"], row["l_linenumber"]


class Clients:
    """Sixteen threads that ask for pages, and what they met."""

    def __init__(self, site: Site, table: dict[tuple[int, int], Row]) -> None:
        self.site, self.table = site, table
        self.columns = sorted(next(iter(table.values())))
        self.lock = threading.Lock()
        self.met: Counter[str] = Counter()
        self.charged = 0
        self.wrong: list[str] = []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._read, args=(number,)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def answers(self) -> int:
        """Answers with rows so far."""
        with self.lock:
            return self.met["200"]

    def end(self) -> None:
        """Waits for the last answers."""
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def _read(self, number: int) -> None:
        chance = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=60)
        headers = {"X-Api-Key": self.site.key, "Content-Type": "application/json"}
        with contextlib.closing(connection):
            while not self.ended.is_set():
                connection.request("POST", f"/api/v1/datasets/{DATASET}/query", self._question(chance), headers)
                response = connection.getresponse()
                charged = int(response.headers.get("X-Credits-Charged", "0"))
                self._take(response.status, charged, json.load(response))

    def _question(self, chance: random.Random) -> str:
        question: dict[str, Any] = {"limit": chance.randint(1, ROWS_MAX), "sortBy": chance.choice(self.columns),
                                    "sortDirection": chance.choice(["asc", "desc"])}
        if chance.random() < 0.3:
            question["filters"] = {"l_quantity": chance.randint(1, 50)}
        else:
            question["offset"] = chance.randrange(len(self.table))
        return json.dumps(question)

    def _take(self, status: int, charged: int, answer: dict[str, Any]) -> None:
        rows: list[Row] = answer["data"]["results"] if status == 200 else []
        strange = [row for row in rows if self.table.get(key_of(row)) != row]
        with self.lock:
            expected = status == 200 or (status == 503 and charged == 0)
            self.met[str(status) if expected else f"{status} {charged} {json.dumps(answer)[:300]}"] += 1
            self.charged += charged
            self.wrong += [json.dumps(row) for row in strange]


def get(site: Site, path: str) -> bytes:
    """The body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"X-Api-Key": site.key})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {body[:300]!r}")
    return body


def credits(site: Site) -> int:
    """The balance of the account."""
    return int(json.loads(get(site, "/api/v1/account"))["data"]["credits"])


def damage(path: Path, chance: random.Random) -> None:
    """Changes some bytes; the file's time stays."""
    before = path.stat()
    with path.open("r+b", buffering=0) as file:
        for _ in range(chance.randint(1, PLACES_MAX)):
            at, count = chance.randrange(before.st_size), chance.randint(1, BYTES_MAX)
            file.seek(at)
            found = file.read(count)
            file.seek(at)
            file.write(bytes(byte ^ chance.randint(1, 255) for byte in found))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def wait_until_served(clients: Clients) -> None:
    """Waits for one more answer with rows."""
    deadline, before = time.monotonic() + SERVED_SECONDS_MAX, clients.answers()
    while clients.answers() == before:
        if time.monotonic() > deadline:
            raise SystemExit(f"the sound file is not served again: {clients.met}")
        time.sleep(0.05)


def run(site: Site, answers: int, rounds: int) -> list[str]:
    """All rounds; what went wrong."""
    chance = random.Random(1)
    rows = [json.loads(line) for line in get(site, f"/api/v1/datasets/{DATASET}/download?format=ndjson").splitlines()]
    path = site.data / "datasets" / DATASET / "versions" / "1.0.0.mcol"
    sound, again = site.folder / "sound.mcol", path.with_name("again.part")
    shutil.copyfile(path, sound)
    path.chmod(0o644)
    before = credits(site)
    clients = Clients(site, {key_of(row): row for row in rows})
    done = 0
    try:
        while (done < rounds or clients.answers() < answers) and not clients.wrong:
            time.sleep(chance.uniform(0, SOUND_SECONDS_MAX))
            damage(path, chance)
            time.sleep(chance.uniform(0, DAMAGED_SECONDS_MAX))
            shutil.copyfile(sound, again)
            again.replace(path)
            wait_until_served(clients)
            done += 1
            if sys.stderr.isatty():
                print(f"\r{done} of {rounds} times damaged, {clients.answers()} answers", end="", file=sys.stderr)
    finally:
        clients.end()
    paid = before - credits(site)
    print(f"{done} times damaged, answers: {dict(clients.met)}, {paid} credits paid")
    problems = [f"not in the table: {row}" for row in clients.wrong[:WRONG_SHOWN]]
    problems += [f"not expected: {status}" for status in clients.met if status not in ("200", "503")]
    if paid != clients.charged:
        problems.append(f"{paid} credits were paid, and answers say {clients.charged}")
    if clients.met["503"] == 0:
        problems.append("no damage was met")
    return problems


def main() -> None:
    """Prepares a site and damages it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True, help="folder of mercato and mercato-tools")
    parser.add_argument("--short", action="store_true", help="fewer answers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mercato-damage-") as folder:
        site = Site(options.binaries.resolve(), Path(folder), ["--workers", str(CLIENTS)])
        site.prepare()
        with site:
            problems = run(site, ANSWERS[options.short], ROUNDS[options.short])
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
