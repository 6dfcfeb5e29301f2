#!/usr/bin/env python3
"""Attacks a server of its own on the loopback while two customers go on asking for pages: one 200 times a second over a
kept connection, one 20 times a second over a new connection each time.

    python tests/attack/attack.py --binaries target/release            the full form, some minutes
    python tests/attack/attack.py --binaries target/debug --short      about a minute
    … --behind nginx             attackers and customers behind one nginx with the configuration of docs/examples
    … --only "slow heads"        one attack;   --json FILE   the figures for a report

Exit code 0 only if every attack is borne: the server lives, the customers have no error, memory stays under its bound,
and threads, descriptors and memory come back to where they were; and, in the full form, if the customers notice little:
their slowest answers in a hundred stay under a bound. Attackers, customers, proxy and server share the processors of
this machine as the system deals them out. The short form is for machines that are busy with other things: it reports
latencies, and only a very slow answer is a fault. Needs nothing but Python, and nginx to stand behind it.
"""

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import expensive
import proxies
import smuggling
from attacks import ATTACKS, Attack, Broken, Target, crowd
from customers import ANEW, KEPT, Customer, Habit, Phase, page_request
from site_under_test import Footprint, Site, raise_descriptor_limit

# Descriptors that neither side spends on connections of an attack.
DESCRIPTORS_SPARE = 1_500
# What the customers may notice: of a hundred answers 99 take so long at most. Held in the full form.
P99_MILLISECONDS_MAX = {KEPT: 25.0, ANEW: 50.0}
# Above this an answer to a customer is a fault, however busy the machine is.
SLOWEST_ANSWER_SECONDS = 15
# What the server may take at most while it is attacked, and keep afterwards above what it had before.
RESIDENT_MEBIBYTES_MAX = 700
RESIDENT_KEPT_MEBIBYTES_MAX = 200
THREADS_KEPT_MAX = 4
# How long the customers are watched with nothing beside them: at first, and again before every attack, because a
# machine is not the same for minutes.
QUIET_SECONDS = {True: 3.0, False: 10.0}
QUIET_AGAIN_SECONDS = {True: 0.0, False: 3.0}
# An attack goes on for so long at least, so that there are answers enough to speak of the slowest in a hundred.
ATTACK_SECONDS_MIN = {True: 0.0, False: 10.0}
BACK_SECONDS = 45.0


# The customers with their keys.
Keys = dict[Habit, str]


@dataclass
class Outcome:
    """What came of one attack."""

    phases: dict[Habit, Phase]
    said: str
    peak: float
    after: Footprint
    broken: str | None = None


def target_of(site: Site, port: int, short: bool) -> Target:
    """How hard to attack: a tenth and small bounds in the short form."""
    descriptors = raise_descriptor_limit() - DESCRIPTORS_SPARE
    slow, idle = (250, 800) if short else (2_000, 10_000)
    return Target(port=port, key=site.key, free_key=site.free_key, slow_connections=min(slow, descriptors),
                  idle_connections=min(idle, descriptors), head_seconds=10, body_seconds=30, idle_seconds=60,
                  write_seconds=3, patience_seconds=20 if short else 40,
                  large_bytes=20 << 20 if short else 100 << 20, rounds=2 if short else 20)


FLAGS = ["--write-seconds", "3"]
# The same for nginx, so that what an attack may expect of the server holds for both.
NGINX_TIMEOUTS = ("client_header_timeout 3s; client_body_timeout 3s; keepalive_timeout 4s; send_timeout 3s; "
                  "reset_timedout_connection on;")
