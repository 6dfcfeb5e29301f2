"""A client that costs little: one raw connection that is kept, bodies counted and thrown away unless they are wanted.
Knows HTTP/1.1, and nothing of what is asked."""

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BUFFER_BYTES = 1 << 20
# A connection that nobody used for that long is made again, before the server thinks of closing it.
IDLE_SECONDS_MAX = 15
HEAD_END = b"\r\n\r\n"
WRK_SCRIPT = """
local requests = {%s}
local next = 0
function request() next = next %% #requests + 1; return requests[next] end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests": %%d, "micros": %%d, "p50": %%d, "p99": %%d, "failed": %%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout))
end
"""


@dataclass(frozen=True)
class Answer:
    """Seconds from the first byte of the request to the first byte and to the last byte of the body, and its size."""

    status: int
    first_byte: float
    seconds: float
    length: int


class Chunks:
    """Reads the frames of a chunked body, up to the empty line behind its trailers."""

    def __init__(self, sink: Callable[[bytes], None] | None) -> None:
        self._sink = sink
        self._line = b""
        self._left = 0
        self._is_last = False

    def feed(self, buffer: bytearray, at: int, stop: int) -> bool:
        """Hands the content in these bytes on. Returns whether the body has ended."""
        while at < stop:
            if self._left:
                end = min(at + self._left, stop)
                if self._sink is not None:
                    # The last two bytes of a frame are its line end.
                    self._sink(bytes(buffer[at:min(end, at + max(self._left - 2, 0))]))
                self._left -= end - at
                at = end
                continue
            end = buffer.find(b"\n", at, stop) + 1
            self._line += buffer[at:end or stop]
            if not end:
                return False
            at, line, self._line = end, self._line.strip(), b""
            if self._is_last:
                if not line:
                    return True
            elif size := int(line.split(b";")[0], 16):
                self._left = size + 2
            else:
                self._is_last = True
        return False


class Client:
    """One connection, made when it is needed."""

    def __init__(self, address: tuple[str, int], seconds_max: float) -> None:
        self._address = address
        self._seconds_max = seconds_max
        self._socket: socket.socket | None = None
        self._used = 0.0
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)

    def close(self) -> None:
        """Ends the connection; the next request makes another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, request: bytes, sink: Callable[[bytes], None] | None = None) -> Answer:
        """Sends a request and reads the whole answer. With a sink, the content of the body goes there."""
        if time.monotonic() - self._used > IDLE_SECONDS_MAX:
            self.close()
        try:
            return self._ask(request, sink)
        except (OSError, ValueError):
            self.close()
            raise
        finally:
            self._used = time.monotonic()

    def _receive(self, into: memoryview) -> int:
        assert self._socket is not None, "a request is under way"
        count = self._socket.recv_into(into)
        if count == 0:
            raise ConnectionError("the server closed the connection")
        return count

    def _ask(self, request: bytes, sink: Callable[[bytes], None] | None) -> Answer:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=self._seconds_max)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        self._socket.sendall(request)
        have = 0
        end = -1
        while end < 0:
            have += self._receive(self._view[have:])
            end = self._buffer.find(HEAD_END, 0, have)
        head = bytes(self._buffer[:end]).lower()
        body = end + len(HEAD_END)
        found = head.find(b"\r\ncontent-length:")
        length = int(head[found + 17:].split(b"\r\n", 1)[0]) if found >= 0 else -1
        if have == body and length != 0:
            have += self._receive(self._view[have:])
        first_byte = time.perf_counter() - began
        if length >= 0:
            self._fixed(length, body, have, sink)
        else:
            length = self._chunked(body, have, sink)
        seconds = time.perf_counter() - began
        if b"\r\nconnection: close" in head:
            self.close()
        return Answer(int(head[9:12]), first_byte, seconds, length)

    def _fixed(self, length: int, body: int, have: int, sink: Callable[[bytes], None] | None) -> None:
        """A body of known length."""
        left = length - (have - body)
        if sink is not None:
            sink(bytes(self._view[body:have]))
        while left > 0:
            count = self._receive(self._view)
            left -= count
            if sink is not None:
                sink(bytes(self._view[:count]))

    def _chunked(self, body: int, have: int, sink: Callable[[bytes], None] | None) -> int:
        """A body in chunks; how many bytes it took, frames and trailers included."""
        chunks = Chunks(sink)
        total = have - body
        ended = chunks.feed(self._buffer, body, have)
        while not ended:
            count = self._receive(self._view)
            total += count
            ended = chunks.feed(self._buffer, 0, count)
        return total


def request(method: str, target: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + HEAD_END + body


def whole(client: Client, asked: bytes) -> tuple[Answer, bytes]:
    """An answer with its body."""
    pieces: list[bytes] = []
    answer = client.ask(asked, pieces.append)
    return answer, b"".join(pieces)


def load(address: tuple[str, int], requests: list[bytes], connections: int, seconds: float) -> dict[str, float]:
    """Requests per second and latencies in milliseconds of `wrk` with one thread."""
    quoted = ", ".join('"' + "".join(f"\\{byte:03d}" for byte in each) + '"' for each in requests)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK_SCRIPT % quoted)
        script.flush()
        outcome = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s", "-s", script.name,
             f"http://{address[0]}:{address[1]}/"], capture_output=True, text=True, check=False)
    lines = [line for line in outcome.stdout.splitlines() if line.startswith('{"requests"')]
    if outcome.returncode != 0 or not lines:
        raise RuntimeError(f"wrk: exit {outcome.returncode}: {outcome.stderr.strip() or Path(script.name).name}")
    found = json.loads(lines[0])
    return {"perSecond": found["requests"] / (found["micros"] / 1e6), "p50": found["p50"] / 1e3, "p99": found["p99"] / 1e3,
            "failed": found["failed"]}
