"""A mercato server in a temporary directory: publishes Parquet files, creates an account, serves and sends queries.
Knows no particular query."""

import http.client
import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from server_log import listening_address

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
REQUEST_SECONDS_MAX = 120
CREDITS = 1_000_000_000


class Number(str):
    """A JSON number with its original digits."""


class Service:
    """Data directory, account and server; the server ends with the `with` block."""

    def __init__(self, binaries: Path, folder: Path, *flags: str) -> None:
        self.binaries = binaries
        self.folder = folder
        self.flags = flags
        self.data = folder / "data"
        self.key = ""
        self.server: subprocess.Popen[bytes] | None = None
        self.connection: http.client.HTTPConnection | None = None

    def publish(self, slug: str, parquet: Path, sort_index: str = "all", version: str = "1.0.0") -> None:
        """Publishes a Parquet file as a version of a dataset."""
        folder = self.folder / f"{slug}.dataset"
        folder.mkdir(exist_ok=True)
        (folder / "dataset.toml").write_text(f'slug = "{slug}"\n[title]\nen = "{slug}"\n')
        self._tools("publish", folder, "--parquet", parquet, "--version", version, "--sort-index", sort_index)

    def open_account(self) -> None:
        """Creates the account, its credits and its key."""
        account = self._tools("account", "create", "--name", "differential check")["id"]
        self._tools("credits", "buy", "--account", account, "--credits", CREDITS)
        self.key = self._tools("key", "create", "--account", account)["key"]

    def _tools(self, *arguments: object) -> dict[str, Any]:
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments, "--data", self.data, "--json")]
        outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr.decode()}")
        document: dict[str, Any] = json.loads(outcome.stdout)
        return document

    def __enter__(self) -> "Service":
        log = self.folder / "server.log"
        # No check waits for a limit that it did not set itself.
        lifted = [] if "--requests-per-minute" in self.flags else ["--requests-per-minute", "0"]
        command: list[str | Path] = [
            self.binaries / "mercato", "serve", "--data", self.data, "--listen", "127.0.0.1:0",
            "--free-queries-per-month", "0",
            "--admin", f"unix:{self.folder / 'admin.sock'}", "--charge-durability", "process",
            *lifted, "--requests-per-day", "0", *self.flags]
        with log.open("wb") as sink:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        address = listening_address(self.server, log, START_SECONDS_MAX)
        if address is None:
            self.__exit__(None, None, None)
            raise SystemExit(f"the server does not listen:\n{log.read_text()}")
        host, port = address.rsplit(":", 1)
        self.connection = http.client.HTTPConnection(host, int(port), timeout=REQUEST_SECONDS_MAX)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.connection is not None:
            self.connection.close()
        if self.server is not None:
            self.server.terminate()
            try:
                self.server.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.server.kill()
                raise

    def query(self, slug: str, body: str) -> tuple[int, Any]:
        """Status and envelope of a query; numbers stay as they were printed."""
        assert self.connection is not None, "a query needs the `with` block"
        headers = {"X-Api-Key": self.key, "Content-Type": "application/json"}
        self.connection.request("POST", f"/api/v1/datasets/{slug}/query", body.encode(), headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read(), parse_int=Number, parse_float=Number)

    def statistics(self, slug: str, version: str | None = None) -> Any:
        """What the server knows of the columns of a dataset, or of one of its versions."""
        assert self.connection is not None, "a request needs the `with` block"
        choice = "" if version is None else f"?version={version}"
        self.connection.request("GET", f"/api/v1/datasets/{slug}/stats{choice}")
        answer = self.connection.getresponse()
        return json.loads(answer.read(), parse_int=Number, parse_float=Number)["data"]
