"""Serves the demo marketplace, without request limits unless they are asked for, during a `with` block. Knows no requests."""

import copy
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))

from server_log import listening_address  # noqa: E402

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60
REQUEST_SECONDS_MAX = 60
CREDITS = 1_000_000_000_000
SLUG = "tpch-orders"


class Marketplace:
    """The demo datasets, an account with credits and a key, and a server."""

    def __init__(self, binaries: Path, folder: Path, scale: str = "0.01", admin: str | None = None,
                 free_queries: int = 0) -> None:
        self.binaries = binaries
        self.data = folder / "demo"
        self.log = folder / "server.log"
        self.admin = admin or f"unix:{folder / 'admin.sock'}"
        self.url = ""
        self.server: subprocess.Popen[bytes] | None = None
        self.requests_per_minute = 0
        self.free_queries = free_queries
        """Free queries of a month. Accounts with credits have used theirs up when the server answers."""
        self._tools("demo", "--scale", scale, "--no-serve")
        account = self._json("account", "create", "--name", "checks")["id"]
        self._json("credits", "buy", "--account", account, "--credits", CREDITS)
        self.key: str = self._json("key", "create", "--account", account)["key"]
        self.paying = [self.key]

    def another_key(self, credits: int = 0) -> str:
        """A key of a further account, on the free plan unless credits are bought for it."""
        account = self._json("account", "create", "--name", "further")["id"]
        if credits:
            self._json("credits", "buy", "--account", account, "--credits", credits)
        key: str = self._json("key", "create", "--account", account)["key"]
        if credits:
            self.paying.append(key)
        return key

    def publish(self, slug: str, parquet: Path) -> None:
        """Publishes a Parquet file beside the demo."""
        folder = self.data.parent / f"{slug}.dataset"
        folder.mkdir()
        (folder / "dataset.toml").write_text(f'slug = "{slug}"\n[title]\nen = "{slug}"\n')
        self._tools("publish", folder, "--parquet", parquet, "--version", "1.0.0")

    def copy(self, folder: Path, requests_per_minute: int) -> "Marketplace":
        """The same datasets, accounts and keys for a second server. To be called before this one serves."""
        folder.mkdir()
        twin = copy.copy(self)
        twin.data, twin.log, twin.admin = folder / "demo", folder / "server.log", f"unix:{folder / 'admin.sock'}"
        twin.requests_per_minute, twin.free_queries = requests_per_minute, 0
        shutil.copytree(self.data, twin.data)
        return twin

    def _tools(self, *arguments: object) -> bytes:
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments, "--data", self.data)]
        path = f"{self.binaries}{os.pathsep}{os.environ['PATH']}"
        outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False,
                                 env=os.environ | {"PATH": path})
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr.decode()}")
        return outcome.stdout

    def _json(self, *arguments: object) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._tools(*arguments, "--json"))
        return document

    def __enter__(self) -> "Marketplace":
        command: list[str | Path] = [
            self.binaries / "mercato", "serve", "--data", self.data, "--listen", "127.0.0.1:0",
            "--admin", self.admin, "--charge-durability", "process",
            "--requests-per-minute", str(self.requests_per_minute), "--requests-per-day", "0", "--payments", "demo",
            "--free-queries-per-month", str(self.free_queries)]
        with self.log.open("wb") as sink:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        address = listening_address(self.server, self.log, START_SECONDS_MAX)
        if address is None:
            self.__exit__(None, None, None)
            raise SystemExit(f"the server does not listen:\n{self.log.read_text()}")
        self.url = f"http://{address}"
        for key in self.paying:
            self.use_up_free_queries(key)
        return self

    def use_up_free_queries(self, key: str) -> None:
        """Has an account use its free queries of this month, so that what follows takes credits."""
        for _ in range(self.free_queries):
            ask = urllib.request.Request(f"{self.url}/api/v1/datasets/{SLUG}/query", b'{"limit": 1}',
                                         {"X-Api-Key": key, "Content-Type": "application/json"})
            with urllib.request.urlopen(ask, timeout=REQUEST_SECONDS_MAX):
                pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(STOP_SECONDS_MAX)

    def admin_url(self) -> str:
        """Where the admin listener is, if it is on TCP."""
        return f"http://{(self.data / 'admin.address').read_text().strip()}"

    def admin_token(self) -> str:
        """The operator's token."""
        return (self.data / "admin.token").read_text().strip()

    def read(self, path: str) -> bytes:
        """The body of a response to `GET`. Other statuses than success raise."""
        with urllib.request.urlopen(self.url + path, timeout=REQUEST_SECONDS_MAX) as answer:
            body: bytes = answer.read()
            return body

    def data_of(self, path: str) -> Any:
        """`data` of a response."""
        return json.loads(self.read(path))["data"]

    def slugs(self) -> list[str]:
        """All slugs of the catalog."""
        found: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = self.data_of(f"/api/v1/datasets?limit=100&offset={offset}")
            found += [item["slug"] for item in page["results"]]
            offset = page["nextOffset"]
        return found

    def server_errors(self) -> list[str]:
        """Log lines with server errors."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [json.dumps(line) for line in lines if line.get("level") == "ERROR"]
