"""Our server as a target: a key, limits and a charge for every request. Knows nothing of how time is taken."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import client
from target import Load, Target, disk_bytes, remove, timed
from works import Question, Work, body_for_mercato, compact

ANSWER_SECONDS_MAX = 60
CREDITS = 1_000_000_000_000
# The limits stay switched on, so high that nobody meets them.
REQUESTS_MAX = 4_000_000_000
DATASETS = 100
SLUG = "lineitem"
FORMS = {"csv": "csv", "json": "json"}


class Mercato(Target):
    """Our server: a key, limits and a charge for every request."""

    name = "mercato"
    title = "mercato"
    durability = "process"
    has_events = True

    def __init__(self, folder: Path, parquet: Path, binaries: Path) -> None:
        super().__init__(folder, parquet)
        self.binaries = binaries
        self.data = self.folder / "data"
        self.key = ""
        self._cursors: dict[int, str] = {}

    def tools(self, *arguments: object) -> Any:
        """One of the operator's commands; what it says."""
        command = [str(part) for part in (self.binaries / "mercato-tools", *arguments, "--json")]
        outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit {outcome.returncode}: {outcome.stderr.decode()}")
        return json.loads(outcome.stdout)

    def store(self) -> Path:
        """The published store file."""
        return self.data / "datasets" / SLUG / "versions" / "1.0.0.mcol"

    def loaded(self) -> bool:
        binary = (self.binaries / "mercato-tools").stat().st_mtime
        return (self.data / "complete").exists() and (self.data / "complete").stat().st_mtime > binary

    def load(self, quick: bool) -> list[Load]:
        found = []
        output = self.folder / "converted.mcol"
        for _ in range(1 if quick else 3):
            output.unlink(missing_ok=True)
            spent = timed([self.binaries / "mercato-tools", "convert", self.parquet, "--output", output], self.folder / "load.log")
            found.append(Load("converted, 16 sort indexes", spent, disk_bytes(output)))
        output.unlink()
        found.append(self.publish())
        return found

    def publish(self, *flags: str) -> Load:
        """Fills the data directory: the table, small datasets beside it, an account that can pay. The flags are of the conversion."""
        remove(self.data)
        manifest = self.folder / "manifest"
        manifest.mkdir(exist_ok=True)
        (manifest / "dataset.toml").write_text(f'slug = "{SLUG}"\n[title]\nen = "Order lines"\n')
        spent = timed([self.binaries / "mercato-tools", "publish", manifest, "--parquet", self.parquet, "--version", "1.0.0",
                       "--data", self.data, *flags], self.folder / "publish.log")
        self.add_small_datasets()
        self.open_account()
        (self.data / "complete").touch()
        return Load("published, 16 sort indexes", spent, disk_bytes(self.store()))

    def add_small_datasets(self) -> None:
        """Other datasets of a few rows, so that the catalogue has a hundred."""
        import pyarrow
        import pyarrow.parquet
        small = self.folder / "small.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), small)
        store = self.folder / "small.mcol"
        remove(store)
        self.tools("convert", small, "--output", store)
        for number in range(1, DATASETS):
            folder = self.data / "datasets" / f"small-{number}"
            (folder / "versions").mkdir(parents=True)
            (folder / "dataset.toml").write_text(f'slug = "small-{number}"\n[title]\nen = "Small table {number}"\n')
            os.link(store, folder / "versions" / "1.0.0.mcol")

    def open_account(self) -> None:
        """An account, credits and a key."""
        account = self.tools("account", "create", "--name", "comparison", "--data", self.data)["id"]
        self.tools("credits", "buy", "--account", account, "--credits", CREDITS, "--data", self.data)
        key = self.tools("key", "create", "--account", account, "--data", self.data)["key"]
        (self.folder / "key").write_text(key)

    def command(self, port: int) -> list[str | Path]:
        return [self.binaries / "mercato", "serve", "--data", self.data, "--listen", f"127.0.0.1:{port}", "--admin",
                f"unix:{self.folder / 'admin.sock'}", "--charge-durability", self.durability,
                "--requests-per-minute", str(REQUESTS_MAX), "--requests-per-day", str(REQUESTS_MAX)]

    def launch(self) -> None:
        self.key = (self.folder / "key").read_text()
        super().launch()

    def learn(self, works: list[Work]) -> None:
        """The cursors of pages in the depth: what the page before them gives."""
        connection = client.Client(self.address, ANSWER_SECONDS_MAX)
        for work in works:
            for question in work.variants[:1]:
                if question.after is not None:
                    before = Question(order=question.order, limit=1, offset=question.depth - 1)
                    answer, body = client.whole(connection, self._post("query", body_for_mercato(before, None)))
                    if answer.status != 200:
                        raise RuntimeError(f"no cursor for {work.name}: {answer.status} {body[:300]!r}")
                    self._cursors[question.depth] = json.loads(body)["data"]["nextCursor"]
        connection.close()

    def _post(self, path: str, body: dict[str, Any], accept: str = "application/json") -> bytes:
        headers = {"X-Api-Key": self.key, "Content-Type": "application/json", "Accept": accept}
        return client.request("POST", f"/api/v1/datasets/{SLUG}/{path}", headers, compact(body))

    def asked(self, work: Work, question: Question) -> bytes | None:
        body = body_for_mercato(question, self._cursors[question.depth] if question.after else None)
        if work.form in FORMS:
            headers = {"X-Api-Key": self.key}
            return client.request("GET", f"/api/v1/datasets/{SLUG}/download?format={FORMS[work.form]}", headers)
        if work.form == "ndjson":
            return self._post("query/stream", body, "application/x-ndjson")
        if work.form == "events":
            return self._post("query/stream", body, "text/event-stream")
        return self._post("query/estimate" if question.counted else "query", body)

    def read(self, body: bytes) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(body)["data"]["results"]
        return rows

    def counted(self, body: bytes) -> int:
        return int(json.loads(body)["data"]["rows"])


class MercatoPower(Mercato):
    """The same with charges that are on disk before the answer, on books of its own."""

    name = "mercato-power"
    title = "mercato, `power`"
    durability = "power"

    def copy_of(self, other: Mercato) -> None:
        """The catalogue of the other one, as links to its files."""
        remove(self.data)
        for path in (other.data / "datasets").rglob("*"):
            if path.is_file():
                place = self.data / path.relative_to(other.data)
                place.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, place)
        self.open_account()
