#!/usr/bin/env python3
"""Attacks a server of its own on the loopback while a client that behaves goes on asking for pages.

    python tests/attack/attack.py --binaries target/release            the full form, some minutes
    python tests/attack/attack.py --binaries target/debug --short      about a minute
    … --only "slow heads"        one attack;   --json FILE   the figures for a report
    … --reconnect                the client that behaves opens a connection for every request

Exit code 0 only if every attack is borne: the server lives, the client that behaves has no error, memory stays under
its bound, and threads, descriptors and memory come back to where they were. Latencies are reported; only a very slow
answer is a fault, since machines that run checks are busy. Needs nothing but Python.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import smuggling
from attacks import ATTACKS, Attack, Broken, Target, crowd
from site_under_test import Customer, Footprint, Phase, Site, raise_descriptor_limit

# Descriptors that neither side spends on connections of an attack.
DESCRIPTORS_SPARE = 1_500
# Above this an answer to the client that behaves is a fault, however busy the machine is.
SLOWEST_ANSWER_SECONDS = 15
# What the server may take at most while it is attacked, and keep afterwards above what it had before.
RESIDENT_MEBIBYTES_MAX = 700
RESIDENT_KEPT_MEBIBYTES_MAX = 200
THREADS_KEPT_MAX = 4
# How long the client that behaves is watched with nothing beside it: at first, and again before every attack, because a
# machine is not the same for minutes.
QUIET_SECONDS = {True: 3.0, False: 10.0}
QUIET_AGAIN_SECONDS = {True: 0.0, False: 3.0}
# An attack goes on for so long at least, so that there are answers enough to speak of the slowest in a hundred.
ATTACK_SECONDS_MIN = {True: 0.0, False: 10.0}
BACK_SECONDS = 45.0


@dataclass
class Outcome:
    """What came of one attack."""

    phase: Phase
    said: str
    peak: float
    after: Footprint


def target_of(site: Site, short: bool) -> Target:
    """How hard to attack: a tenth and small bounds in the short form."""
    descriptors = raise_descriptor_limit() - DESCRIPTORS_SPARE
    slow, idle = (250, 800) if short else (2_000, 10_000)
    return Target(port=site.port, key=site.key, slow_connections=min(slow, descriptors),
                  idle_connections=min(idle, descriptors), head_seconds=3, body_seconds=3, idle_seconds=4,
                  write_seconds=3, patience_seconds=20 if short else 40,
                  large_bytes=20 << 20 if short else 100 << 20, rounds=2 if short else 20)


FLAGS = ["--head-seconds", "3", "--body-seconds", "3", "--idle-seconds", "4", "--write-seconds", "3"]


async def smuggle(target: Target) -> str:
    """Requests whose end can be seen in two places."""
    faults = await smuggling.check(target.port, target.head_seconds + target.patience_seconds)
    if faults:
        raise Broken("; ".join(faults))
    return f"{len(smuggling.variants())} variants refused"


@contextlib.contextmanager
def standing_back() -> Iterator[None]:
    """Attackers have machines of their own; here they share the processors with the server, so they take what it and
    the customer leave."""
    before = os.sched_getscheduler(0)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        yield
    finally:
        # Who may not raise a priority again goes on attacking at the lowest, which is what is wanted.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, before, os.sched_param(0))


async def again_and_again(attack: Attack, target: Target, seconds: float) -> str:
    """One attack, once at least, until so much time has gone; what was met at last."""
    deadline = time.monotonic() + seconds
    while True:
        said = await attack(target)
        if time.monotonic() >= deadline:
            return said


def suffer(site: Site, target: Target, customer: Customer, name: str, attack: Attack, seconds: float = 0) -> Outcome:
    """One attack, watched, for so long at least."""
    before = site.footprint()
    peak = before.resident_mebibytes
    customer.phase("between")

    async def watched() -> str:
        nonlocal peak
        attacking = asyncio.ensure_future(again_and_again(attack, target, seconds))
        while not attacking.done():
            await asyncio.wait({attacking}, timeout=0.25)
            if not site.is_running():
                attacking.cancel()
                raise Broken("the server is gone")
            peak = max(peak, site.footprint().resident_mebibytes)
        return await attacking

    with standing_back():
        said = asyncio.run(watched())
    phase = customer.phase(name)
    after = site.wait_for_footprint(before, THREADS_KEPT_MAX, BACK_SECONDS)
    return Outcome(phase, said, peak, after)


def faults_of(outcome: Outcome, before: Footprint) -> list[str]:
    """What the attack must not have done."""
    faults = [f"the client that behaves: {error}" for error in outcome.phase.errors[:3]]
    if outcome.phase.latencies and max(outcome.phase.latencies) > SLOWEST_ANSWER_SECONDS:
        faults.append(f"an answer took {max(outcome.phase.latencies):.1f} s")
    if outcome.peak > RESIDENT_MEBIBYTES_MAX:
        faults.append(f"{outcome.peak:.0f} MiB resident, at most {RESIDENT_MEBIBYTES_MAX} are allowed")
    for what, now, then in (("threads", outcome.after.threads, before.threads),
                            ("descriptors", outcome.after.descriptors, before.descriptors)):
        if now > then + THREADS_KEPT_MAX:
            faults.append(f"{now} {what} afterwards, {then} before")
    if outcome.after.resident_mebibytes > before.resident_mebibytes + RESIDENT_KEPT_MEBIBYTES_MAX:
        faults.append(f"{outcome.after.resident_mebibytes:.0f} MiB afterwards, {before.resident_mebibytes:.0f} before")
    return faults


def run(site: Site, short: bool, only: str | None, reconnects: bool) -> tuple[dict[str, object], list[str]]:
    """Every attack, one after the other; figures and faults."""
    target = target_of(site, short)
    customer = Customer(site.port, site.key, reconnects)
    attacks: dict[str, Attack] = {**ATTACKS, "smuggling": smuggle}
    figures: dict[str, object] = {}
    faults: list[str] = []
    phases: list[Phase] = []
    quiet = Phase("quiet")
    try:
        time.sleep(1)
        watch_quiet(customer, quiet, QUIET_SECONDS[short])
        before = site.footprint()
        report(figures, quiet, "nothing", before.resident_mebibytes, before)
        for name, attack in attacks.items():
            if only is not None and name != only:
                continue
            watch_quiet(customer, quiet, QUIET_AGAIN_SECONDS[short])
            began = time.monotonic()
            try:
                outcome = suffer(site, target, customer, name, attack, ATTACK_SECONDS_MIN[short])
                found = faults_of(outcome, before)
                report(figures, outcome.phase, outcome.said, outcome.peak, outcome.after)
                phases.append(outcome.phase)
            except Broken as broken:
                found = [str(broken)]
            faults += [f"{name}: {fault}" for fault in found]
            for fault in found:
                print(f"  FAULT {fault[:2000]}")
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
            if not site.is_running():
                return figures, [*faults, "the server is gone"]
    finally:
        customer.stop()
    compare(figures, quiet, phases)
    return figures, faults + [f"between attacks: {error}" for error in quiet.errors[:3]]


def watch_quiet(customer: Customer, quiet: Phase, seconds: float) -> None:
    """Adds what the client that behaves meets with nothing beside it, and its errors since it was asked last."""
    between = customer.phase("between")
    time.sleep(seconds)
    seen = customer.phase("quiet")
    quiet.latencies += seen.latencies
    quiet.errors += between.errors + seen.errors


def report(figures: dict[str, object], phase: Phase, said: str, peak: float, after: Footprint) -> None:
    """Prints what came of one attack, and keeps it."""
    line = {**answers_of(phase), "errors": len(phase.errors), "peakMebibytes": round(peak), "threadsAfter": after.threads,
            "descriptorsAfter": after.descriptors, "mebibytesAfter": round(after.resident_mebibytes), "said": said}
    figures[phase.name] = line
    print(f"{phase.name}: {said}\n  customer: {line['answers']} answers, {line['errors']} errors, p50 {line['p50ms']} ms, "
          f"p99 {line['p99ms']} ms; server: peak {line['peakMebibytes']} MiB, then "
          f"{line['mebibytesAfter']} MiB, {after.threads} threads, {after.descriptors} descriptors", flush=True)


def answers_of(phase: Phase) -> dict[str, object]:
    """How long the answers of one phase took."""
    return {"p50ms": round(phase.quantile(0.5), 2), "p99ms": round(phase.quantile(0.99), 2),
            "answers": len(phase.latencies)}


def compare(figures: dict[str, object], quiet: Phase, phases: list[Phase]) -> None:
    """Prints how long the answers beside every attack took, next to all that were taken with nothing beside them."""
    figures["all quiet"] = answers_of(quiet)
    print(f"\n{'answers':>8} {'p50 ms':>8} {'p99 ms':>8} {'× quiet':>8}")
    for phase in (quiet, *phases):
        p50, p99 = phase.quantile(0.5), phase.quantile(0.99)
        ratio = p99 / quiet.quantile(0.99)
        line = figures.get(phase.name)
        if isinstance(line, dict):
            line["p99ToQuiet"] = round(ratio, 2)
        print(f"{len(phase.latencies):>8} {p50:>8.2f} {p99:>8.2f} {ratio:>8.2f}  {phase.name}")
    print(flush=True)


def few_descriptors(binaries: Path, folder: Path, prepared: Site) -> list[str]:
    """A server that may open few files: refuses the crowd, and serves again when it has gone."""
    site = Site(binaries, folder, FLAGS, descriptors=1_024)
    site.data, site.key = prepared.data, prepared.key
    with site:
        target = target_of(site, short=True)
        try:
            asyncio.run(crowd(target))
        except (Broken, ExceptionGroup):
            pass
        if not site.is_running():
            return ["few descriptors: the server is gone"]
        customer = Customer(site.port, site.key, reconnects=False)
        time.sleep(3)
        phase = customer.phase("few descriptors")
        customer.stop()
        print(f"few descriptors: afterwards {len(phase.latencies)} answers, {len(phase.errors)} errors", flush=True)
        if not phase.latencies or phase.errors:
            return [f"few descriptors: not served afterwards: {phase.errors[:2]}"]
    return []


def main() -> int:
    """Reads the options, runs the attacks, says what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--reconnect", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    raise_descriptor_limit()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = Site(arguments.binaries.resolve(), folder, FLAGS)
        site.prepare()
        with site:
            figures, faults = run(site, arguments.short, arguments.only, arguments.reconnect)
            running = site.is_running()
        code = site.stop() if running else -1
        if code != 0:
            faults.append(f"the server ended with {code}")
        if arguments.only is None:
            faults += few_descriptors(site.binaries, folder, site)
        if not site.tools("ledger", "verify"):
            faults.append("the books")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"{len(faults)} faults in {time.monotonic() - began:.0f} s, limit of descriptors "
          f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]}")
    for fault in faults:
        print(f"FAULT {fault[:500]}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
