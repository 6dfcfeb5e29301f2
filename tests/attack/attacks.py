"""The attacks. Each is a coroutine that takes the target, does its worst for a bounded time, and says what it met; an
attack that finds the server wrong raises `Broken`. Knows nothing of how the server is measured meanwhile."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import money
from site_under_test import DATASET
from wire import Gate, connect, cut, exchange, many, read_all, read_on, split, statuses

SAMPLE = f"GET /api/v1/datasets/{DATASET}/sample HTTP/1.1\r\nHost: a\r\n\r\n".encode()
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
# What says what is wrong with a body may not become a weapon itself.
REFUSAL_BYTES_MAX = 100 << 10


# Bodies that fill the memory for bodies of the server, and one of a customer beside them.
BODIES_MAX = 3_000
BODY_BYTES = 1 << 20
CUSTOMER_BODY_BYTES = 300_000

# Goes on where the same attack ended before.
CHANCE = random.Random(7)


class Broken(Exception):
    """The server did what it must not do."""


@dataclass(frozen=True)
class Target:
    """Where to attack, how hard, and what the server promised to bear for how long."""

    port: int
    key: str
    free_key: str
    slow_connections: int
    idle_connections: int
    head_seconds: float
    body_seconds: float
    idle_seconds: float
    write_seconds: float
    patience_seconds: float
    large_bytes: int
    rounds: int

    def query(self, body: bytes, *headers: str) -> bytes:
        """A query with the key."""
        fields = "".join(f"{header}\r\n" for header in headers)
        head = (f"POST /api/v1/datasets/{DATASET}/query HTTP/1.1\r\nHost: a\r\nX-Api-Key: {self.key}\r\n"
                f"Content-Type: application/json\r\n{fields}")
        length = "" if any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers) \
            else f"Content-Length: {len(body)}\r\n"
        return f"{head}{length}\r\n".encode() + body


def expect(condition: bool, what: str) -> None:
    """Raises `Broken` where the condition does not hold."""
    if not condition:
        raise Broken(what)


async def slow(target: Target, opening: bytes, drops: bytes, allowed: float) -> str:
    """Many connections that say a byte a second; the server must be rid of each in the allowed time."""
    gate, endings = Gate(), Counter[str]()

    async def one(number: int) -> None:
        reader, writer = await gate.connect(target.port, number)
        began = asyncio.get_running_loop().time()
        writer.write(opening)
        dripping = asyncio.create_task(drip(writer, drops))
        answer, closed = await read_all(reader, allowed + target.patience_seconds)
        dripping.cancel()
        took = asyncio.get_running_loop().time() - began
        expect(closed, f"connection {number} is still open after {took:.1f} s")
        endings[str(statuses(answer) or "closed")] += 1
        cut(writer)

    raised = await many(target.slow_connections, one)
    expect(not raised, f"{len(raised)} connections failed, the first: {raised[:1]}")
    return f"{target.slow_connections} connections: {dict(endings)}"


async def drip(writer: asyncio.StreamWriter, drops: bytes) -> None:
    """One byte a second, over and over."""
    try:
        while True:
            for byte in drops:
                await asyncio.sleep(1)
                writer.write(bytes([byte]))
    except (ConnectionError, OSError):
        return


async def slow_heads(target: Target) -> str:
    """Slowloris: heads that never end."""
    return await slow(target, b"GET / HTTP/1.1\r\nHost: a\r\n", b"x-a: b\r\n", target.head_seconds)


async def slow_bodies(target: Target) -> str:
    """Bodies that never end."""
    opening = target.query(b"", "Content-Length: 100000")
    return await slow(target, opening, b" ", target.body_seconds)


async def slow_readers(target: Target) -> str:
    """Clients that ask for much and read nothing."""
    gate, endings = Gate(), Counter[str]()
    page = target.query(json.dumps({"limit": 10_000}).encode())

    async def one(number: int) -> None:
        reader, writer = await gate.connect(target.port, number, receive_buffer=4096)
        read_on(writer, False)
        # The pages of one key are few at one time; public samples are not bound to a key.
        writer.write(page * 4 if number % 10 == 0 else SAMPLE * 400)
        await asyncio.sleep(target.write_seconds * 2 + 1)
        read_on(writer, True)
        answer, closed = await read_all(reader, target.patience_seconds, most=1 << 26)
        endings["cut" if closed else "open"] += 1
        expect(closed, f"{number}: {len(answer)} bytes, then neither more nor an end")
        cut(writer)

    raised = await many(target.slow_connections, one)
    expect(not raised, f"{len(raised)} connections failed, the first: {raised[:1]}")
    return f"{target.slow_connections} connections: {dict(endings)}"


async def idle(target: Target) -> str:
    """Connections that are opened at once, ask once, and stay."""
    gate, open_at_one_time = Gate(), 0

    async def one(number: int) -> None:
        nonlocal open_at_one_time
        reader, writer = await gate.connect(target.port, number)
        writer.write(HEALTH)
        async with asyncio.timeout(30 + target.patience_seconds):
            head = await reader.readuntil(b"\r\n\r\n")
        expect(b" 200 " in head.split(b"\r\n", 1)[0], f"{number}: {head!r}")
        open_at_one_time += 1
        _, closed = await read_all(reader, target.idle_seconds + 30 + target.patience_seconds)
        expect(closed, f"connection {number} is still open")
        cut(writer)

    raised = await many(target.idle_connections, one)
    expect(not raised, f"{len(raised)} connections failed, the first: {raised[:1]}")
    return f"{open_at_one_time} connections answered, kept and closed"


async def huge_headers(target: Target) -> str:
    """A header line without an end, and headers without number."""
    met = []
    for piece in (b"a" * 65_536, b"x-header: 1\r\n" * 5_000):
        reader, writer = await connect(target.port)
        sent = await push(writer, b"GET / HTTP/1.1\r\nHost: a\r\nx-long: ", piece, target.large_bytes)
        answer, closed = await read_all(reader, target.patience_seconds)
        cut(writer)
        expect(closed, "the connection is still open")
        expect(set(statuses(answer)) <= {431, 400, 408}, f"{answer[:200]!r}")
        met.append(f"{statuses(answer) or 'cut'} after {sent >> 10} KiB")
    return ", ".join(met)


async def push(writer: asyncio.StreamWriter, opening: bytes, piece: bytes, most: int) -> int:
    """Sends a piece again and again until the peer has had enough; how many bytes it took."""
    sent = 0
    try:
        writer.write(opening)
        while sent < most and not writer.transport.is_closing():
            writer.write(piece)
            async with asyncio.timeout(5):
                await writer.drain()
            sent += len(piece)
    except (ConnectionError, OSError, TimeoutError):
        pass
    return sent


async def huge_bodies(target: Target) -> str:
    """Bodies of 10 GB and of 10^15 bytes, declared and in chunks."""
    met = []
    for length in ("10000000000", "1000000000000000", "9223372036854775808", "99999999999999999999999"):
        answer, closed = await exchange(target.port, target.query(b"{}", f"Content-Length: {length}"), 10)
        expect(closed and statuses(answer) in ([413], [400]), f"{length}: {closed} {answer[:200]!r}")
        met.append(statuses(answer)[0])
    reader, writer = await connect(target.port)
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    sent = await push(writer, target.query(b"", "Transfer-Encoding: chunked"), chunk, target.large_bytes)
    answer, closed = await read_all(reader, target.patience_seconds)
    cut(writer)
    expect(closed and set(statuses(answer)) <= {413}, f"chunks: {closed} {answer[:200]!r}")
    return f"declared: {met}; in chunks: {statuses(answer) or 'cut'} after {sent >> 10} KiB"


async def nested_json(target: Target) -> str:
    """JSON as deep and as full of faults as a body can be."""
    bodies = {
        "lists": b"[" * 1_000_000,
        "objects": b'{"a":' * 200_000,
        "filters": b'{"filters":' + b'{"$not":' * 100_000 + b"{}" + b"}" * 100_001,
        "ors": b'{"filters":' + b'{"$or":[' * 100_000,
        "closed": b'{"filters":{"l_orderkey":' + b"[" * 400_000 + b"]" * 400_000 + b"}}",
        "strings": b'{"filters":{"l_comment":"' + b"\\u0041" * 170_000 + b'"}}',
        "members": b'{"filters":{' + b",".join(b'"a%d":1' % number for number in range(80_000)) + b"}}",
        "operators": b'{"filters":{"l_orderkey":{' + b",".join(b'"gt%d":1' % number for number in range(60_000)) + b"}}}",
        "types": b'{"filters":{"$or":[' + b",".join([b'{"l_orderkey":[' + b",".join([b'"a"'] * 100) + b"]}"] * 100) + b"]}}",
        "columns": b'{"columns":[' + b",".join(b'"a%d"' % number for number in range(16_000)) + b"]}",
        "a long name": b'{"filters":{"' + b"a" * 1_000_000 + b'":1}}',
    }
    met = {}
    for name, body in bodies.items():
        answer, _ = await exchange(target.port, target.query(body, "Connection: close"), 30)
        expect(statuses(answer) == [400] or (name == "strings" and statuses(answer) == [200]), f"{name}: {answer[:300]!r}")
        expect(len(answer) < REFUSAL_BYTES_MAX, f"{name}: a refusal of {len(answer)} bytes")
        met[name] = statuses(answer)[0]
    return str(met)


async def pipelined(target: Target) -> str:
    """A thousand requests in one write; the answers come in their order."""
    count = 1000
    requests = b"".join(f"GET /api/v1/datasets?offset={number} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
                        for number in range(count))
    answer, closed = await exchange(target.port, requests + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), 60)
    answers = split(answer)
    expect(closed and len(answers) == count + 1, f"{len(answers)} answers, closed: {closed}")
    offsets = [json.loads(body)["data"]["offset"] for _, body in answers[:count]]
    expect(offsets == list(range(count)), f"{offsets[:20]}")
    # The same with a client that never reads: the requests must not be gathered without bound.
    reader, writer = await connect(target.port, receive_buffer=4096)
    read_on(writer, False)
    sent = await push(writer, b"", SAMPLE * 100, target.large_bytes)
    cut(writer)
    return f"{count} answers in order; a client that does not read could send {sent >> 10} KiB"


async def random_bytes(target: Target) -> str:
    """Bytes that mean nothing, and requests with some bytes changed."""
    met: Counter[str] = Counter()
    gate = Gate()

    async def one(number: int) -> None:
        if number % 2 == 0:
            request = CHANCE.randbytes(CHANCE.randrange(1, 3000))
        else:
            changed = bytearray(target.query(b'{"limit":1}') + HEALTH)
            for _ in range(CHANCE.randrange(1, 6)):
                changed[CHANCE.randrange(len(changed))] = CHANCE.randrange(256)
            request = bytes(changed)
        reader, writer = await gate.connect(target.port, number)
        writer.write(request)
        writer.write_eof()
        answer, closed = await read_all(reader, target.head_seconds + target.body_seconds + target.patience_seconds)
        cut(writer)
        expect(closed, f"{request!r} keeps the connection")
        found = statuses(answer)
        expect(all(status < 500 or status == 505 or status == 501 for status in found), f"{request!r}: {answer[:300]!r}")
        met[str(found or "closed")] += 1

    raised = await many(target.rounds * 100, one)
    expect(not raised, f"{len(raised)} failed, the first: {raised[:1]}")
    return str(dict(met.most_common(6)))


async def hazards(target: Target) -> str:
    """Single requests that are known to leave something behind in careless servers."""
    met: Counter[str] = Counter()
    for _ in range(target.rounds):
        for line in (b"GET / HTTP/2.0", b"GET / HTTP/9.9", b"GET / HTTP/0.9", b"PRI * HTTP/2.0"):
            answer, closed = await exchange(target.port, line + b"\r\nHost: a\r\n\r\n", 10)
            expect(closed and set(statuses(answer)) <= {400, 505}, f"{line!r}: {closed} {answer[:200]!r}")
            met[f"{line.decode()} {statuses(answer)}"] += 1
        # A request, and gone before it is accepted.
        for number in range(20):
            _, writer = await connect(target.port, number)
            writer.write(SAMPLE)
            cut(writer)
        # An answer that nobody waits for.
        _, writer = await connect(target.port)
        writer.write(target.query(b'{"limit":10000}'))
        await asyncio.sleep(0.005)
        cut(writer)
        # Half a request, then half a close.
        reader, writer = await connect(target.port)
        writer.write(SAMPLE[:-2])
        writer.write_eof()
        _, closed = await read_all(reader, target.head_seconds + target.patience_seconds)
        expect(closed, "half a request keeps its connection")
        cut(writer)
    return str(dict(met))


async def expect_continue(target: Target) -> str:
    """Bodies that wait to be asked for, and then do not come."""
    met: Counter[str] = Counter()
    gate = Gate()

    async def one(number: int) -> None:
        reader, writer = await gate.connect(target.port, number)
        length = 100 if number % 2 else 50_000_000
        writer.write(target.query(b"", f"Content-Length: {length}", "Expect: 100-continue"))
        answer, closed = await read_all(reader, target.body_seconds + target.patience_seconds)
        expect(closed, f"still open: {answer[:100]!r}")
        met[answer.split(b"\r\n", 1)[0].decode() or "closed"] += 1
        cut(writer)

    raised = await many(min(200, target.slow_connections), one)
    expect(not raised, f"{len(raised)} failed, the first: {raised[:1]}")
    return str(dict(met))


async def bodies_without_key(target: Target) -> str:
    """Bodies that fill the memory for them, with a wrong key and where no key is needed, beside a customer's bodies."""
    count, body = min(BODIES_MAX, target.slow_connections * 2), b" " * (BODY_BYTES - 1)
    gate, met = Gate(), Counter[str]()

    async def one(number: int) -> None:
        path = f"api/v1/datasets/{DATASET}/query" if number % 2 else "mcp"
        reader, writer = await gate.connect(target.port, number)
        writer.write(f"POST /{path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: mk_wrong\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {BODY_BYTES}\r\n\r\n".encode() + body)
        answer, _ = await read_all(reader, target.body_seconds + target.patience_seconds)
        met[f"{path.rpartition('/')[2]}: {statuses(answer) or 'cut'}"] += 1
        cut(writer)

    attacking = asyncio.ensure_future(many(count, one))
    answered = 0
    while not attacking.done():
        padded = json.dumps({"limit": 1}).encode().ljust(CUSTOMER_BODY_BYTES)
        answer, _ = await exchange(target.port, target.query(padded, "Connection: close"), 30)
        expect(statuses(answer) == [200], f"a body of the customer: {answer[:300]!r}")
        answered += 1
        await asyncio.sleep(0.02)
    raised = await attacking
    expect(not raised, f"{len(raised)} connections failed, the first: {raised[:1]}")
    return f"{count} bodies: {dict(met.most_common(6))}; {answered} bodies of a customer answered"