# Attacks that say nothing of a server behind nginx, and why.
NOT_BEHIND_NGINX = {
    "slow heads": "nginx waits for the end of heads by itself",
    "slow bodies": "nginx gathers bodies by itself, and takes any time while some bytes come",
    "huge headers": "nginx refuses them by itself",
    "huge bodies": "nginx refuses them by itself",
    "random bytes": "nginx answers most of them by itself, with statuses of its own",
    "known hazards": "nginx answers them by itself, with statuses of its own",
    "bodies that never come": "nginx asks and waits for bodies by itself",
    "bodies without a key": "nginx gathers bodies by itself",
    "rows for nothing": "the rows that nginx takes are paid, as far as it reads ahead",
    "smuggling": "nginx refuses or mends what is doubtful; the statuses that are checked are the server's",
}


class Gone(Exception):
    """The server has ended, and nothing more can be measured."""


async def smuggle(target: Target) -> str:
    """Requests whose end can be seen in two places."""
    faults = await smuggling.check(target.port, target.head_seconds + target.patience_seconds)
    if faults:
        raise Broken("; ".join(faults))
    return f"{len(smuggling.variants())} variants refused"


async def again_and_again(attack: Attack, target: Target, seconds: float) -> str:
    """One attack, once at least, until so much time has gone; what was met at last."""
    deadline = time.monotonic() + seconds
    while True:
        said = await attack(target)
        if time.monotonic() >= deadline:
            return said


def suffer(site: Site, target: Target, customers: list[Customer], name: str, attack: Attack, seconds: float) -> Outcome:
    """One attack, watched, for so long at least."""
    before = site.footprint()
    peak = before.resident_mebibytes

    async def watched() -> str:
        nonlocal peak
        attacking = asyncio.ensure_future(again_and_again(attack, target, seconds))
        while not attacking.done():
            await asyncio.wait({attacking}, timeout=0.25)
            if not site.is_running():
                attacking.cancel()
                raise Gone(f"{name}: the server is gone")
            peak = max(peak, site.footprint().resident_mebibytes)
        return await attacking

    broken = None
    try:
        said = asyncio.run(watched())
    except Broken as why:
        said, broken = "not borne", str(why)
    if not site.is_running():
        raise Gone(f"{name}: the server is gone")
    phases = phases_of(customers, name)
    after = site.wait_for_footprint(before, THREADS_KEPT_MAX, BACK_SECONDS)
    return Outcome(phases, said, peak, after, broken)


def phases_of(customers: list[Customer], name: str) -> dict[Habit, Phase]:
    """What each customer met since it was asked last."""
    return {customer.habit: customer.phase(name) for customer in customers}


def faults_of(outcome: Outcome, before: Footprint, short: bool) -> list[str]:
    """What the attack must not have done."""
    faults = [] if outcome.broken is None else [outcome.broken]
    for habit, phase in outcome.phases.items():
        faults += faults_of_answers(habit, phase, short)
    if outcome.peak > RESIDENT_MEBIBYTES_MAX:
        faults.append(f"{outcome.peak:.0f} MiB resident, at most {RESIDENT_MEBIBYTES_MAX} are allowed")
    for what, now, then in (("threads", outcome.after.threads, before.threads),
                            ("descriptors", outcome.after.descriptors, before.descriptors)):
        if now > then + THREADS_KEPT_MAX:
            faults.append(f"{now} {what} afterwards, {then} before")
    if outcome.after.resident_mebibytes > before.resident_mebibytes + RESIDENT_KEPT_MEBIBYTES_MAX:
        faults.append(f"{outcome.after.resident_mebibytes:.0f} MiB afterwards, {before.resident_mebibytes:.0f} before")
    return faults


def faults_of_answers(habit: Habit, phase: Phase, short: bool) -> list[str]:
    """What a customer must not have met."""
    faults = [f"customer {habit.name}: {error}" for error in phase.errors[:3]]
    if not phase.latencies:
        return [*faults, f"customer {habit.name}: no answer"]
    slowest, p99 = max(phase.latencies), phase.quantile(0.99)
    if slowest > SLOWEST_ANSWER_SECONDS:
        faults.append(f"customer {habit.name}: an answer took {slowest:.1f} s")
    if not short and p99 > P99_MILLISECONDS_MAX[habit]:
        faults.append(f"customer {habit.name}: p99 {p99:.1f} ms, at most {P99_MILLISECONDS_MAX[habit]:.0f} ms are allowed")
    return faults


