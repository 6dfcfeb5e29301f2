"""Takes time: rounds in which every server gets a short block of the same work, so that ratios come from one moment.
Knows no server in particular."""

import base64
import contextlib
import json
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import client
import machine
from environment import say
from reference import Oracle, verdict
from target import Target
from works import LOAD_CONNECTIONS, Question, Work

ROW_MARK = b'"l_orderkey":'
ANSWER_SECONDS_MAX = 60
WARM_UP_REQUESTS = 3
WARM_UP_SECONDS_MAX = 0.05
# An answer that takes longer is measured once.
SLOW_SECONDS = 8
START_POLL_SECONDS = 0.0005


@dataclass(frozen=True)
class Effort:
    """How long a measurement may take."""

    rounds: int
    block_seconds: float
    block_requests: int
    load_seconds: float
    starts: int


THOROUGH = Effort(rounds=3, block_seconds=0.8, block_requests=200, load_seconds=2, starts=5)
QUICK = Effort(rounds=2, block_seconds=0.2, block_requests=100, load_seconds=1, starts=2)


@dataclass
class Cell:
    """What one server did with one work."""

    checked: str = ""
    error: str = ""
    is_slow: bool = False
    seconds: list[float] = field(default_factory=list)
    first_bytes: list[float] = field(default_factory=list)
    bytes: int = 0
    server_seconds: float = 0.0
    foreign_percent: float = 0.0
    resident_mib: float = 0.0
    without_files_mib: float = 0.0

    def figures(self) -> dict[str, Any]:
        """As JSON: milliseconds, megabytes a second, and what it cost."""
        if not self.seconds:
            return {"checked": self.checked, "error": self.error}
        ordered = sorted(self.seconds)
        median = statistics.median(ordered)
        return {
            "checked": self.checked, "error": self.error, "requests": len(ordered), "p50Ms": median * 1e3,
            "p99Ms": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1e3, "leastMs": ordered[0] * 1e3,
            "firstByteMs": statistics.median(self.first_bytes) * 1e3, "bytes": self.bytes,
            "megabytesPerSecond": self.bytes / median / 1e6, "serverSecondsPerRequest": self.server_seconds / len(ordered),
            "foreignPercent": self.foreign_percent, "residentMiB": self.resident_mib, "withoutFilesMiB": self.without_files_mib}


class Subject(Protocol):
    """Something that answers questions."""

    name: str
    title: str

    def processes(self) -> list[int]:
        """What belongs to it."""

    def supports(self, work: Work) -> bool:
        """Whether it can answer at all."""

    def check(self, work: Work, oracle: Oracle) -> str:
        """Asks once and compares."""

    def block(self, work: Work, questions: Iterator[Question], effort: Effort, cell: Cell) -> None:
        """Asks for as long as the effort allows."""

    def recover(self, error: Exception) -> str:
        """Brings it back after a failure; why it failed."""

    def stop(self) -> None:
        """Ends it."""


