"""A PostgreSQL primary with a synchronous standby, which can be killed, started again and promoted. Knows no books."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from machines import PREFIX, Machine, Network
from wire import PORT

START_SECONDS_MAX = 60
PROMOTE_SECONDS_MAX = 60
USER = "mercato"
# Kills of processes lose nothing that the kernel has, so no disk is waited for.
SETTINGS = {"port": str(PORT), "fsync": "off", "max_connections": "100", "wal_level": "replica",
            "hot_standby": "on", "wal_keep_size": "256MB", "wal_retrieve_retry_interval": "200ms",
            "log_min_messages": "fatal", "shared_buffers": "32MB", "max_wal_senders": "5",
            "wal_sender_timeout": "10s", "wal_receiver_timeout": "10s"}
# What a connection past all proxies waits for at most.
CLIENT = {"connect_timeout": "5", "tcp_user_timeout": "5000", "keepalives_idle": "3", "keepalives_interval": "1",
          "keepalives_count": "3"}


def programs() -> Path:
    """The folder with initdb and postgres, which is not in every path."""
    named = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
    places = [Path(named), *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which("postgres")
    if found:
        places.append(Path(found).parent)
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise SystemExit("no PostgreSQL server; install one (Debian: apt-get install postgresql)")


def as_owner(folder: Path, command: list[Any]) -> list[str]:
    """A command as PostgreSQL's own user: it refuses to run as root."""
    words = [str(word) for word in command]
    if os.geteuid() != 0:
        return words
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", f"HOME={folder}", *words]


class Node:
    """One PostgreSQL server."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder, self.machine = folder, machine
        self.data = folder / "data"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")

    def run(self, *command: Any) -> None:
        """Runs one of its programs to the end."""
        words = self.machine.command(as_owner(self.folder, [programs() / command[0], *command[1:]]))
        outcome = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False)
        if outcome.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {outcome.stderr}")

    def start(self) -> None:
        """Starts it; processes of the one before may still be ending."""
        deadline = time.monotonic() + START_SECONDS_MAX
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [programs() / "postgres", "-D", self.data, "-h", self.machine.address, "-k", self.folder, *settings]
        log = (self.folder / "log").open("ab")
        while time.monotonic() < deadline:
            self.process = subprocess.Popen(self.machine.command(as_owner(self.folder, command)), cwd="/",
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            while self.process.poll() is None and time.monotonic() < deadline:
                if self.is_ready():
                    return
                time.sleep(0.1)
            time.sleep(0.2)
        raise SystemExit(f"PostgreSQL does not start:\n{(self.folder / 'log').read_text()[-3000:]}")

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with self.connect():
                return True
        except psycopg.Error:
            return False

    def connect(self) -> "psycopg.Connection[Any]":
        """A connection past all proxies."""
        return psycopg.connect(host=self.machine.address, port=PORT, user=USER, dbname="postgres", autocommit=True,
                               **CLIENT)

    def kill(self) -> None:
        """As if the machine had stopped; the processes of its sessions end when they notice."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def freeze(self, is_frozen: bool) -> None:
        """Stops all its processes in their tracks, or lets them go on."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for process in [self.process.pid, *map(int, children)]:
            try:
                os.kill(process, signal.SIGSTOP if is_frozen else signal.SIGCONT)
            except ProcessLookupError:
                pass

    def demand_standby(self, is_demanded: bool) -> None:
        """Whether a commit waits for a standby."""
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"synchronous_standby_names = '{'*' if is_demanded else ''}'\n")
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGHUP)


class Database:
    """Primary and standby."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder, self.network = folder, network
        folder.mkdir(mode=0o755)
        self.nodes = 0
        self.primary = self._new_node()
        self.primary.run("initdb", "--pgdata", self.primary.data, "--username", USER, "--auth=trust", "--encoding=UTF8",
                         "--locale=C", "--no-sync")
        with (self.primary.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all,replication all {PREFIX}0/24 trust\n")
        self.primary.start()
        self.standby = self.new_standby()

    def _new_node(self) -> Node:
        self.nodes += 1
        name = f"node-{self.nodes}"
        return Node(self.folder / name, self.network.machine(name))

    def new_standby(self) -> Node:
        """A standby, from a copy of the primary, which waits for it from now on."""
        standby = self._new_node()
        standby.run("pg_basebackup", "-D", standby.data, "-h", self.primary.machine.address, "-U", USER, "-R", "-X", "stream",
                    "-c", "fast", "--no-sync")
        standby.start()
        self.primary.demand_standby(True)
        self.wait_until_synchronous()
        return standby

    def wait_until_synchronous(self) -> None:
        """Until what the primary commits is on the standby, too."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            try:
                with self.primary.connect() as connection:
                    state = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchall()
                if [("sync",)] == state:
                    return
            except psycopg.Error:
                pass
            time.sleep(0.1)
        raise SystemExit("the standby does not follow the primary")

    def promote(self) -> float:
        """The primary is gone for good, and the standby takes its place. Returns the moment at which that was ordered. It
        waits for no standby until it has one."""
        self.primary.kill()
        lost, self.primary = self.primary, self.standby
        self.primary.demand_standby(False)
        ordered = time.monotonic()
        with self.primary.connect() as connection:
            connection.execute("SELECT pg_promote(true, %s)", (PROMOTE_SECONDS_MAX,))
        # Nothing of it may be asked any more.
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            try:
                shutil.rmtree(lost.folder)
                break
            except OSError:
                time.sleep(0.1)
        lost.machine.remove()
        return ordered

    def stop(self) -> None:
        """Ends both."""
        for node in (self.primary, self.standby):
            node.kill()
