"""The demo marketplace, served without request limits for as long as a `with` block lasts. Knows nothing of what is asked."""

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60
REQUEST_SECONDS_MAX = 60
CREDITS = 1_000_000_000_000


class Marketplace:
    """The datasets of the demo, an account with credits and a key, and a server."""

    def __init__(self, binaries: Path, folder: Path, scale: str = "0.01") -> None:
        self.binaries = binaries
        self.data = folder / "demo"
        self.log = folder / "server.log"
        self.url = ""
        self.server: subprocess.Popen[bytes] | None = None
        self._tools("demo", "--scale", scale, "--no-serve")
        account = self._json("account", "create", "--name", "checks")["id"]
        self._json("credits", "buy", "--account", account, "--credits", CREDITS)
        self.key: str = self._json("key", "create", "--account", account)["key"]

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
            "--admin", f"unix:{self.log.parent / 'admin.sock'}", "--charge-durability", "process",
            "--requests-per-minute", "0", "--requests-per-day", "0"]
        with self.log.open("wb") as sink:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        self.url = f"http://{self._address()}"
        return self

    def _address(self) -> str:
        """Where the server listens, from its log."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.server is not None and self.server.poll() is None:
            for line in self.log.read_text().splitlines(keepends=True):
                if line.endswith("\n") and json.loads(line).get("message") == "listening":
                    return str(json.loads(line)["address"])
            time.sleep(0.05)
        self.__exit__(None, None, None)
        raise SystemExit(f"the server does not listen:\n{self.log.read_text()}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(STOP_SECONDS_MAX)

    def read(self, path: str) -> bytes:
        """The body of an answer to a `GET`; an answer that is no success raises."""
        with urllib.request.urlopen(self.url + path, timeout=REQUEST_SECONDS_MAX) as answer:
            body: bytes = answer.read()
            return body

    def data_of(self, path: str) -> Any:
        """`data` of an answer."""
        return json.loads(self.read(path))["data"]

    def slugs(self) -> list[str]:
        """Every dataset of the catalog."""
        found: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = self.data_of(f"/api/v1/datasets?limit=100&offset={offset}")
            found += [item["slug"] for item in page["results"]]
            offset = page["nextOffset"]
        return found

    def faults(self) -> list[str]:
        """Lines of the log that tell of a fault of the server."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [json.dumps(line) for line in lines if line.get("level") == "ERROR"]
