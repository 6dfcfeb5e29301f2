"""Customers and an operator who use the cluster while it fails, and note what they were told. Knows no faults."""

import http.client
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from servers import Server, Unavailable

ANSWER_SECONDS_MAX = 60
RETRY_SECONDS = 0.2
PAGE_ROWS = 2_500
STREAM_ROWS = 40_000
BOUGHT = 1_000_000_000
# Of faults that begin alike so many are kept.
FAULTS_OF_KIND_MAX, KIND_CHARS = 5, 16
# A customer who can afford a few pages only.
POOR = 4 * PAGE_ROWS + 7
# What a slow reader takes at a time, and how long it then waits.
SLOW_BYTES, SLOW_SECONDS = 65_536, 0.03


@dataclass
class Known:
    """What customers and the operator know."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    # Request and price of an answer that came whole.
    paid: dict[str, int] = field(default_factory=dict)
    # Requests that were answered with an error.
    refused: set[str] = field(default_factory=set)
    # Attempts under one key before a repetition was answered for the payment of one of them, and its credits. Those without any
    # answer have no request id.
    replayed: list[tuple[list[str | None], int]] = field(default_factory=list)
    # Requests whose answer began and did not end, with what they may cost at most.
    broken: dict[str, int] = field(default_factory=dict)
    # By account: what it paid at least, and what requests without any answer may have cost beside it.
    spent: Counter[str] = field(default_factory=Counter)
    doubtful: Counter[str] = field(default_factory=Counter)
    # References of purchases that were answered, with account and credits.
    bought: dict[str, tuple[str, int]] = field(default_factory=dict)
    # Versions of the changing dataset whose publication was acknowledged.
    published: list[int] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    valid: set[str] = field(default_factory=set)
    met: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    last_paid: float = 0.0

    def pays(self, what: str, account: str, request: str, credits: int) -> None:
        """A whole answer."""
        with self.lock:
            if request in self.paid:
                self.faults.append(f"two answers have the request id {request}")
            self.paid[request] = credits
            self.spent[account] += credits
            self.met[what] += 1
            self.last_paid = time.monotonic()

    def is_left(self, what: str, account: str, request: str | None, most: int) -> None:
        """No whole answer came."""
        with self.lock:
            self.met[f"{what}, no answer" if request is None else f"{what}, broken off"] += 1
            self.doubtful[account] += most
            if request is not None:
                self.broken[request] = most

    def is_refused(self, what: str, request: str | None, status: int) -> None:
        """An error was answered; of nginx, if it has no request id."""
        with self.lock:
            self.met[f"{what}, {status}"] += 1
            if request is not None:
                self.refused.add(request)

    def counts(self, what: str) -> None:
        """Something happened."""
        with self.lock:
            self.met[what] += 1

    def fault(self, what: str) -> None:
        """Something happened that must not."""
        with self.lock:
            # Many of one kind hide none of another.
            if sum(fault[:KIND_CHARS] == what[:KIND_CHARS] for fault in self.faults) < FAULTS_OF_KIND_MAX:
                self.faults.append(what)


@dataclass
class Account:
    """A customer's account and key."""

    id: str
    key: str
    # What is paid for is told exactly, because every request is repeated until it is answered.
    is_exact: bool = False
    bought: int = BOUGHT


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, request: str | None, body: bytes) -> None:
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.request, self.body = status, request, body


class Broken(Exception):
    """No answer, or one that broke off; then its request is known, and its rows as far as they came."""

    def __init__(self, request: str | None, data: bytes, why: object) -> None:
        super().__init__(repr(why))
        self.request, self.data = request, data


@dataclass
class Answer:
    """A whole answer."""

    request: str
    headers: http.client.HTTPMessage
    data: bytes