def run(site: Site, port: int, keys: Keys, attacks: dict[str, Attack], short: bool) -> tuple[dict[str, object], list[str]]:
    """The attacks, one after the other; figures and faults."""
    target = target_of(site, port, short)
    customers = [Customer(habit, port, page_request(key)) for habit, key in keys.items()]
    figures: dict[str, object] = {}
    faults: list[str] = []
    outcomes: dict[str, dict[Habit, Phase]] = {}
    quiet = {customer.habit: Phase("quiet") for customer in customers}
    try:
        time.sleep(1)
        watch_quiet(customers, quiet, QUIET_SECONDS[short])
        before = site.footprint()
        report(figures, "quiet", Outcome(quiet, "nothing", before.resident_mebibytes, before))
        for name, attack in attacks.items():
            watch_quiet(customers, quiet, QUIET_AGAIN_SECONDS[short])
            began = time.monotonic()
            outcome = suffer(site, target, customers, name, attack, ATTACK_SECONDS_MIN[short])
            report(figures, name, outcome)
            outcomes[name] = outcome.phases
            for fault in faults_of(outcome, before, short):
                faults.append(f"{name}: {fault}")
                print(f"  FAULT {fault[:2000]}")
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
        watch_quiet(customers, quiet, QUIET_AGAIN_SECONDS[short])
    except Gone as gone:
        return figures, [*faults, f"{gone}"]
    finally:
        for customer in customers:
            customer.stop()
    compare(figures, quiet, outcomes)
    return figures, faults + [f"between attacks: {error}" for phase in quiet.values() for error in phase.errors[:3]]


def watch_quiet(customers: list[Customer], quiet: dict[Habit, Phase], seconds: float) -> None:
    """Adds what the customers meet with nothing beside them, and their errors since they were asked last."""
    for habit, phase in phases_of(customers, "between").items():
        quiet[habit].errors += phase.errors
    time.sleep(seconds)
    for habit, phase in phases_of(customers, "quiet").items():
        quiet[habit].add(phase)


def report(figures: dict[str, object], name: str, outcome: Outcome) -> None:
    """Prints what came of one attack, and keeps it."""
    after = outcome.after
    figures[name] = {**{habit.name: answers_of(phase) for habit, phase in outcome.phases.items()},
                     "peakMebibytes": round(outcome.peak), "threadsAfter": after.threads,
                     "descriptorsAfter": after.descriptors, "mebibytesAfter": round(after.resident_mebibytes),
                     "said": outcome.said}
    print(f"{name}: {outcome.said}")
    for habit, phase in outcome.phases.items():
        print(f"  customer {habit.name}: {len(phase.latencies)} answers, {len(phase.errors)} errors, "
              f"p50 {phase.quantile(0.5):.2f} ms, p99 {phase.quantile(0.99):.2f} ms")
    print(f"  server: peak {outcome.peak:.0f} MiB, then {after.resident_mebibytes:.0f} MiB, {after.threads} threads, "
          f"{after.descriptors} descriptors", flush=True)


def answers_of(phase: Phase) -> dict[str, object]:
    """How long the answers of one phase took."""
    return {"p50ms": round(phase.quantile(0.5), 2), "p99ms": round(phase.quantile(0.99), 2),
            "answers": len(phase.latencies), "errors": len(phase.errors)}