class Served:
    """A server, and one connection to it."""

    def __init__(self, target: Target, works: list[Work], watchdog: machine.Watchdog) -> None:
        self.name, self.title = target.name, target.title
        self.target = target
        self._works = works
        self._watchdog = watchdog
        self.connection = client.Client(("", 0), ANSWER_SECONDS_MAX)
        self.begin()

    def begin(self) -> None:
        """Starts the server."""
        self.target.start()
        self._watchdog.guard(self.name, self.target.processes())
        self.target.learn(self._works)
        self.connection = client.Client(self.target.address, ANSWER_SECONDS_MAX)

    def stop(self) -> None:
        self.connection.close()
        self._watchdog.forget(self.name)
        self.target.stop()

    def processes(self) -> list[int]:
        return self.target.processes()

    def supports(self, work: Work) -> bool:
        return work.form != "events" or self.target.has_events

    def recover(self, error: Exception) -> str:
        killed = self._watchdog.killed(self.name)
        self.stop()
        self.begin()
        return f"killed above {self._watchdog.limit_gib:g} GiB" if killed else f"{type(error).__name__}: {error}"[:200]

    def _request(self, work: Work, question: Question) -> bytes:
        asked = self.target.asked(work, question)
        if asked is None:
            raise ValueError(f"{self.name} has no answer to {work.name}")
        return asked

    def check(self, work: Work, oracle: Oracle) -> str:
        if work.is_long:
            return self._check_long(work)
        found = ""
        for question in samples(work):
            answer, body = client.whole(self.connection, self._request(work, question))
            if answer.status != 200:
                return f"WRONG: status {answer.status}: {body[:200]!r}"
            if question.counted:
                count, wanted = self.target.counted(body), oracle.count(question)
                one = "exact" if count == wanted else f"WRONG: {count}, expected {wanted}"
            else:
                one = verdict(oracle, work, question, self.target.read(body))
            if one != "exact" and not found.startswith("WRONG"):
                found = one
        return found or "exact"

    def _check_long(self, work: Work) -> str:
        mark = b"\n" if work.form == "csv" else ROW_MARK
        rows = 0
        tail = b""

        def count(piece: bytes) -> None:
            nonlocal rows, tail
            joined = tail + piece
            rows += joined.count(mark)
            tail = joined[len(joined) - len(mark) + 1:] if len(mark) > 1 else b""
        answer = self.connection.ask(self._request(work, work.variants[0]), count)
        allowed = (work.rows, work.rows + 1) if work.form == "csv" else (work.rows,)
        if answer.status != 200 or rows not in allowed:
            return f"WRONG: status {answer.status}, {rows} rows, expected {work.rows}"
        return "exact"

    def block(self, work: Work, questions: Iterator[Question], effort: Effort, cell: Cell) -> None:
        with machine.PeakMemory(self.processes()) if work.is_long else contextlib.nullcontext() as peak:
            if not work.is_long and not cell.is_slow:
                self._warm_up(work, questions)
            usage = machine.Usage(self.processes())
            began = time.perf_counter()
            for question in islice(questions, 1 if work.is_long else effort.block_requests):
                answer = self.connection.ask(self._request(work, question))
                if answer.status != 200:
                    raise ValueError(f"status {answer.status}")
                cell.seconds.append(answer.seconds)
                cell.first_bytes.append(answer.first_byte)
                cell.bytes = answer.length
                if time.perf_counter() - began > effort.block_seconds:
                    break
            used = usage.end()
        cell.server_seconds += used["serverSeconds"]
        cell.foreign_percent = max(cell.foreign_percent, used["foreignPercent"])
        if peak is not None:
            cell.resident_mib = max(cell.resident_mib, peak.resident_mib)
            cell.without_files_mib = max(cell.without_files_mib, peak.without_files_mib)

    def _warm_up(self, work: Work, questions: Iterator[Question]) -> None:
        for question in islice(questions, WARM_UP_REQUESTS):
            if self.connection.ask(self._request(work, question)).seconds > WARM_UP_SECONDS_MAX:
                return


