#!/usr/bin/env python3
"""Instructions that one request takes, counted by callgrind and held by a bound.

    python3 benches/instructions.py             # build, count, compare with benches/instructions.json
    python3 benches/instructions.py --record    # count and write the file anew

Counts do not depend on how busy a machine is, so a change of a few percent shows where times would not show it. The
program under test is `benches/instructions/`. Needs valgrind and Python 3, nothing else. Exit codes: 0 within the
bounds, 1 above one, 2 nothing could be counted.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOUNDS = Path(__file__).resolve().with_suffix(".json")
WORKS = ("W1", "W2k", "W3", "W3s", "W4", "W5p", "charge")
SLACK_PERCENT = 10
REQUESTS = 96
# What the program counts as one request of that work.
PER_REQUEST = {"charge": 32}
RUN_SECONDS_MAX = 600
# The function whose instructions count, and the one that is entered once for each work. Two patterns must differ:
# callgrind takes one option for a pattern.
COUNTED = "instructions::counted*"
OF_A_WORK = "instructions::run*"


class Failure(Exception):
    """Nothing could be counted; the text says why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the counts as the new bounds")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.add_argument("--executable", type=Path, help="the built bench; without it, cargo builds it")
    typed = parser.parse_args()
    try:
        executable = typed.executable or build()
        found = {"compiler": first_line("rustc", "--version"), "valgrind": first_line("valgrind", "--version"),
                 "slackPercent": SLACK_PERCENT, "instructionsPerRequest": count(executable)}
        if typed.record:
            BOUNDS.write_text(json.dumps(found, indent=2) + "\n")
        recorded = json.loads(BOUNDS.read_text())
    except (Failure, OSError, ValueError) as failure:
        print(f"instructions: {failure}", file=sys.stderr)
        return 2
    lines = compare(recorded, found)
    print(json.dumps(dict(found, lines=lines), indent=2) if typed.json else table(recorded, found, lines))
    return 1 if any(line["verdict"] == "above" for line in lines) else 0


def build() -> Path:
    """Builds the bench as `cargo bench` does and says where it is."""
    command = ["cargo", "bench", "--locked", "--workspace", "--bench", "instructions", "--no-run",
               "--message-format=json-render-diagnostics"]
    outcome = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    for line in outcome.stdout.splitlines() if outcome.returncode == 0 else []:
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "instructions":
            return Path(message["executable"])
    raise Failure(f"`{' '.join(command)}` gave no executable (exit {outcome.returncode})")


def first_line(*command: str) -> str:
    """What a program says of itself."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except FileNotFoundError as error:
        raise Failure(f"{command[0]}: not found; install it, for instance with `apt-get install {command[0]}`") from error
    except (subprocess.CalledProcessError, IndexError) as error:
        raise Failure(f"`{' '.join(command)}`: {error}") from error


def count(executable: Path) -> dict[str, int]:
    """Instructions a request, by work, of the thread that answers; a charge alone is one of the works."""
    note("making the table, if it is not there yet")
    run([str(executable)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        note(f"{REQUESTS} requests of {', '.join(WORKS)}")
        # Collects in the counted function alone and begins a new file for each work; the last one has no number.
        callgrind(executable, folder / "works", REQUESTS, WORKS, f"--toggle-collect={COUNTED}", f"--dump-before={OF_A_WORK}")
        parts = [folder / f"works.{part}" for part in range(2, len(WORKS) + 1)] + [folder / "works"]
        counts = {work: total(part) // REQUESTS // PER_REQUEST.get(work, 1) for work, part in zip(WORKS, parts, strict=True)}
    if empty := [name for name, number in counts.items() if number <= 0]:
        raise Failure(f"nothing was counted for {', '.join(empty)}: do `{COUNTED}` and `{OF_A_WORK}` still name functions?")
    return counts


def note(text: str) -> None:
    if sys.stderr.isatty():
        print(f"{time.strftime('%H:%M:%S')} {text} ...", file=sys.stderr)


def run(command: list[str]) -> None:
    try:
        outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"`{' '.join(command)}` took more than {RUN_SECONDS_MAX} s") from error
    if outcome.returncode != 0:
        raise Failure(f"`{' '.join(command)}` ended with {outcome.returncode}:\n{outcome.stdout}{outcome.stderr}")


def callgrind(executable: Path, out: Path, requests: int, works: tuple[str, ...], *options: str) -> None:
    tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}", *options]
    run([*tool, str(executable), str(requests), *works])


def total(path: Path) -> int:
    """The sum at the end of a file of callgrind."""
    found = re.search(r"^totals: (\d+)$", path.read_text(), re.MULTILINE)
    if not found:
        raise Failure(f"{path}: no line `totals:`")
    return int(found.group(1))


def compare(recorded: dict, found: dict) -> list[dict]:
    """One line a work: the bound, the count, the change in percent and what it means."""
    lines = []
    for work, now in found["instructionsPerRequest"].items():
        bound = recorded["instructionsPerRequest"].get(work, 0)
        change = round(100 * (now / bound - 1), 1) if bound else float("inf")
        verdict = "above" if change > SLACK_PERCENT else "below" if change < -SLACK_PERCENT else "within"
        lines.append({"work": work, "recorded": bound, "counted": now, "changePercent": change, "verdict": verdict})
    return lines


def table(recorded: dict, found: dict, lines: list[dict]) -> str:
    """The comparison for people."""
    text = [f"{'work':8}{'recorded':>12}{'counted':>12}{'change':>10}"]
    for line in lines:
        mark = {"above": "  TOO MANY", "below": "  far fewer", "within": ""}[line["verdict"]]
        text.append(f"{line['work']:8}{line['recorded']:>12,}{line['counted']:>12,}{line['changePercent']:>+9.1f}%{mark}")
    verdicts = {line["verdict"] for line in lines}
    if "above" in verdicts:
        text.append(f"More than {SLACK_PERCENT} % above the record. Find out why with callgrind_annotate; if it has to be, record anew.")
    if "below" in verdicts:
        text.append(f"More than {SLACK_PERCENT} % below the record: record anew with --record, so that the bound stays tight.")
    if recorded["compiler"] != found["compiler"]:
        text.append(f"The record is of {recorded['compiler']}, this is {found['compiler']}.")
    return "\n".join(text)


if __name__ == "__main__":
    sys.exit(main())
