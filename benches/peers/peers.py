"""The peers as targets: DuckDB, ClickHouse, PostgreSQL and ROAPI, each as somebody who knows it would set it up. Knows
nothing of how time is taken."""

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import client
import environment
import machine
from target import STOP_SECONDS_MAX, Load, Target, disk_bytes, free_port, remove, timed
from works import Dialect, Question, Work

HERE = Path(__file__).parent


class Wrapped(Target):
    """An engine behind the wrapper."""

    engine = ""

    def place(self) -> Path | str:
        """What the engine opens."""
        raise NotImplementedError

    def command(self, port: int) -> list[str | Path]:
        return [sys.executable, HERE / "wrapper.py", self.engine, self.place(), str(port)]

    def statement(self, sql: str, form: str) -> str:
        """The statement that prints the rows of another one."""
        raise NotImplementedError

    def table_for(self, question: Question) -> str:
        """The table that answers the question best."""
        return self.table

    def asked(self, work: Work, question: Question) -> bytes | None:
        form = {"ndjson": "ndjson", "csv": "csv", "json": "ndjson"}.get(work.form, "value")
        sql = self.dialect.sql(question, self.table_for(question))
        return client.request("POST", "/", {"X-Form": form}, self.statement(sql, form).encode())


class DuckDb(Wrapped):
    """A native table with an index of the orders' keys."""

    name = engine = "duckdb"
    title = "DuckDB"

    def place(self) -> Path:
        return self.folder / "lineitem.duckdb"

    def loaded(self) -> bool:
        return self.place().exists()

    def load(self, quick: bool) -> list[Load]:
        found = []
        for name, title in (("duckdb", "table"), ("duckdb-indexed", "table and index of keys")):
            for _ in range(1 if quick else 2):
                remove(self.place())
                spent = timed([sys.executable, HERE / "loaders.py", name, self.parquet, self.place()], self.folder / "load.log")
                found.append(Load(title, spent, disk_bytes(self.place())))
        return found

    def statement(self, sql: str, form: str) -> str:
        if form == "value":
            return f"SELECT '[' || string_agg(to_json(t)::VARCHAR, ',') || ']' FROM ({sql}) t"
        if form == "ndjson":
            return f"SELECT to_json(t)::VARCHAR || chr(10) FROM ({sql}) t"
        # Only the comments can hold a comma or a quote.
        listed = sql.removeprefix("SELECT ").split(" FROM ", 1)[0].split(", ")
        quoted = "CASE WHEN contains({0}, ',') OR contains({0}, '\"') THEN '\"' || replace({0}, '\"', '\"\"') || '\"' ELSE {0} END"
        printed = [quoted.format(name) if name == "l_comment" else name for name in listed]
        return f"SELECT concat_ws(',', {', '.join(printed)}) || chr(10) FROM ({sql}) t"


class ClickHouse(Wrapped):
    """MergeTrees in chdb: one in the order of the keys, and a copy in the order of the price for pages by price."""

    name = engine = "clickhouse"
    title = "ClickHouse"
    table = "peers.lineitem"
    dialect = Dialect(date="toDate('{}')", amount="toDecimal64('{}', 2)")

    def place(self) -> Path:
        return self.folder / "store"

    def loaded(self) -> bool:
        return (self.folder / "complete").exists()

    def load(self, quick: bool) -> list[Load]:
        remove(self.place())
        remove(self.folder / "complete")
        found = []
        log = self.folder / "load.log"
        for name, title in (("clickhouse", "table"), ("clickhouse-by-price", "copy by price")):
            spent = timed([sys.executable, HERE / "loaders.py", name, self.parquet, self.place()], log)
            # Parts that were merged lie in the folder for some minutes more, so the engine says what counts.
            found.append(Load(title, spent, int(log.read_text())))
        (self.folder / "complete").touch()
        return found

    def table_for(self, question: Question) -> str:
        return "peers.lineitem_by_price" if question.order == "l_extendedprice" else self.table

    def statement(self, sql: str, form: str) -> str:
        return sql


