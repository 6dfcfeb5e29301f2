"""Clients that want rows without paying for them. What such a client has is counted from the bytes that its system got, also
of segments that it dropped while a capture kept them. Knows nothing of other attacks."""

import asyncio
import contextlib
import ctypes
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

from site_under_test import DATASET

STREAM_ROWS = 20_000
FREE_ROWS = 100
# A receive buffer that holds some rows.
RECEIVE_BYTES = 4_096
# What a client waits for before it leaves.
LEAVES_AFTER_SECONDS = 0.4
SETTLED_SECONDS_MAX = 20
ATTACH_FILTER = 26
# Longer than any segment of the loopback.
FRAME_BYTES = 1 << 17
IPV4 = 0x0800

# A program for sockets: takes a segment without payload, and drops every other one. It begins with the header of TCP.
#   x = length of the header; a = length of the segment - x; take it if a is 0
DROPS_PAYLOAD = [(0x30, 0, 0, 12), (0x74, 0, 0, 2), (0x54, 0, 0, 0x3C), (0x07, 0, 0, 0), (0x80, 0, 0, 0),
                 (0x1C, 0, 0, 0), (0x15, 0, 1, 0), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)]


class Shop:
    """What the attacker sees of its own account."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def account(self) -> dict[str, Any]:
        """The account as the API shows it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/api/v1/account", headers={"X-Api-Key": self.key})
            data: dict[str, Any] = json.load(connection.getresponse())["data"]
        return data

    def credits(self) -> int:
        """The balance."""
        return int(self.account()["credits"])

    def settled(self, before: int) -> int:
        """What a stream of `STREAM_ROWS` has cost once its reservation is settled."""
        deadline = time.monotonic() + SETTLED_SECONDS_MAX
        while (cost := before - self.credits()) == STREAM_ROWS and time.monotonic() < deadline:
            time.sleep(0.1)
        return cost

    def begin(self, rows: int, drops_payload: bool) -> socket.socket:
        """A connection on which a stream was asked for, and nothing is read."""
        client = socket.socket()
        if not drops_payload:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        client.connect(("127.0.0.1", self.port))
        if drops_payload:
            drop_payload(client)
        body = json.dumps({"limit": rows}).encode()
        client.sendall((f"POST /api/v1/datasets/{DATASET}/query/stream HTTP/1.1\r\nHost: a\r\nX-Api-Key: {self.key}\r\n"
                        f"Accept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        time.sleep(LEAVES_AFTER_SECONDS)
        return client


def drop_payload(client: socket.socket) -> None:
    """From now on the system of the client drops every segment that carries something."""
    program = b"".join(struct.pack("HBBI", *step) for step in DROPS_PAYLOAD)
    buffer = ctypes.create_string_buffer(program)
    client.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER,
                      struct.pack("HL", len(DROPS_PAYLOAD), ctypes.addressof(buffer)))


def leave(client: socket.socket) -> None:
    """Ends with a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def rows_of(wire: bytes) -> int:
    """Whole rows among the first bytes of an answer."""
    return wire.partition(b"\r\n\r\n")[2].count(b"}\n")


class Capture:
    """The segments of a port of the loopback, dropped by their receiver or not. Takes root."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(IPV4))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind(("lo", IPV4))
        self.socket.settimeout(0.1)
        self.port, self.ended = port, False
        # By the port of the client: payloads by their sequence numbers.
        self.segments: dict[int, dict[int, bytes]] = {}
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        while not self.ended:
            with contextlib.suppress(TimeoutError):
                self._take(self.socket.recv(FRAME_BYTES)[14:])

    def _take(self, packet: bytes) -> None:
        segment = packet[(packet[0] & 15) * 4:struct.unpack(">H", packet[2:4])[0] or len(packet)]
        if packet[9] != socket.IPPROTO_TCP or len(segment) < 20:
            return
        source, target, sequence = struct.unpack(">HHI", segment[:8])
        payload = segment[(segment[12] >> 4) * 4:]
        if source == self.port and payload:
            self.segments.setdefault(target, {})[sequence] = payload

    def stream(self, port: int) -> bytes:
        """The bytes from the first one on without a gap that were sent to a port."""
        found = dict(self.segments.get(port, {}))
        if not found:
            return b""
        at, stream = min(found), b""
        while at in found:
            stream, at = stream + found[at], (at + len(found[at])) & 0xFFFFFFFF
        return stream

    def end(self) -> None:
        """No further segments."""
        self.ended = True
        self.thread.join()
        self.socket.close()


@contextlib.contextmanager
def capture(port: int) -> Iterator[Capture | None]:
    """A capture, or nothing where this process may not have one."""
    try:
        capturing = Capture(port)
    except PermissionError:
        yield None
        return
    try:
        yield capturing
    finally:
        capturing.end()


def unread(shop: Shop, rounds: int) -> list[tuple[int, int]]:
    """Streams of which nothing is read before the client resets them: rows that its system has, and what they cost."""
    met = []
    for _ in range(rounds):
        before = shop.credits()
        client = shop.begin(STREAM_ROWS, drops_payload=False)
        had = rows_of(client.recv(1 << 22, socket.MSG_PEEK))
        leave(client)
        met.append((had, shop.settled(before)))
    return met


def dropped(shop: Shop, rounds: int) -> tuple[list[tuple[int, int]], bool]:
    """Streams whose segments the client's system drops, so that it acknowledges none of them: rows in the capture, and what they
    cost; and whether there was a capture."""
    met = []
    with capture(shop.port) as capturing:
        for _ in range(rounds):
            before = shop.credits()
            client = shop.begin(STREAM_ROWS, drops_payload=True)
            port = client.getsockname()[1]
            leave(client)
            cost = shop.settled(before)
            # Without a capture nobody knows what was sent, but a part of the first window was.
            had = rows_of(capturing.stream(port)) if capturing is not None else 1
            met.append((had, cost))
    return met, capturing is not None


def free(shop: Shop, rounds: int) -> int:
    """Free queries that dropped streams have used up."""
    before = int(shop.account()["freeQueriesRemaining"])
    for _ in range(rounds):
        leave(shop.begin(FREE_ROWS, drops_payload=True))
    deadline = time.monotonic() + SETTLED_SECONDS_MAX
    while (used := before - int(shop.account()["freeQueriesRemaining"])) < rounds and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(LEAVES_AFTER_SECONDS)
    return min(used, before - int(shop.account()["freeQueriesRemaining"]))


async def rows_for_nothing(port: int, key: str, free_key: str, rounds: int) -> tuple[str, list[str]]:
    """Every way of having rows without reading them; what was met, and what was had for nothing."""
    shop = Shop(port, key)
    read_nothing = await asyncio.to_thread(unread, shop, rounds)
    acknowledged_nothing, is_captured = await asyncio.to_thread(dropped, shop, rounds)
    used = await asyncio.to_thread(free, Shop(port, free_key), rounds)
    faults = [f"{name}: {had} rows were had for {cost} credits"
              for name, met in (("read nothing", read_nothing), ("acknowledged nothing", acknowledged_nothing))
              for had, cost in met if had > cost or had == 0]
    if used != rounds:
        faults.append(f"{rounds} streams of a free account used up {used} free queries")
    said = (f"rows and their credits: {read_nothing} unread, {acknowledged_nothing} unacknowledged "
            f"{'as captured' if is_captured else '(no capture without root)'}; {used} free queries")
    return said, faults
