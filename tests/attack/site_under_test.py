"""A server of its own over the demo's tables, its accounts, and what it takes of the machine. Knows no attack."""

import json
import os
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

SETTLED_LOOKS = 5
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
SCALE = "0.01"
DATASET = "tpch-lineitem"
# More than any check reads.
CREDITS = 1_000_000_000_000


def raise_descriptor_limit() -> int:
    """Takes as many descriptors as this process may have; how many that is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@dataclass(frozen=True)
class Footprint:
    """What a process takes of the machine."""

    threads: int
    descriptors: int
    # With the pages of files that are mapped, and without them.
    resident_mebibytes: float
    own_mebibytes: float

    @staticmethod
    def of(process: int) -> "Footprint":
        """As the system counts it now."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return Footprint(int(status["Threads"]), len(os.listdir(f"/proc/{process}/fd")),
                         int(status["VmRSS"].split()[0]) / 1024, int(status["RssAnon"].split()[0]) / 1024)


def processor_seconds(process: int) -> float:
    """What a process and its children have taken of the processors."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    own = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in children)


class Site:
    """Data directory, account and server; the server ends with the `with` block."""

    def __init__(self, binaries: Path, folder: Path, flags: list[str], descriptors: int | None = None) -> None:
        self.binaries = binaries
        self.folder = folder
        self.flags = flags
        self.descriptors = descriptors
        self.data = folder / "data"
        self.log = folder / "server.log"
        self.key = ""
        self.free_key = ""
        self.port = 0
        self.server: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Publishes the demo's tables and opens its account."""
        self.key = self.tools("demo", "--no-serve", "--scale", SCALE)["key"]

    def new_account(self, name: str, credits: int = CREDITS) -> str:
        """Opens an account with credits, or on the free plan; its key."""
        account = self.tools("account", "create", "--name", name)["id"]
        if credits > 0:
            self.tools("credits", "buy", "--account", account, "--credits", credits)
        return str(self.tools("key", "create", "--account", account)["key"])

    def tools(self, *arguments: object) -> dict[str, Any]:
        """What an operator's command prints."""
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments, "--data", self.data, "--json")]
        outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr.decode()}")
        document: dict[str, Any] = json.loads(outcome.stdout)
        return document

    def __enter__(self) -> "Site":
        command: list[str | Path] = [
            self.binaries / "mercato", "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--admin",
            f"unix:{self.folder / 'admin.sock'}", "--requests-per-minute", "0", "--requests-per-day", "0",
            "--charge-durability", "process", *self.flags]
        limit = self.descriptors

        def lower() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        with self.log.open("wb") as sink:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                                           preexec_fn=lower)
        self.port = int(self._address().rsplit(":", 1)[1])
        self._settle()
        return self

    def _settle(self) -> None:
        """Waits until the server has opened what it opens behind its first answers: until its threads and descriptors
        stay the same for a while."""
        deadline = time.monotonic() + START_SECONDS_MAX
        alike, before = 0, self.footprint()
        while alike < SETTLED_LOOKS and time.monotonic() < deadline and self.is_running():
            time.sleep(0.1)
            now = self.footprint()
            same = (now.threads, now.descriptors) == (before.threads, before.descriptors)
            alike, before = alike + 1 if same else 0, now

    def _address(self) -> str:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.server is not None and self.server.poll() is None:
            for line in self.log.read_text().splitlines(keepends=True):
                if line.endswith("\n") and json.loads(line).get("message") == "listening":
                    return str(json.loads(line)["address"])
            time.sleep(0.05)
        self.stop()
        raise SystemExit(f"the server does not listen:\n{self.log.read_text()}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> int:
        """Ends the server as an operator does; its exit code."""
        if self.server is None:
            return 0
        self.server.terminate()
        try:
            return self.server.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.server.kill()
            raise

    def is_running(self) -> bool:
        """Whether the process is still there."""
        return self.server is not None and self.server.poll() is None

    def process(self) -> int:
        """The number of the server's process."""
        assert self.server is not None
        return self.server.pid

    def footprint(self) -> Footprint:
        """What the server takes now."""
        return Footprint.of(self.process())

    def wait_for_footprint(self, before: Footprint, spare: int, seconds: float) -> Footprint:
        """Waits until threads and descriptors are back where they were, for so long at most; what is left."""
        deadline = time.monotonic() + seconds
        while True:
            now = self.footprint()
            back = now.threads <= before.threads + spare and now.descriptors <= before.descriptors + spare
            if back or time.monotonic() > deadline:
                return now
            time.sleep(0.2)
