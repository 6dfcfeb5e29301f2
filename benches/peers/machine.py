"""The machine under a measurement: a quiet turn, processes and what they use, a watchdog. Knows no server and no work."""

import contextlib
import fcntl
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

# A turn is given back after that long, so that others who measure on the same machine get theirs.
TURN_SECONDS_MAX = 100
PAUSE_BETWEEN_TURNS_SECONDS = 0.5
WATCH_SECONDS = 0.2
SAMPLE_SECONDS = 0.02
TICKS = os.sysconf("SC_CLK_TCK")


def descendants(processes: Iterable[int]) -> list[int]:
    """These processes and all that they started, as far as they still run."""
    found: list[int] = []
    waiting = list(processes)
    while waiting:
        process = waiting.pop()
        found.append(process)
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting += [int(child) for child in (thread / "children").read_text().split()]
    return found


def status(process: int) -> dict[str, int]:
    """The memory figures of a process in KiB; none when it is gone."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        pairs = (line.split() for line in lines if line.endswith(" kB"))
        return {pair[0].rstrip(":"): int(pair[1]) for pair in pairs}
    return {}


def memory(processes: Iterable[int]) -> tuple[float, float]:
    """Resident memory in MiB, and the part of it that is not pages of files. Shared memory counts once."""
    own = shared = files = 0
    for process in descendants(processes):
        figures = status(process)
        own += figures.get("RssAnon", 0)
        files += figures.get("RssFile", 0)
        shared = max(shared, figures.get("RssShmem", 0))
    return (own + shared + files) / 1024, (own + shared) / 1024


def processor_seconds(processes: Iterable[int]) -> float:
    """Processor time of these processes and their descendants so far."""
    total = 0.0
    for process in descendants(processes):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def busy_seconds() -> float:
    """Processor time of the whole machine so far, waiting for disks left out."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / TICKS


def describe() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": model, "cores": os.cpu_count(), "memoryGiB": round(memory_bytes / 2**30, 1),
            "kernel": platform.release(), "python": platform.python_version(),
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


class Turn:
    """The right to measure: an exclusive lock of a file that others on this machine respect."""

    def __init__(self, lock: Path | None) -> None:
        self._path = lock
        self._file: IO[str] | None = None
        self._since = 0.0
        self.waited_seconds = 0.0

    def take(self) -> None:
        """Takes a turn, or goes on with the one that is held; one that has lasted long is given back first."""
        if self._since and time.monotonic() - self._since > TURN_SECONDS_MAX:
            self.give_back()
            time.sleep(PAUSE_BETWEEN_TURNS_SECONDS)
        if not self._since:
            began = time.monotonic()
            if self._path is not None:
                self._file = self._path.open("a")
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._since = time.monotonic()
            self.waited_seconds += self._since - began

    def give_back(self) -> None:
        """Ends the turn; does nothing when none is held."""
        self._since = 0.0
        if self._file is not None:
            self._file.close()
            self._file = None


def end_on_sigterm() -> None:
    """SIGTERM ends this process in order."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


class Usage:
    """What client and server used between two moments, and the share of the machine that others took."""

    def __init__(self, processes: Iterable[int]) -> None:
        self._server = list(processes)
        self._began = (time.monotonic(), busy_seconds(), self._own(), processor_seconds(self._server))

    def _own(self) -> float:
        times = os.times()
        return processor_seconds(self._server) + times.user + times.system + times.children_user + times.children_system

    def end(self) -> dict[str, float]:
        """Seconds of the processor that the server took, and the share of the machine in percent that strangers took."""
        began, busy, own, server = self._began
        capacity = max(time.monotonic() - began, 1 / TICKS) * (os.cpu_count() or 1)
        foreign = max(0.0, busy_seconds() - busy - (self._own() - own))
        return {"serverSeconds": round(processor_seconds(self._server) - server, 3),
                "foreignPercent": round(100 * foreign / capacity, 1)}


class PeakMemory:
    """The most memory that a server held while a `with` block lasted, looked at every 20 ms."""

    def __init__(self, processes: Iterable[int]) -> None:
        self._processes = list(processes)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.resident_mib = 0.0
        self.without_files_mib = 0.0

    def _look(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            resident, without_files = memory(self._processes)
            self.resident_mib = max(self.resident_mib, resident)
            self.without_files_mib = max(self.without_files_mib, without_files)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


class Watchdog:
    """Kills what it guards when that takes too much memory, before the system kills something else."""

    def __init__(self, limit_gib: float) -> None:
        self.limit_gib = limit_gib
        self._guarded: dict[str, list[int]] = {}
        self._killed: set[str] = set()
        threading.Thread(target=self._watch, daemon=True).start()

    def guard(self, name: str, processes: Iterable[int]) -> None:
        """From now on these processes are guarded under that name."""
        self._guarded[name] = list(processes)
        self._killed.discard(name)

    def forget(self, name: str) -> None:
        """Guards it no longer."""
        self._guarded.pop(name, None)

    def killed(self, name: str) -> bool:
        """Whether it was killed since it was given here."""
        return name in self._killed

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            for name, processes in list(self._guarded.items()):
                if memory(processes)[1] > self.limit_gib * 1024:
                    self._killed.add(name)
                    self.forget(name)
                    for process in descendants(processes):
                        with contextlib.suppress(OSError):
                            os.kill(process, signal.SIGKILL)
