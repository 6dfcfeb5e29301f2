"""Bytes on a connection, for those who do not keep to the rules: many connections at one time, and answers read as
they come. Knows no attack."""

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable

CONNECT_SECONDS_MAX = 30
# Connections that are being opened at one time: the backlog of a listener is finite.
OPENING_MAX = 200
# Addresses of this machine that connections come from, so that no bound for each address is met by accident.
SOURCES = 16

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def source(number: int) -> tuple[str, int]:
    """A loopback address to come from."""
    return (f"127.0.0.{2 + number % SOURCES}", 0)


async def connect(port: int, number: int = 0, receive_buffer: int | None = None) -> Stream:
    """One connection; `receive_buffer` keeps the window small, as a client far away has it."""
    raw = socket.socket()
    raw.setblocking(False)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.bind(source(number))
    try:
        await asyncio.wait_for(asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port)), CONNECT_SECONDS_MAX)
        return await asyncio.open_connection(sock=raw, limit=1 << 16)
    except BaseException:
        raw.close()
        raise


async def many(count: int, one: Callable[[int], Awaitable[None]]) -> list[BaseException]:
    """Runs `one` for every number at one time; what they raised."""
    outcomes = await asyncio.gather(*(one(number) for number in range(count)), return_exceptions=True)
    return [outcome for outcome in outcomes if isinstance(outcome, BaseException)]


class Gate:
    """Lets a bounded number of connections be opened at one time."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(OPENING_MAX)

    async def connect(self, port: int, number: int, receive_buffer: int | None = None) -> Stream:
        """As the function of the same name."""
        async with self.places:
            return await connect(port, number, receive_buffer)


async def read_all(reader: asyncio.StreamReader, seconds: float, most: int = 1 << 22) -> tuple[bytes, bool]:
    """What arrives until the peer closes, for so long at most; and whether it closed."""
    pieces: list[bytes] = []
    deadline = asyncio.get_running_loop().time() + seconds
    while sum(map(len, pieces)) < most:
        try:
            async with asyncio.timeout_at(deadline):
                piece = await reader.read(1 << 16)
        except TimeoutError:
            return b"".join(pieces), False
        except (ConnectionError, OSError):
            return b"".join(pieces), True
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
    return b"".join(pieces), False


async def exchange(port: int, request: bytes, seconds: float = 10) -> tuple[bytes, bool]:
    """Sends bytes and reads until the peer closes or says nothing more; whether it closed."""
    reader, writer = await connect(port)
    try:
        writer.write(request)
        return await read_all(reader, seconds)
    finally:
        cut(writer)


def read_on(writer: asyncio.StreamWriter, on: bool) -> None:
    """Whether what comes is taken off the connection."""
    transport = writer.transport
    assert isinstance(transport, asyncio.Transport)
    if on:
        transport.resume_reading()
    else:
        transport.pause_reading()


def cut(writer: asyncio.StreamWriter) -> None:
    """Ends a connection with a reset, so that nothing lingers on either side."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() != -1:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def statuses(answers: bytes) -> list[int]:
    """The statuses of the answers that follow each other in some bytes, read by their lengths."""
    return [status for status, _ in split(answers)]


def split(answers: bytes) -> list[tuple[int, bytes]]:
    """Status and body of each complete answer."""
    found: list[tuple[int, bytes]] = []
    for _ in itertools.count():
        head, mark, rest = answers.partition(b"\r\n\r\n")
        if not mark or not head.startswith(b"HTTP/1."):
            return found
        status = int(head.split(b" ", 2)[1])
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
        length = int(fields.get(b"content-length", b"0"))
        if status // 100 == 1:
            answers = rest
            continue
        if len(rest) < length:
            return found
        found.append((status, rest[:length]))
        answers = rest[length:]
    return found
