"""The thinnest server around an engine that has none: the body of a request is a statement, its answer is what the
engine prints. Two threads for each core wait for the engine; Python only passes bytes on.

    python wrapper.py duckdb|clickhouse|postgresql PLACE PORT

`X-Form` says what comes back: `value` is the one value of the statement, `lines` is a stream of its text column,
`csv` and `ndjson` are streams in the engine's own format. `X-Parameter` is a whole number for the parameter.
"""

import asyncio
import concurrent.futures
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import uvloop

HEAD_END = b"\r\n\r\n"
CORES = os.cpu_count() or 1
BATCH_ROWS = 20_480
PENDING_BYTES_MAX = 4 << 20
PIECES_AHEAD_MAX = 2


class DuckDb:
    """A database file, one cursor for each thread."""

    def __init__(self, place: str) -> None:
        import duckdb
        self._database = duckdb.connect(place, read_only=True, config={"threads": CORES})
        # Fetches the other columns of a page after its rows are known, as somebody who tunes it for pages would.
        self._database.execute("SET GLOBAL late_materialization_max_rows = 100000")
        self._local = threading.local()

    def _cursor(self) -> Any:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._database.cursor()
        return self._local.cursor

    def value(self, sql: str, _form: str) -> bytes:
        """The one value, `[]` for NULL."""
        return (self._cursor().execute(sql).fetchall()[0][0] or "[]").encode()

    def pieces(self, sql: str, _form: str) -> Iterator[memoryview]:
        """The text column, as it lies in the engine's buffers."""
        for batch in self._database.cursor().sql(sql).to_arrow_reader(BATCH_ROWS):
            column = batch.column(0)
            if len(column):
                wide = str(column.type).startswith("large")
                offsets = memoryview(column.buffers()[1]).cast("q" if wide else "i")
                yield memoryview(column.buffers()[2])[offsets[column.offset]:offsets[column.offset + len(column)]]


class ClickHouse:
    """A session of chdb, which runs one statement at a time."""

    FORMATS = {"value": "JSONEachRow", "ndjson": "JSONEachRow", "csv": "CSV"}

    def __init__(self, place: str) -> None:
        from chdb import session
        self._session = session.Session(place)
        self._session.query(f"SET max_threads = {CORES}")
        self._lock = threading.Lock()

    def value(self, sql: str, form: str) -> bytes:
        """The rows as one array."""
        with self._lock:
            return bytes(self._session.query(f"{sql} SETTINGS output_format_json_array_of_rows = 1", self.FORMATS[form]).bytes())

    def pieces(self, sql: str, form: str) -> Iterator[bytes]:
        """The rows as the engine prints them, a block at a time."""
        with self._lock, self._session.send_query(sql, self.FORMATS[form]) as answer:
            for piece in answer:
                yield piece.bytes()


class PostgreSql:
    """A pool of connections with prepared statements. JSON is made by PostgreSQL."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._pool: Any = None

    async def connect(self) -> None:
        """Opens the pool."""
        import asyncpg
        self._pool = await asyncpg.create_pool(self._place, min_size=2 * CORES, max_size=4 * CORES)

    async def value(self, sql: str, parameter: int | None) -> bytes:
        """The one value."""
        async with self._pool.acquire() as connection:
            found = await connection.fetchval(sql, *([] if parameter is None else [parameter]))
            return (found or "[]").encode()

    async def copy(self, sql: str, form: str, write: Any) -> None:
        """Rows through COPY."""
        options = {"format": "csv", "header": True} if form == "csv" else {}
        async with self._pool.acquire() as connection:
            await connection.copy_from_query(sql, output=write, **options)


ENGINES = {"duckdb": DuckDb, "clickhouse": ClickHouse, "postgresql": PostgreSql}


class Connection(asyncio.Protocol):
    """One client, which waits for each answer before it asks again."""

    def __init__(self, engine: Any, pool: concurrent.futures.Executor, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._pool = pool
        self._loop = loop
        self._received = b""
        self._room = threading.Event()
        self._ahead = threading.Semaphore(PIECES_AHEAD_MAX)
        self._drained = asyncio.Event()
        self._transport: Any = None
        self._task: Any = None
        self.resume_writing()

    def connection_made(self, transport: Any) -> None:
        """A client is here."""
        self._transport = transport
        transport.set_write_buffer_limits(high=PENDING_BYTES_MAX)

    def connection_lost(self, _error: Exception | None) -> None:
        """The client has left: nobody waits for room any more."""
        self.resume_writing()

    def pause_writing(self) -> None:
        """Too much waits for the client."""
        self._room.clear()
        self._drained.clear()

    def resume_writing(self) -> None:
        """There is room again."""
        self._room.set()
        self._drained.set()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or a whole one."""
        self._received += data
        end = self._received.find(HEAD_END)
        if end < 0:
            return
        head = dict(line.split(": ", 1) for line in self._received[:end].decode().split("\r\n")[1:])
        length = int(head.get("Content-Length", "0"))
        if len(self._received) < end + len(HEAD_END) + length:
            return
        sql = self._received[end + len(HEAD_END):].decode()
        self._received = b""
        self._task = self._loop.create_task(self._answer(sql, head.get("X-Form", "value"), head.get("X-Parameter")))

    async def _answer(self, sql: str, form: str, parameter: str | None) -> None:
        if form != "value":
            await self._stream_answer(sql, form)
            return
        try:
            if isinstance(self._engine, PostgreSql):
                body = await self._engine.value(sql, None if parameter is None else int(parameter))
            else:
                body = await self._loop.run_in_executor(self._pool, self._engine.value, sql, form)
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            self._transport.write(body)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is the answer
            body = repr(error).encode()
            self._transport.write(b"HTTP/1.1 500 Failed\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _stream_answer(self, sql: str, form: str) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            await self._stream(sql, form)
            self._transport.write(b"0\r\n\r\n")
        except Exception as error:  # noqa: BLE001 - a stream that breaks off has no last chunk
            print(repr(error), file=sys.stderr, flush=True)
            self._transport.abort()

    async def _stream(self, sql: str, form: str) -> None:
        if isinstance(self._engine, PostgreSql):
            async def put(piece: bytes) -> None:
                self._chunk(piece)
                await self._drained.wait()
            await self._engine.copy(sql, form, put)
            return

        def work() -> None:
            for piece in self._engine.pieces(sql, form):
                self._room.wait()
                self._ahead.acquire()
                self._loop.call_soon_threadsafe(passed_on, piece)

        def passed_on(piece: Any) -> None:
            self._chunk(piece)
            self._ahead.release()
        await self._loop.run_in_executor(self._pool, work)

    def _chunk(self, piece: Any) -> None:
        if len(piece):
            self._transport.writelines([b"%x\r\n" % len(piece), piece, b"\r\n"])


async def serve(name: str, place: str, port: int) -> None:
    """Serves until it is killed."""
    loop = asyncio.get_running_loop()
    engine: Any = ENGINES[name](place)
    if isinstance(engine, PostgreSql):
        await engine.connect()
    pool = concurrent.futures.ThreadPoolExecutor(2 * CORES)
    server = await loop.create_server(lambda: Connection(engine, pool, loop), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3])))
