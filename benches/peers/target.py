"""What every compared server has in common: how it is loaded, started, asked and read. Knows no server in particular, and
nothing of how time is taken."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
from works import Dialect, Question, Work

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60


@dataclass(frozen=True)
class Spent:
    """What a command took: seconds, seconds of processors, and the most memory, of which some was not pages of files."""

    seconds: float
    processor_seconds: float
    peak_mib: float
    without_files_mib: float


@dataclass(frozen=True)
class Load:
    """What it took to get from Parquet to a store, and its bytes on disk."""

    name: str
    spent: Spent
    bytes: int


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def disk_bytes(place: Path) -> int:
    """What a file or a folder takes on disk."""
    paths = [place] if place.is_file() else place.rglob("*")
    return sum(path.stat().st_size for path in paths if path.is_file())


def remove(place: Path) -> None:
    """Takes a file or a folder away, if there is one."""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)


def timed(command: list[str | Path], log: Path) -> Spent:
    """What a command takes, which must succeed."""
    with log.open("wb") as sink:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True)
        with machine.PeakMemory([process.pid]) as peak:
            _, code, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {process.returncode}: {log.read_text()[-500:]}")
    return Spent(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, peak.without_files_mib)


class Target:
    """A server on a port of this machine."""

    name = ""
    title = ""
    table = "lineitem"
    dialect = Dialect()
    has_events = False

    def __init__(self, folder: Path, parquet: Path) -> None:
        self.folder = folder / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.parquet = parquet
        self.address = ("127.0.0.1", 0)
        self.process: subprocess.Popen[bytes] | None = None
        # Stands before the server's command, to limit what it may use.
        self.prefix: list[str | Path] = []

    def load(self, quick: bool) -> list[Load]:
        """Makes the store afresh."""
        raise NotImplementedError

    def loaded(self) -> bool:
        """Whether there is a store."""
        raise NotImplementedError

    def quick_starter(self) -> "Target":
        """This server as somebody would set it up who starts it often."""
        return self

    def command(self, port: int) -> list[str | Path]:
        """What starts the server."""
        raise NotImplementedError

    def asked(self, work: Work, question: Question) -> bytes | None:
        """The bytes of the request; none where the server has no such answer."""
        raise NotImplementedError

    def read(self, body: bytes) -> list[dict[str, Any]]:
        """The rows of an answer."""
        rows: list[dict[str, Any]] = json.loads(body)
        return rows

    def counted(self, body: bytes) -> int:
        """The number in the answer to a count."""
        return int(self.read(body)[0]["n"])

    def learn(self, works: list[Work]) -> None:
        """Asks the running server for what later requests need."""

    def processes(self) -> list[int]:
        """What belongs to the server."""
        return [self.process.pid] if self.process is not None else []

    def alive(self) -> bool:
        """Whether the server runs."""
        return self.process is not None and self.process.poll() is None

    def launch(self) -> None:
        """Starts the process and waits for nothing."""
        port = free_port()
        self.address = ("127.0.0.1", port)
        with (self.folder / "server.log").open("wb") as sink:
            self.process = subprocess.Popen([*self.prefix, *self.command(port)], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
                                            start_new_session=True)

    def start(self) -> None:
        """Starts the server and waits until it listens."""
        self.launch()
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.alive():
            with contextlib.suppress(OSError):
                socket.create_connection(self.address, timeout=1).close()
                return
            time.sleep(0.02)
        log = (self.folder / "server.log").read_text()[-1000:]
        self.stop()
        raise RuntimeError(f"{self.name} does not listen: {log}")

    def stop(self) -> None:
        """Ends the server and whatever it started."""
        if self.process is None:
            return
        left = machine.descendants(self.processes())
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self.process = None