class World:
    """The cluster as its users see it."""

    def __init__(self, port: int, servers: list[Server], rows: int) -> None:
        self.port, self.servers, self.rows = port, servers, rows
        self.known = Known()
        self.over = threading.Event()

    def ask(self, method: str, path: str, account: Account, body: object = None, headers: dict[str, str] | None = None,
            slowly: bool = False) -> Answer:
        """A request through the balancer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        request, data = None, b""
        sent = {"X-Api-Key": account.key, **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            request = answer.getheader("X-Request-Id")
            while piece := answer.read1(SLOW_BYTES):
                data += piece
                if slowly:
                    time.sleep(SLOW_SECONDS)
            length = answer.getheader("Content-Length")
            if length is not None and len(data) != int(length):
                raise EOFError(f"{len(data)} of {length} bytes")
        except (OSError, http.client.HTTPException, EOFError) as error:
            raise Broken(request, data, error) from error
        finally:
            connection.close()
        if request is None:
            # nginx answers for a server that is gone, and does not know what became of the request.
            raise Broken(None, b"", answer.status)
        if answer.status != 200:
            raise Refused(answer.status, request, data)
        return Answer(request, answer.headers, data)

    def pause(self) -> None:
        """Before something is tried again."""
        self.over.wait(RETRY_SECONDS)


def walk(world: World, account: Account, chance: random.Random) -> None:
    """All pages of the dataset, page after page through whichever server; every row comes exactly once."""
    what = "page, with key" if account.is_exact else "page"
    body: dict[str, Any] = {"limit": PAGE_ROWS}
    if chance.random() < 0.5:
        body |= {"sortBy": "word"}
    seen: list[int] = []
    while not world.over.is_set():
        page = paid_page(world, account, what, body)
        if page is None:
            return
        seen += [row["id"] for row in page["results"]]
        if page["nextCursor"] is None:
            break
        body["cursor"] = page["nextCursor"]
    else:
        return
    if sorted(seen) != list(range(world.rows)):
        world.known.fault(f"a walk saw {len(seen)} rows, {len(set(seen))} of them once: {body}")
    world.known.counts("walk")


def paid_page(world: World, account: Account, what: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """One page, asked for until it comes, with an idempotency key where what is paid is told exactly."""
    headers = {"Idempotency-Key": str(uuid.uuid4())} if account.is_exact else {}
    attempts: list[str | None] = []
    # A repetition with a key is answered to the end, so that what was paid is known.
    while account.is_exact or not world.over.is_set():
        try:
            answer = world.ask("POST", "/api/v1/datasets/numbers/query", account, body, headers)
        except Refused as refused:
            world.known.is_refused(what, refused.request, refused.status)
            attempts.append(refused.request)
            if refused.status == 402 and account.bought == POOR:
                return None
            if refused.status not in (409, 429, 502, 503, 504):
                world.known.fault(f"{what}: {refused}")
                return None
            world.pause()
            continue
        except Broken as broken:
            # With a key it costs nothing beside the answer that comes in the end.
            world.known.is_left(what, account.id, broken.request, 0 if account.is_exact else PAGE_ROWS)
            attempts.append(broken.request)
            world.pause()
            continue
        page: dict[str, Any] = json.loads(answer.data)["data"]
        charged = int(answer.headers.get("X-Credits-Charged", "-1"))
        if answer.headers.get("Idempotent-Replayed") == "true":
            # An attempt before has paid: its answer was lost, or it was refused while nobody knew whether it had.
            with world.known.lock:
                world.known.replayed.append((attempts, page["rowsReturned"]))
                world.known.spent[account.id] += page["rowsReturned"]
                world.known.met[f"{what}, replayed"] += 1
        else:
            world.known.pays(what, account.id, answer.request, charged)
            if charged != page["rowsReturned"]:
                world.known.fault(f"{page['rowsReturned']} rows for {charged} credits")
        return page
    return None


def stream(world: World, account: Account, chance: random.Random) -> None:
    """A slow stream without an idempotency key: whole, or broken off for what came."""
    path = "/api/v1/datasets/numbers/query/stream?summary=1"
    body = {"limit": chance.choice((1_000, STREAM_ROWS))}
    try:
        answer = world.ask("POST", path, account, body, {"Accept": "application/x-ndjson"}, slowly=True)
    except Refused as refused:
        world.known.is_refused("stream", refused.request, refused.status)
        if refused.status not in (429, 502, 503, 504):
            world.known.fault(f"stream: {refused}")
        return world.pause()
    except Broken as broken:
        world.known.is_left("stream", account.id, broken.request, body["limit"])
        return world.pause()
    lines = answer.data.splitlines()
    end = json.loads(lines[-1]).get("$end", {})
    if not len(lines) - 1 == end.get("rowsReturned") == end.get("creditsCharged") == body["limit"]:
        world.known.fault(f"a stream of {len(lines) - 1} rows ends with {end}")
    world.known.pays("stream", account.id, answer.request, len(lines) - 1)
    return None


def resumed_stream(world: World, account: Account, chance: random.Random) -> None:
    """A slow stream that is resumed until it is whole; all attempts together cost what it has."""
    what, rows, key = "stream, resumed", 0, str(uuid.uuid4())
    limit = chance.choice((1_000, STREAM_ROWS))
    while True:
        path = "/api/v1/datasets/numbers/query/stream?summary=1" + (f"&afterRows={rows}" if rows else "")
        headers = {"Accept": "application/x-ndjson", "Idempotency-Key": key}
        try:
            answer = world.ask("POST", path, account, {"limit": limit}, headers, slowly=True)
        except Refused as refused:
            world.known.is_refused(what, None, refused.status)
            if refused.status == 422 and b"NOTHING_TO_RESUME" in refused.body:
                rows = 0
            elif refused.status not in (409, 429, 502, 503, 504):
                return world.known.fault(f"{what}: {refused}")
            world.pause()
            continue
        except Broken as broken:
            world.known.is_left(what, account.id, None, 0)
            rows += broken.data.count(b'{"id":', 0, broken.data.rfind(b"\n") + 1)
            world.pause()
            continue
        lines = answer.data.splitlines()
        rows += len(lines) - 1
        if rows != limit:
            world.known.fault(f"{what}: {rows} of {limit} rows, {lines[-1]!r}")
        with world.known.lock:
            world.known.spent[account.id] += limit
            world.known.met[what] += 1
        return None


def download(world: World, account: Account, chance: random.Random) -> None:
    """A whole file."""
    try:
        path = f"/api/v1/datasets/numbers/download?format={chance.choice(('csv', 'ndjson'))}"
        answer = world.ask("GET", path, account)
    except Refused as refused:
        world.known.is_refused("download", refused.request, refused.status)
        if refused.status not in (429, 502, 503, 504):
            world.known.fault(f"download: {refused}")
        return world.pause()
    except Broken as broken:
        world.known.is_left("download", account.id, broken.request, world.rows)
        return world.pause()
    world.known.pays("download", account.id, answer.request, int(answer.headers.get("X-Credits-Charged", "-1")))
    return world.pause()


def buy(world: World, account: Account, chance: random.Random) -> None:
    """A purchase, sent to any server until one says that it is entered; it is entered once."""
    reference, credits = f"INV-{uuid.uuid4()}", chance.randrange(1, 1_000)
    while True:
        try:
            chance.choice(world.servers).command("buyCredits", account=account.id, credits=credits, reference=reference)
            break
        except Unavailable:
            world.known.counts("purchase, tried again")
            world.pause()
    with world.known.lock:
        world.known.bought[reference] = (account.id, credits)
        world.known.met["purchase"] += 1
    world.over.wait(0.5)


def change_keys(world: World, account: Account, chance: random.Random) -> None:
    """A new key at one server; half of them are revoked at another one."""
    try:
        made = chance.choice(world.servers).command("createKey", account=account.id, label="load")
    except Unavailable:
        world.known.counts("key, not made")
        return world.pause()
    with world.known.lock:
        world.known.met["key"] += 1
        world.known.valid.add(made["key"])
    if chance.random() < 0.5:
        with world.known.lock:
            world.known.valid.discard(made["key"])
        while True:
            try:
                chance.choice(world.servers).command("revokeKey", key=made["id"])
                break
            except Unavailable:
                world.pause()
        with world.known.lock:
            world.known.revoked.add(made["key"])
            world.known.met["key, revoked"] += 1
    world.over.wait(1)
    return None


def publish(world: World, publication: Callable[[int], str | None]) -> None:
    """Publishes one version after the other, each until it is acknowledged."""
    try:
        publish_all(world, publication)
    except Exception as error:  # noqa: BLE001 - the load must not go on without publications and say nothing
        world.known.fault(f"publish: {error!r}")


def publish_all(world: World, publication: Callable[[int], str | None]) -> None:
    """The same; a command that does not end is an error."""
    number = 0
    while not world.over.wait(1):
        number += 1
        while (why := publication(number)) is not None and not world.over.is_set():
            # What was published by an attempt whose answer was lost is there.
            if "already" in why:
                break
            world.known.counts("publication, tried again")
            world.pause()
        if why is None or "already" in why:
            world.known.published.append(number)
            world.known.counts("publication")


Action = Callable[[World, Account, random.Random], None]


@dataclass(frozen=True)
class User:
    """Who uses the cluster: what they do, whether it is told exactly, what they have bought, and whether their key has a cap."""

    action: Action
    is_exact: bool = False
    bought: int = BOUGHT
    is_capped: bool = False


USERS = [User(walk), User(walk), User(walk, is_capped=True), User(walk, is_exact=True), User(walk, is_exact=True),
         User(walk, is_exact=True, is_capped=True), User(walk, bought=POOR), User(stream), User(stream, is_capped=True),
         User(resumed_stream, is_exact=True), User(resumed_stream, is_exact=True), User(download), User(buy),
         User(change_keys)]


def use(world: World, action: Action, account: Account, seed: int) -> None:
    """One user until the load is over."""
    chance = random.Random(seed)
    while not world.over.is_set():
        try:
            action(world, account, chance)
        except Exception as error:  # noqa: BLE001 - a user of the test that dies would test nothing any more
            world.known.fault(f"{action.__name__}: {error!r}")
            world.pause()