class InProcess:
    """Polars, which answers without a connection."""

    name = "polars"
    title = "Polars, in process"

    def __init__(self, parquet: Path, watchdog: machine.Watchdog) -> None:
        self._parquet = parquet
        self._watchdog = watchdog
        self._process: subprocess.Popen[str] | None = None
        self.begin()

    def begin(self) -> None:
        """Reads the table."""
        command = [sys.executable, str(Path(__file__).with_name("in_process.py")), str(self._parquet)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._watchdog.guard(self.name, [self._process.pid])
        self._line()

    def _line(self) -> Any:
        assert self._process is not None and self._process.stdout is not None, "it was started"
        line = self._process.stdout.readline()
        if not line:
            raise ConnectionError("the process ended")
        return json.loads(line)

    def _ask(self, work: Work, questions: list[Question], whole: bool, seconds: float = 0.0) -> Any:
        assert self._process is not None and self._process.stdin is not None, "it was started"
        packed = base64.b64encode(pickle.dumps(questions)).decode()
        order = {"questions": packed, "form": "page" if work.form == "count" else work.form, "whole": whole, "seconds": seconds}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._line()

    def stop(self) -> None:
        self._watchdog.forget(self.name)
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def processes(self) -> list[int]:
        return [self._process.pid] if self._process is not None else []

    def supports(self, work: Work) -> bool:
        return work.form != "events"

    def recover(self, error: Exception) -> str:
        killed = self._watchdog.killed(self.name)
        self.stop()
        self.begin()
        return f"killed above {self._watchdog.limit_gib:g} GiB" if killed else f"{type(error).__name__}: {error}"[:200]

    def check(self, work: Work, oracle: Oracle) -> str:
        if work.is_long:
            return "not compared"
        question = work.variants[0]
        rows = json.loads(self._ask(work, [question], whole=True)["body"])
        if not question.counted:
            return verdict(oracle, work, question, rows)
        return "exact" if rows[0]["n"] == oracle.count(question) else f"WRONG: {rows[0]['n']}"

    def block(self, work: Work, questions: Iterator[Question], effort: Effort, cell: Cell) -> None:
        usage = machine.Usage(self.processes())
        wanted = list(islice(questions, 1 if work.is_long else effort.block_requests))
        for seconds, length in self._ask(work, wanted, whole=False, seconds=effort.block_seconds)["samples"]:
            cell.seconds.append(seconds)
            cell.first_bytes.append(seconds)
            cell.bytes = length
        used = usage.end()
        cell.server_seconds += used["serverSeconds"]
        cell.foreign_percent = max(cell.foreign_percent, used["foreignPercent"])


def samples(work: Work) -> list[Question]:
    """The variants whose answers are compared: the first, and one from the middle."""
    return list(dict.fromkeys((work.variants[0], work.variants[len(work.variants) // 2])))


def cycle(work: Work, start: int) -> Iterator[Question]:
    """The variants of a work without end, from one of them on."""
    number = start
    while True:
        yield work.variants[number % len(work.variants)]
        number += 1


def rounds(work: Work, subjects: list[Subject], effort: Effort, oracle: Oracle, turn: machine.Turn) -> dict[str, Cell]:
    """Every subject that can, in rounds whose order rotates."""
    cells = {subject.name: Cell() for subject in subjects if subject.supports(work)}
    taking_part = [subject for subject in subjects if subject.name in cells]
    questions = {}
    if not work.is_long:
        for question in samples(work):
            if not question.counted:
                oracle.expected(question)
    for subject in taking_part:
        cell = cells[subject.name]
        questions[subject.name] = cycle(work, 1)
        turn.take()
        began = time.monotonic()
        try:
            cell.checked = subject.check(work, oracle)
        except (OSError, ValueError, KeyError) as error:
            cell.error = subject.recover(error)
        if cell.checked.startswith("WRONG"):
            cell.error = cell.checked
        cell.is_slow = time.monotonic() - began > SLOW_SECONDS
    for number in range(effort.rounds):
        first = number % len(taking_part)
        for subject in taking_part[first:] + taking_part[:first]:
            cell = cells[subject.name]
            if cell.error or (cell.is_slow and cell.seconds):
                continue
            turn.take()
            try:
                subject.block(work, questions[subject.name], effort, cell)
            except (OSError, ValueError) as error:
                cell.error = subject.recover(error)
                cell.seconds = []
    told = ", ".join(f"{name} {statistics.median(cell.seconds) * 1e3:.3g}" if cell.seconds else f"{name} {cell.error}"
                     for name, cell in cells.items())
    say(f"{work.name}: {told} ms")
    return cells


def loads(work: Work, served: list[Served], effort: Effort, turn: machine.Turn) -> list[dict[str, Any]]:
    """W8: requests per second of a work at several numbers of connections."""
    found: list[dict[str, Any]] = []
    for connections in LOAD_CONNECTIONS:
        results: dict[str, list[dict[str, float]]] = {subject.name: [] for subject in served}
        for _ in range(max(1, effort.rounds - 1)):
            for subject in served:
                requests = [each for each in map(lambda question: subject.target.asked(work, question), work.variants[:500]) if each]
                turn.take()
                usage = machine.Usage(subject.processes())
                one = client.load(subject.target.address, requests, connections, effort.load_seconds)
                results[subject.name].append(one | usage.end())
        for name, several in results.items():
            best = sorted(several, key=lambda one: one["perSecond"])[len(several) // 2]
            found.append({"work": work.name, "connections": connections, "target": name, **best})
        say(f"W8 {work.name} at {connections}: "
            + ", ".join(f"{one['target']} {one['perSecond']:.0f}/s" for one in found[-len(served):]))
    return found


def start_times(target: Target, work: Work, effort: Effort, turn: machine.Turn) -> list[float]:
    """W10: seconds from the start of the process to the first whole answer."""
    found = []
    for _ in range(effort.starts):
        turn.take()
        began = time.perf_counter()
        target.launch()
        connection = client.Client(target.address, ANSWER_SECONDS_MAX)
        asked = target.asked(work, work.variants[0])
        assert asked is not None, "every server answers W1"
        while time.perf_counter() - began < ANSWER_SECONDS_MAX:
            with contextlib.suppress(OSError):
                if connection.ask(asked).status == 200:
                    break
            time.sleep(START_POLL_SECONDS)
        found.append(time.perf_counter() - began)
        connection.close()
        target.stop()
    say(f"W10: {target.name} {statistics.median(found) * 1e3:.0f} ms")
    return found
