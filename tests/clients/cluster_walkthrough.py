#!/usr/bin/env python3
"""Starts the demo as a cluster and does what it prints: curl, sign-in, a killed server, a promoted standby, Ctrl-C.

    python cluster_walkthrough.py --binaries target/debug [--scale 0.01]

Needs PostgreSQL, nginx, and rclone with `serve s3` in the path. Exit code 0 only if every command works as printed, a killed
server costs no request, the promoted standby knows what was paid, and nothing runs after Ctrl-C, or after a kill of the tool.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from demo_walkthrough import commands, paste, shell, sign_in_and_buy

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 45
# From the death of the primary to a paid answer; a lease lasts 10 s.
PROMOTION_SECONDS_MAX = 30
LEASE_SECONDS_MAX = 15
SERVERS = 3
DATASETS = 24


class Demo:
    """The running tool and everything that it has started."""

    def __init__(self, binaries: Path, log: Path, scale: str, *folder: Path) -> None:
        self.environment = shell(binaries)
        self.log = log
        self.process = subprocess.Popen(
            ["mercato-tools", "demo", "--scale", scale, "--cluster", *map(str, folder)], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT, start_new_session=True)

    def printed(self) -> str:
        """What it has printed."""
        return self.log.read_text()

    def wait_until(self, what: str, is_so: Callable[[], bool]) -> None:
        """Waits while it runs."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the cluster does not come so far: {what}\n{self.printed()}")
            time.sleep(0.1)

    def command(self, beginning: str) -> str:
        """A printed command."""
        found = re.search(rf"^  ({beginning}.*)$", self.printed(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"no command `{beginning}`:\n{self.printed()}")
        return found.group(1)

    def run(self, command: str) -> str:
        """Runs a command in a shell. Returns what it prints."""
        outcome = subprocess.run(command, shell=True, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, check=False)
        if outcome.returncode != 0:
            raise SystemExit(f"{command}\nexit {outcome.returncode}: {outcome.stderr.decode()}\n{self.printed()}")
        return outcome.stdout.decode()

    def end(self) -> None:
        """For a test that failed."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def state_of(process: int) -> tuple[str, int] | None:
    """State and parent of a process; nothing where it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def below(root: int) -> set[int]:
    """All processes that a process has started, and those that these have started."""
    known = {root}
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    parents = {number: state[1] for number in numbers if (state := state_of(number)) is not None}
    while more := {number for number, parent in parents.items() if parent in known and number not in known}:
        known |= more
    return known - {root}


def wait_until_gone(processes: set[int]) -> None:
    """Until none of them runs; one that waits for its parent to look at it does not."""
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while left := [number for number in processes if (state := state_of(number)) is not None and state[0] != "Z"]:
        if time.monotonic() > deadline:
            names = [Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ") for number in left]
            raise SystemExit(f"still running: {names}")
        time.sleep(0.1)


def balance(demo: Demo) -> int:
    """Credits of the demo account."""
    answer = json.loads(demo.run(demo.command("curl -s '[^']+/api/v1/account'")))
    credits: int = answer["data"]["credits"]
    return credits


def living_servers(demo: Demo) -> int:
    """Servers whose lease is not over."""
    status = json.loads(demo.run(f"{demo.command('mercato-tools cluster status')} --json"))
    return sum(server["leaseMilliseconds"] > 0 for server in status["servers"])


def lose_server(demo: Demo, curls: list[str]) -> None:
    """A server is killed as printed: no command fails, and its lease ends."""
    if living_servers(demo) != SERVERS:
        raise SystemExit(f"{living_servers(demo)} servers instead of {SERVERS}")
    demo.run(demo.command("kill -9"))
    for command in curls:
        paste(command, demo.environment)
    deadline = time.monotonic() + LEASE_SECONDS_MAX
    while living_servers(demo) != SERVERS - 1:
        if time.monotonic() > deadline:
            raise SystemExit("the lease of the killed server does not end")
        time.sleep(0.5)


def lose_primary(demo: Demo, paid: str) -> tuple[int, float]:
    """The primary is killed and the standby promoted as printed. Returns the attempts until a paid answer, and the seconds."""
    before = balance(demo)
    paste(paid, demo.environment)
    price = before - balance(demo)
    if price <= 0:
        raise SystemExit(f"a paid query costs {price}")
    kills = re.search(r"^  (kill -9 \d+)\n  (.*pg_promote.*)$", demo.printed(), re.MULTILINE)
    if kills is None:
        raise SystemExit("no commands for a promotion")
    began, attempts = time.monotonic(), 0
    for command in kills.groups():
        demo.run(command)
    while True:
        attempts += 1
        answer = demo.run(paid.replace("curl -s", "curl -s -w '\\n%{http_code}'", 1))
        if answer.endswith("\n200"):
            break
        if not answer.endswith("\n503") or time.monotonic() > began + PROMOTION_SECONDS_MAX:
            raise SystemExit(f"after the promotion: {answer}")
        time.sleep(0.2)
    seconds = time.monotonic() - began
    if balance(demo) != before - 2 * price:
        raise SystemExit(f"two queries at {price} credits lead from {before} to {balance(demo)}")
    return attempts, seconds


def walk(binaries: Path, scale: str, folder: Path) -> str:
    """Does everything that the cluster prints, then Ctrl-C. Returns a summary."""
    began = time.monotonic()
    demo = Demo(binaries, folder / "walk.log", scale)
    try:
        demo.wait_until("serving", lambda: "Serving; Ctrl-C ends all of it." in demo.printed())
        started = time.monotonic() - began
        curls = commands(demo.printed())
        for command in curls:
            if paste(command, demo.environment) < 1:
                raise SystemExit(f"{command}\nno rows")
        sign_in_and_buy(demo.printed())
        lose_server(demo, curls)
        paid = next(command for command in curls if "/tpch-lineitem/query'" in command)
        # A page of more rows than a free query has costs credits.
        paid = paid.replace('"limit":5}', '"limit":200}')
        attempts, seconds = lose_primary(demo, paid)
        demo.run(demo.command("mercato-tools ledger verify"))
        read, listed = demo.command(r"\. '"), demo.command("mercato-tools datasets list")
        datasets: list[dict[str, Any]] = json.loads(demo.run(f"{read}; {listed} --json"))["datasets"]
        if len(datasets) != DATASETS:
            raise SystemExit(f"{len(datasets)} datasets instead of {DATASETS}")
        parts, place = below(demo.process.pid), Path(read.split("'")[1]).parent
        if not place.is_dir() or len(parts) < SERVERS + 3:
            raise SystemExit(f"{place}: {len(parts)} processes")
        demo.process.send_signal(signal.SIGINT)
        code = demo.process.wait(STOP_SECONDS_MAX)
        wait_until_gone(parts)
        if code != 0 or place.exists():
            raise SystemExit(f"Ctrl-C: exit {code}, {place} is there: {place.exists()}\n{demo.printed()}")
    finally:
        demo.end()
    return (f"{len(curls)} commands before and after the death of a server; a paid answer {seconds:.1f} s after that of the "
            f"primary, at attempt {attempts}; started in {started:.0f} s")


def kill(binaries: Path, scale: str, folder: Path) -> None:
    """The tool is killed without warning while it starts servers: nothing of it stays."""
    place = folder / "killed"
    demo = Demo(binaries, folder / "kill.log", scale, place)
    try:
        demo.wait_until("servers", lambda: (place / f"server-{SERVERS}" / "log").exists())
        parts = below(demo.process.pid)
    finally:
        demo.end()
    if len(parts) < SERVERS + 3:
        raise SystemExit(f"{len(parts)} processes at the kill")
    wait_until_gone(parts)
    again = subprocess.run(["mercato-tools", "demo", "--cluster", place], env=demo.environment, capture_output=True,
                           text=True, check=False)
    if again.returncode != 1 or "expected no files" not in again.stderr:
        raise SystemExit(f"a folder with files is taken: {again}")


def miss(binaries: Path) -> None:
    """What is missing is said at once."""
    environment = os.environ | {"PATH": "/nowhere"}
    outcome = subprocess.run([binaries / "mercato-tools", "demo", "--cluster"], env=environment, capture_output=True,
                             text=True, check=False)
    said = outcome.stderr
    if outcome.returncode != 1 or said.count("\n") != 1 or not ("rclone 1." in said and "setpriv (" in said):
        raise SystemExit(f"missing programs: exit {outcome.returncode}: {said}")


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--scale", default="0.01", help="scale factor of the demo")
    arguments = parser.parse_args()
    binaries = arguments.binaries.resolve()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # PostgreSQL does not run as root, and has to reach its folder.
        folder.chmod(0o755)
        miss(binaries)
        summary = walk(binaries, arguments.scale, folder)
        kill(binaries, arguments.scale, folder)
    print(f"the cluster of the demo: {summary}; {time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
