"""The servers of the cluster. Knows no load and no balancer."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from database import USER
from machines import Machine
from wire import DatabaseProxy

PORT = 8080
START_SECONDS_MAX = 90
STOP_SECONDS_MAX = 90
COMMAND_SECONDS_MAX = 30
KNOWN_SECONDS_MAX = 10


class Unavailable(Exception):
    """The server did not carry a command out, or did not say so."""


class Server:
    """One server on a machine and with a data directory of its own, which reaches the database through a proxy of its own. Its
    datasets are a copy of `data`, or come out of a store, where `flags` and `variables` name one."""

    def __init__(self, binaries: Path, folder: Path, machine: Machine, proxy: DatabaseProxy, data: Path | None,
                 flags: tuple[str, ...], variables: dict[str, str]) -> None:
        self.binaries, self.folder, self.machine, self.proxy = binaries, folder, machine, proxy
        self.flags, self.variables = flags, variables
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.codes: list[int] = []
        if data is None:
            (folder / "data").mkdir()
        else:
            shutil.copytree(data, folder / "data")

    def start(self) -> None:
        """Starts it; where it ends because the database is away, it is started again, as an init system would."""
        command: list[Any] = [
            self.binaries / "mercato", "serve", "--data", self.folder / "data", "--free-queries-per-month", "0", "--books",
            f"postgres://{USER}@{self.proxy.machine.address}:{self.proxy.port}/postgres", "--listen",
            f"{self.machine.address}:{PORT}", "--admin", f"unix:{self.folder / 'admin.sock'}", "--requests-per-minute", "0",
            "--requests-per-day", "0", "--drain-seconds", "10", *self.flags]
        self.process = subprocess.Popen(self.machine.command(command), stdin=subprocess.DEVNULL,
                                        stdout=self.log.open("ab"), stderr=subprocess.STDOUT,
                                        env=os.environ | self.variables)

    def wait_until_ready(self) -> None:
        """Until it sells; started again where it ended."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                self.start()
            if self.is_ready():
                return
            time.sleep(0.2)
        raise SystemExit(f"the server does not become ready:\n{self.log.read_text()[-3000:]}")

    def is_ready(self) -> bool:
        """What its own health says."""
        connection = http.client.HTTPConnection(self.machine.address, PORT, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait_until_known(self, keys: list[str]) -> None:
        """Until it has heard of new keys."""
        deadline = time.monotonic() + KNOWN_SECONDS_MAX
        while any(self.account_status(key) != 200 for key in keys):
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.folder.name} does not know a key after {KNOWN_SECONDS_MAX} s")
            time.sleep(0.05)

    def account_status(self, key: str) -> int:
        """What the owner of a key is answered here."""
        return self.get("/api/v1/account", {"X-Api-Key": key})[0]

    def version_of(self, slug: str) -> str | None:
        """The version of a dataset that this server lists as the current one."""
        status, body = self.get(f"/api/v1/datasets/{slug}", {})
        return None if status != 200 else json.loads(body)["data"]["currentVersion"]

    def get(self, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
        """A status and a body, past the balancer."""
        connection = http.client.HTTPConnection(self.machine.address, PORT, timeout=COMMAND_SECONDS_MAX)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def kill(self) -> None:
        """Without warning."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def freeze(self, is_frozen: bool) -> None:
        """Stops it in its tracks, or lets it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP if is_frozen else signal.SIGCONT)

    def forget(self) -> None:
        """Loses what it has fetched."""
        shutil.rmtree(self.folder / "data" / "cache", ignore_errors=True)

    def stop(self) -> None:
        """As an operator does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            self.codes.append(self.process.wait(STOP_SECONDS_MAX))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.codes.append(-9)

    def command(self, command: str, **fields: Any) -> dict[str, Any]:
        """A command of the operator to this server."""
        token = (self.folder / "data" / "admin.token").read_text().strip()
        connection = _UnixConnection(self.folder / "admin.sock")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", "/admin/v1/commands", json.dumps({"command": command, **fields}), headers)
            answer = connection.getresponse()
            document: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(repr(error)) from error
        finally:
            connection.close()
        if answer.status != 200:
            raise Unavailable(f"{answer.status} {document}")
        data: dict[str, Any] = document["data"]
        return data

    def faults(self) -> list[str]:
        """Panics, and errors that no fault from outside explains."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            if "panicked" in line or "PANIC" in line:
                found.append(f"{self.folder.name}: {line[:500]}")
        return found


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("mercato", timeout=COMMAND_SECONDS_MAX)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))
