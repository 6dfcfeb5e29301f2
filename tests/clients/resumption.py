#!/usr/bin/env python3
"""Kills clients of downloads and streams at random moments, lets them resume, and checks that the final result is
complete, that it was charged once, and that the server's memory stays small.

    python resumption.py --binaries target/release [--rows N] [--cuts N] [--seed N]

Exit code 0 only if all checks pass.
"""

import argparse
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))
from service import Service  # noqa: E402

SECONDS_MAX = 120
PIECE_BYTES = 64 * 1024
TRIES_MAX = 400
TOGETHER = 10
# Anonymous memory above idle. One long response holds some units of rows; ten of them share the rendered-ahead buffer.
ONE_BYTES_MAX = 64 << 20
TOGETHER_BYTES_MAX = 128 << 20


class Site:
    """The server, its only account, and the exported files."""

    def __init__(self, service: Service, rows: int) -> None:
        self.service = service
        self.rows = rows
        assert service.connection is not None and service.server is not None, "the server runs"
        self.host, self.port = service.connection.host, service.connection.port
        self.url = f"http://{self.host}:{self.port}/api/v1/datasets/many/download"
        self.process = service.server.pid

    def export(self, form: str) -> bytes:
        store = self.service.data / "datasets" / "many" / "versions" / "1.0.0.mcol"
        command = [self.service.binaries / "mercato-tools", "export", store, "--format", form]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def account(self) -> dict[str, int]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS_MAX)
        connection.request("GET", "/api/v1/account", headers={"X-Api-Key": self.service.key})
        account: dict[str, int] = json.loads(connection.getresponse().read())["data"]
        return account

    def settled(self) -> int:
        """The balance once no reservation is open."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            account = self.account()
            if account["reserved"] == 0:
                return account["credits"]
            time.sleep(0.02)
        raise SystemExit("a reservation stays open after its client disconnected")

    def anonymous_bytes(self) -> int:
        """Memory of the server without mapped files."""
        status = Path(f"/proc/{self.process}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        return int(line.split()[1]) * 1024


class Cut:
    """A connection that is dropped without a shutdown."""

    def __init__(self, site: Site, request: str, body: bytes = b"") -> None:
        self.socket = socket.create_connection((site.host, site.port), SECONDS_MAX)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        head = f"{request} HTTP/1.1\r\nHost: check\r\nX-Api-Key: {site.service.key}\r\n"
        self.socket.sendall((head).encode() + body)
        self.answer = http.client.HTTPResponse(self.socket)

    def begin(self, *statuses: int) -> None:
        self.answer.begin()
        if self.answer.status not in statuses:
            raise SystemExit(f"status {self.answer.status}: {self.answer.read()[:500]!r}")

    def read(self, count: int) -> bytes:
        """Reads `count` bytes, or fewer at the end."""
        pieces = []
        while count > 0 and (piece := self.answer.read(min(count, PIECE_BYTES))):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def kill(self) -> None:
        self.answer.close()
        self.socket.close()


# Downloads. ---------------------------------------------------------------------------------------------------

def cut_downloads(site: Site, form: str, cuts: int, rng: random.Random) -> str:
    """A raw client, killed after an exact number of bytes."""
    wanted = site.export(form)
    before = site.settled()
    places = sorted(rng.sample(range(1, len(wanted)), cuts)) + [len(wanted)]
    got = bytearray()
    for place in places:
        resumes = f"Range: bytes={len(got)}-\r\n" if got else ""
        cut = Cut(site, f"GET /api/v1/datasets/many/download?format={form}", b"")
        cut.socket.sendall(f"{resumes}\r\n".encode())
        cut.begin(206 if got else 200)
        got += cut.read(place - len(got))
        cut.kill()
    return check_result(site, f"{form} cut {cuts} times", bytes(got) == wanted, before)


def killed_program(site: Site, form: str, command: list[str], path: Path, rng: random.Random) -> str:
    """A program with its own resumption, killed repeatedly."""
    wanted = site.export(form)
    before = site.settled()
    kills = 0
    for _ in range(TRIES_MAX):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # A client without data cannot resume: it would start again.
        while process.poll() is None and (not path.exists() or path.stat().st_size == 0):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.15))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        code = process.wait()
        if code >= 0:
            break
    errors = process.stderr.read().decode() if process.stderr else ""
    if code != 0:
        raise SystemExit(f"{command[0]}: exit {code}: {errors}")
    return check_result(site, f"{form} by {command[0]} killed {kills} times", path.read_bytes() == wanted, before)


def check_result(site: Site, what: str, is_whole: bool, before: int) -> str:
    paid = before - site.settled()
    if not is_whole:
        raise SystemExit(f"{what}: the joined file differs from the export")
    if paid != site.rows:
        raise SystemExit(f"{what}: {paid} credits paid instead of {site.rows}")
    return what


# Streams. -----------------------------------------------------------------------------------------------------

def cut_streams(site: Site, cuts: int, rng: random.Random) -> str:
    """Keeps the rows up to the last event with an id, and resumes after it."""
    rows: list[int] = []
    marks = {"": 0}
    last = ""
    connections = 0
    length = 60 * site.rows
    while connections <= TRIES_MAX:
        resumes = f"Last-Event-ID: {last}\r\n" if last else ""
        body = json.dumps({"limit": site.rows, "columns": ["id"]}).encode()
        cut = Cut(site, "POST /api/v1/datasets/many/query/stream", f"{resumes}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        cut.begin(200)
        connections += 1
        text = cut.read(length if connections > cuts else rng.randrange(1, 2 * length // cuts))
        cut.kill()
        del rows[marks[last]:]
        *events, rest = text.decode().split("\n\n")
        for event in events:
            fields = dict(line.split(": ", 1) for line in event.split("\n") if not line.startswith(":"))
            if "data" in fields:
                rows.append(json.loads(fields["data"])["id"])
            if "id" in fields:
                last = fields["id"]
                marks[last] = len(rows)
        if rest.startswith(": end ") and rest.endswith("\n"):
            break
    if rows != list(range(site.rows)):
        raise SystemExit(f"a stream that was cut {connections - 1} times gave {len(rows)} rows, or not each once")
    return f"a stream cut {connections - 1} times"


# Memory. ------------------------------------------------------------------------------------------------------

def cut_lines(site: Site, cuts: int, rng: random.Random) -> str:
    """Counts complete NDJSON lines, and resumes after them with the same Idempotency-Key. All rows are charged once."""
    rows: list[int] = []
    body = json.dumps({"limit": site.rows, "columns": ["id"]}).encode()
    before, connections, once = site.settled(), 0, f"lines-{rng.randrange(1 << 30)}"
    length = 40 * site.rows
    while len(rows) < site.rows and connections <= TRIES_MAX:
        target = f"POST /api/v1/datasets/many/query/stream?afterRows={len(rows)}"
        head = f"Accept: application/x-ndjson\r\nIdempotency-Key: {once}\r\nContent-Length: {len(body)}\r\n\r\n"
        cut = Cut(site, target, head.encode() + body)
        cut.begin(200)
        connections += 1
        text = cut.read(length if connections > cuts else rng.randrange(1_000, 2 * length // cuts))
        cut.kill()
        rows.extend(json.loads(line)["id"] for line in text.decode().split("\n")[:-1])
        # The key is in use until the server notices the disconnect.
        site.settled()
    if rows != list(range(site.rows)):
        raise SystemExit(f"lines that were cut {connections - 1} times gave {len(rows)} rows, or not each once")
    if before - site.settled() != site.rows:
        raise SystemExit(f"{site.rows} rows in {connections} pieces cost {before - site.settled()} credits")
    return f"lines cut {connections - 1} times"


def memory(site: Site) -> str:
    """Anonymous memory during long responses."""
    idle = site.anonymous_bytes()
    stream = json.dumps({"limit": min(site.rows, 1_000_000)}).encode()
    asks = {
        "stream": ("POST /api/v1/datasets/many/query/stream", f"Content-Length: {len(stream)}\r\n\r\n".encode() + stream),
        "json": ("GET /api/v1/datasets/many/download?format=json", b"\r\n"),
    }
    seen = []
    for name, (request, rest) in asks.items():
        for count, bound in ((1, ONE_BYTES_MAX), (TOGETHER, TOGETHER_BYTES_MAX)):
            peak = max(while_reading(site, request, rest, count, pause) for pause in (0.0, 0.01)) - idle
            if peak > bound:
                raise SystemExit(f"{count} × {name}: {peak >> 20} MiB above idle, at most {bound >> 20} are allowed")
            seen.append(f"{count} × {name} {peak / (1 << 20):.1f}")
    return f"MiB above {idle >> 20} at idle: " + ", ".join(seen)


def while_reading(site: Site, request: str, rest: bytes, count: int, pause: float) -> int:
    """The peak memory while `count` clients read. With a pause after each piece, they read slowly and not to the end."""
    def read() -> None:
        cut = Cut(site, request, rest)
        cut.answer.begin()
        deadline = time.monotonic() + (2 if pause else SECONDS_MAX)
        while cut.answer.read(PIECE_BYTES) and time.monotonic() < deadline:
            time.sleep(pause)
        cut.kill()

    readers = [threading.Thread(target=read) for _ in range(count)]
    for reader in readers:
        reader.start()
    peak = 0
    while any(reader.is_alive() for reader in readers):
        peak = max(peak, site.anonymous_bytes())
        time.sleep(0.01)
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--binaries", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=os.getpid())
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(f"seed {arguments.seed}")
    count = arguments.rows
    table = pa.table({
        "id": pa.array(range(count), pa.int64()),
        "name": [f"customer {number % 9973} of “{number % 7}”, \"somewhere\"" for number in range(count)],
        "price": pa.array((number * 37 % 1_000_003 / 8 for number in range(count)), pa.float64()),
        "text": [f"{number * 2654435761 % 4294967296:032x}" for number in range(count)],
    })
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "many.parquet")
        service = Service(arguments.binaries, folder, "--stream-workers", str(TOGETHER))
        service.publish("many", folder / "many.parquet")
        service.open_account()
        with service:
            site = Site(service, count)
            header = f"X-Api-Key: {service.key}"
            curl = ["curl", "-sS", "--fail", "--limit-rate", "60M", "-C", "-", "-H", header, "-o"]
            wget = ["wget", "-q", "--limit-rate=60m", "--tries=1", "-c", f"--header={header}", "-O"]
            steps: list[Callable[[], str]] = [
                lambda: cut_downloads(site, "csv", arguments.cuts, rng),
                lambda: killed_program(
                    site, "json", [*curl, str(folder / "curl"), f"{site.url}?format=json"], folder / "curl", rng),
                lambda: killed_program(
                    site, "ndjson", [*wget, str(folder / "wget"), f"{site.url}?format=ndjson"], folder / "wget", rng),
                lambda: cut_streams(site, arguments.cuts, rng),
                lambda: cut_lines(site, arguments.cuts, rng),
                # Last, because its paid rows would make later parts free.
                lambda: memory(site),
            ]
            for step in steps:
                began = time.monotonic()
                print(f"{step()} ({time.monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