class PostgreSql(Wrapped):
    """A cluster of its own with three indexes, run by the user that the package made."""

    name = engine = "postgresql"
    title = "PostgreSQL"
    dialect = Dialect(compares_rows=True)
    user = "postgres"

    def __init__(self, folder: Path, parquet: Path) -> None:
        super().__init__(folder, parquet)
        self.cluster = self.folder / "cluster"
        self.port = free_port()

    def programs(self, name: str, *arguments: str | Path) -> None:
        """A program of PostgreSQL, as its user."""
        folder = environment.postgresql_programs()
        assert folder is not None, "it was installed before"
        command = ["runuser", "-u", self.user, "--"] if os.geteuid() == 0 else []
        subprocess.run([*command, folder / name, "-D", self.cluster, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def place(self) -> str:
        user = self.user if os.geteuid() == 0 else os.environ.get("USER", self.user)
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def _settings(self) -> str:
        memory = int(machine.describe()["memoryGiB"] * 1024)
        return "\n".join([
            "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{self.cluster}'",
            f"shared_buffers = {max(128, min(4096, memory // 6))}MB", f"effective_cache_size = {memory * 6 // 10}MB",
            "work_mem = 256MB", "max_wal_size = 8GB", "random_page_cost = 1.1", "effective_io_concurrency = 100",
            f"max_parallel_workers_per_gather = {max(1, (os.cpu_count() or 2) - 1)}", "jit = off", ""])

    def _begin(self) -> None:
        """Starts the cluster, which is made when there is none."""
        if not self.cluster.exists():
            self.cluster.mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(self.cluster, self.user)
            self.programs("initdb", "--auth=trust", "--username", self.place().split("//")[1].split("@")[0])
            with (self.cluster / "postgresql.conf").open("a") as settings:
                settings.write(self._settings())
        self.programs("pg_ctl", "start", "--wait", "--silent", "--log", self.cluster / "log", "--options", f"-p {self.port}")

    def _end(self) -> None:
        """Stops the cluster if it runs."""
        if (self.cluster / "postmaster.pid").exists():
            self.programs("pg_ctl", "stop", "--wait", "--silent", "--mode", "fast")

    def _postmaster(self) -> list[int]:
        with contextlib.suppress(OSError):
            return [int((self.cluster / "postmaster.pid").read_text().split("\n", 1)[0])]
        return []

    def loaded(self) -> bool:
        return (self.folder / "complete").exists()

    def load(self, quick: bool) -> list[Load]:
        self._end()
        remove(self.cluster)
        remove(self.folder / "complete")
        self._begin()
        try:
            before = disk_bytes(self.cluster / "base")
            with machine.PeakMemory(self._postmaster()) as peak:
                spent = timed([sys.executable, HERE / "loaders.py", "postgresql", self.parquet, self.place()],
                              self.folder / "load.log")
            size = disk_bytes(self.cluster / "base") - before
        finally:
            self._end()
        (self.folder / "complete").touch()
        return [Load("table and three indexes", replace(spent, peak_mib=peak.resident_mib), size)]

    def launch(self) -> None:
        self._begin()
        super().launch()

    def processes(self) -> list[int]:
        return super().processes() + self._postmaster()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(STOP_SECONDS_MAX)
            self.process = None
        self._end()

    def statement(self, sql: str, form: str) -> str:
        if form == "value":
            return f"SELECT json_agg(t)::text FROM ({sql}) t"
        return f"SELECT row_to_json(t) FROM ({sql}) t" if form == "ndjson" else sql

    def asked(self, work: Work, question: Question) -> bytes | None:
        if work.name != "W4":
            return super().asked(work, question)
        sql = self.statement(self.dialect.sql(question, self.table, "$1"), "value")
        headers = {"X-Form": "value", "X-Parameter": str(question.conditions[0][2])}
        return client.request("POST", "/", headers, sql.encode())


class Roapi(Target):
    """ROAPI with the Parquet file read into memory, which answers faster than from the file."""

    name = "roapi"
    title = "ROAPI"
    dialect = Dialect(amount="CAST('{}' AS DECIMAL(15, 2))")
    in_memory = True
    accepted = {"ndjson": "application/x-ndjson", "csv": "application/csv"}

    def loaded(self) -> bool:
        return True

    def load(self, quick: bool) -> list[Load]:
        return []

    def command(self, port: int) -> list[str | Path]:
        return [Path(sys.prefix) / "bin" / "roapi", "--addr-http", f"127.0.0.1:{port}",
                "--addr-postgres", f"127.0.0.1:{free_port()}", "--table",
                f"lineitem={self.parquet},format=parquet,use_memory_table={str(self.in_memory).lower()}"]

    def quick_starter(self) -> Target:
        return RoapiOnFile(self.folder.parent, self.parquet)

    def asked(self, work: Work, question: Question) -> bytes | None:
        headers = {"Accept": self.accepted.get(work.form, "application/json")}
        if work.name == "W1":
            return client.request("GET", "/api/tables/lineitem?limit=100", headers)
        return client.request("POST", "/api/sql", headers, self.dialect.sql(question, self.table).encode())


class RoapiOnFile(Roapi):
    """ROAPI that leaves the Parquet file where it is, which starts faster."""

    in_memory = False


PEERS: dict[str, type[Target]] = {peer.name: peer for peer in (DuckDb, ClickHouse, PostgreSql, Roapi)}