def compare(figures: dict[str, object], quiet: dict[Habit, Phase], outcomes: dict[str, dict[Habit, Phase]]) -> None:
    """Prints how long the answers beside every attack took, next to all that were taken with nothing beside them."""
    figures["all quiet"] = {habit.name: answers_of(phase) for habit, phase in quiet.items()}
    print("\n" + "".join(f"{f'{habit.name}:':>6} answers   p50 ms   p99 ms  × quiet " for habit in quiet))
    ratios: dict[str, dict[str, float]] = {}
    for name, phases in {"all quiet": quiet, **outcomes}.items():
        ratios[name] = {}
        for habit, phase in phases.items():
            p99 = phase.quantile(0.99)
            ratios[name][habit.name] = round(p99 / quiet[habit].quantile(0.99), 2)
            print(f"{len(phase.latencies):>14} {phase.quantile(0.5):>8.2f} {p99:>8.2f} {ratios[name][habit.name]:>8.2f} ",
                  end="")
        print(f" {name}")
    figures["p99ToQuiet"] = ratios
    print(flush=True)


def few_descriptors(binaries: Path, folder: Path, prepared: Site, key: str) -> list[str]:
    """A server that may open few files: refuses the crowd, and serves again when it has gone."""
    site = Site(binaries, folder, FLAGS, descriptors=1_024)
    site.data, site.key, site.free_key = prepared.data, prepared.key, prepared.free_key
    with site:
        try:
            asyncio.run(crowd(target_of(site, site.port, short=True)))
        except (Broken, ExceptionGroup):
            pass
        if not site.is_running():
            return ["few descriptors: the server is gone"]
        customer = Customer(KEPT, site.port, page_request(key))
        time.sleep(3)
        phase = customer.phase("few descriptors")
        customer.stop()
        print(f"few descriptors: afterwards {len(phase.latencies)} answers, {len(phase.errors)} errors", flush=True)
        if not phase.latencies or phase.errors:
            return [f"few descriptors: not served afterwards: {phase.errors[:2]}"]
    return []


def behind_nginx(site: Site, keys: Keys, attacks: dict[str, Attack], short: bool) -> tuple[dict[str, object], list[str]]:
    """The attacks through nginx, which must not come to its own end meanwhile."""
    for name in attacks.keys() & NOT_BEHIND_NGINX.keys():
        print(f"{name}: left out, {NOT_BEHIND_NGINX[name]}")
    passed_on = {name: attack for name, attack in attacks.items() if name not in NOT_BEHIND_NGINX}
    with proxies.busy_nginx(site.folder, site.port, NGINX_TIMEOUTS) as proxy:
        figures, faults = run(site, proxy.port, keys, passed_on, short)
    return figures, faults + proxies.nginx_faults(proxy)


def main() -> int:
    """Reads the options, runs the attacks, says what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--behind", choices=["nginx"])
    parser.add_argument("--only", choices=[*ATTACKS, "smuggling"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    raise_descriptor_limit()
    began = time.monotonic()
    attacks: dict[str, Attack] = {**ATTACKS, "smuggling": smuggle}
    if arguments.only is not None:
        attacks = {arguments.only: attacks[arguments.only]}
        if arguments.behind is not None and arguments.only in NOT_BEHIND_NGINX:
            parser.error(f"{arguments.only}: {NOT_BEHIND_NGINX[arguments.only]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = Site(arguments.binaries.resolve(), folder, FLAGS + (proxies.TRUSTED if arguments.behind else []))
        site.prepare()
        site.free_key = site.new_account("free", 0)
        keys = {habit: site.new_account(habit.name) for habit in P99_MILLISECONDS_MAX}
        with site:
            if arguments.behind is None:
                figures, faults = run(site, site.port, keys, attacks, arguments.short)
            else:
                figures, faults = behind_nginx(site, keys, attacks, arguments.short)
            running = site.is_running()
        code = site.stop() if running else -1
        if code != 0:
            faults.append(f"the server ended with {code}")
        if arguments.only is None and arguments.behind is None:
            faults += few_descriptors(site.binaries, folder, site, keys[KEPT])
            faults += expensive.check(site.binaries, folder / "expensive", arguments.short)
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