async def rows_for_nothing(target: Target) -> str:
    """Rows that are had without being read or acknowledged."""
    said, faults = await money.rows_for_nothing(target.port, target.key, target.free_key, min(target.rounds + 1, 12))
    expect(not faults, "; ".join(faults))
    return said


async def crowd(target: Target) -> str:
    """A thousand connections at once: all of them are served while all of them are open."""
    gate, everyone = Gate(), asyncio.Barrier(1000)

    async def one(number: int) -> None:
        reader, writer = await gate.connect(target.port, number)
        async with asyncio.timeout(60):
            await everyone.wait()
            writer.write(HEALTH)
            head = await reader.readuntil(b"\r\n\r\n")
        expect(b" 200 " in head.split(b"\r\n", 1)[0], f"{head!r}")
        cut(writer)

    raised = await many(1000, one)
    expect(not raised, f"{len(raised)} of 1000 were not served, the first: {raised[:1]}")
    return "1000 of 1000 served"


Attack = Callable[[Target], Awaitable[str]]
ATTACKS: dict[str, Attack] = {
    "slow heads": slow_heads,
    "slow bodies": slow_bodies,
    "slow readers": slow_readers,
    "a crowd": crowd,
    "idle connections": idle,
    "huge headers": huge_headers,
    "huge bodies": huge_bodies,
    "nested JSON": nested_json,
    "pipelined requests": pipelined,
    "random bytes": random_bytes,
    "known hazards": hazards,
    "bodies that never come": expect_continue,
    "bodies without a key": bodies_without_key,
    "rows for nothing": rows_for_nothing,
}
