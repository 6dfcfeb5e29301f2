"""Clients that behave, each in a process of its own, and what they meet: a page with a key, at moments that are set
beforehand. Knows no attack."""

import json
import multiprocessing
import socket
import statistics
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from site_under_test import DATASET

PAGE_ROWS = 100
CUSTOMER_TIMEOUT_SECONDS = 20
RECEIVE_BYTES = 1 << 16


@dataclass(frozen=True)
class Habit:
    """How often a customer asks, and from where. Who reconnects opens a connection for each request."""

    name: str
    requests_per_second: float
    reconnects: bool
    # Neither an address of an attacker nor that of a proxy.
    address: str


KEPT = Habit("kept", 200, reconnects=False, address="127.0.0.101")
ANEW = Habit("anew", 20, reconnects=True, address="127.0.0.102")


@dataclass
class Phase:
    """What one customer met while something went on."""

    name: str
    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """Milliseconds that this share of the answers took at most."""
        if len(self.latencies) < 2:
            return self.latencies[0] * 1000 if self.latencies else float("nan")
        return statistics.quantiles(self.latencies, n=1000, method="inclusive")[round(share * 1000) - 1] * 1000

    def add(self, other: "Phase") -> None:
        """Takes what another phase met to its own."""
        self.latencies += other.latencies
        self.errors += other.errors


class Customer:
    """The process of one customer, asked from outside."""

    def __init__(self, habit: Habit, port: int, request: bytes, rows: int = PAGE_ROWS) -> None:
        self.habit = habit
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=shop, args=(habit, port, request, rows, other), daemon=True)
        self.process.start()
        other.close()

    def phase(self, name: str) -> Phase:
        """Everything since the last call."""
        self.pipe.send("report")
        latencies, errors = self.pipe.recv()
        return Phase(name, latencies, errors)

    def stop(self) -> None:
        """Ends the process."""
        self.pipe.send("stop")
        self.process.join(CUSTOMER_TIMEOUT_SECONDS * 2)
        self.process.kill()


def shop(habit: Habit, port: int, request: bytes, rows: int, orders: Connection) -> None:
    """The loop of a customer's process. A request that is late is sent at once, and those after it are not hurried. An
    answer's time begins when its request is sent, or when its connection is opened for it."""
    latencies: list[float] = []
    errors: list[str] = []
    line = Line(port, habit.address)
    due = time.perf_counter()
    while True:
        if orders.poll():
            if orders.recv() == "stop":
                return
            orders.send((latencies, errors))
            latencies, errors = [], []
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        try:
            head, body = line.ask(request)
            latencies.append(time.perf_counter() - began)
            if not head.startswith(b"HTTP/1.1 200 ") or b'"rowsReturned":%d,' % rows not in body:
                errors.append(f"{head[:300]!r} {body[:200]!r}")
        except (OSError, ValueError) as error:
            latencies.append(time.perf_counter() - began)
            errors.append(repr(error))
            line.close()
        if habit.reconnects:
            line.close()
        due = max(due + 1 / habit.requests_per_second, time.perf_counter())


def page_request(key: str, rows: int = PAGE_ROWS) -> bytes:
    """The bytes that ask for a page."""
    body = json.dumps({"limit": rows}).encode()
    return (f"POST /api/v1/datasets/{DATASET}/query HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


class Line:
    """One connection, opened where there is none, and as cheap for this machine as can be: what a customer's program
    does itself is in the times that it measures."""

    def __init__(self, port: int, address: str) -> None:
        self.port, self.address = port, address
        self.socket: socket.socket | None = None

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Head and body of the answer; its head must say how long it is."""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), CUSTOMER_TIMEOUT_SECONDS, (self.address, 0))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(request)
        head, body = b"", b""
        while not head:
            body += self._receive()
            before, mark, after = body.partition(b"\r\n\r\n")
            if mark:
                head, body = before, after
        fields = dict(field.lower().split(b":", 1) for field in head.split(b"\r\n")[1:])
        pieces, missing = [body], int(fields[b"content-length"]) - len(body)
        while missing > 0:
            pieces.append(self._receive())
            missing -= len(pieces[-1])
        if fields.get(b"connection", b"").strip() == b"close":
            self.close()
        return head, b"".join(pieces)

    def _receive(self) -> bytes:
        assert self.socket is not None
        piece = self.socket.recv(RECEIVE_BYTES)
        if not piece:
            raise ConnectionError("the connection ended before its answer did")
        return piece

    def close(self) -> None:
        """Forgets the connection."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None
