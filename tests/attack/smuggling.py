"""Requests whose end two readers could see in different places. None of them may let the bytes behind it be taken for a
request: one answer at most, a refusal, and the connection ends. Knows nothing of the server but its paths."""

from wire import exchange, statuses

# What stands behind the doubtful request; its answer is a 404 that nothing else gives.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
START = b"POST /api/v1/datasets/tpch-lineitem/query HTTP/1.1\r\nHost: a\r\n"
# No key is needed here, so the body is read.
OPEN = b"POST /mcp HTTP/1.1\r\nHost: a\r\n"
# Where a key is needed and none is known, the body is refused unread.
WITHOUT_KEY = " without a key"
GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"0\r\n\r\n"


def variants() -> dict[str, bytes]:
    """Name and bytes of each doubtful request, without what is smuggled."""
    length = b"Content-Length: %d\r\n" % len(SMUGGLED)
    doubtful = {
        "length and chunks": length + b"Transfer-Encoding: chunked\r\n",
        "chunks and length": b"Transfer-Encoding: chunked\r\n" + length,
        "two lengths": b"Content-Length: 0\r\n" + length,
        "two equal lengths in a list": b"Content-Length: 0, 0\r\n",
        "a list of lengths": b"Content-Length: 0, 5\r\n",
        "a length with a sign": b"Content-Length: +0\r\n",
        "a negative length": b"Content-Length: -1\r\n",
        "a length with letters": b"Content-Length: 0x0\r\n",
        "a length with a blank": b"Content-Length: 0 0\r\n",
        "an empty length": b"Content-Length:\r\n",
        "a length that is no number": b"Content-Length: zero\r\n",
        "a blank before the colon": b"Content-Length : 5\r\n",
        "a tab before the colon": b"Transfer-Encoding\t: chunked\r\n",
        "an unknown coding": b"Transfer-Encoding: xchunked\r\n",
        "identity": b"Transfer-Encoding: identity\r\n",
        "chunked, not last": b"Transfer-Encoding: chunked, gzip\r\n",
        "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n",
        "two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "a coding in quotes": b'Transfer-Encoding: "chunked"\r\n',
        "a vertical tab": b"Transfer-Encoding: \x0bchunked\r\n",
        "a NUL": b"Transfer-Encoding: chunked\0\r\n",
        "a folded line": b"X-A: b\r\n Content-Length: 5\r\n",
        "a folded coding": b"Transfer-Encoding:\r\n chunked\r\n",
        "a bare line feed": b"X-A: b\nContent-Length: 5\r\n",
        "a bare carriage return": b"X-A: b\rContent-Length: 5\r\n",
        "a line feed at the end": b"Content-Length: 0\n\n",
        "a NUL in a value": b"X-A: b\0c\r\n",
        "a line without a colon": b"Content-Length 5\r\n",
        "a line that begins with a colon": b": 5\r\n",
        "a name with a bracket": b"Content-Length[]: 5\r\n",
    }
    return {name: START + lines + b"\r\n" for name, lines in doubtful.items()} | chunks() | lines_of_request()


def chunks() -> dict[str, bytes]:
    """Bodies in chunks that are not as they should be."""
    bodies = {
        "a chunk without a size": b"\r\n\r\n",
        "a size with a sign": b"+0\r\n\r\n",
        "a size with 0x": b"0x0\r\n\r\n",
        "a size with a blank before": b" 0\r\n\r\n",
        "a size beyond 64 bits": b"10000000000000000\r\n\r\n",
        "a size of letters": b"zz\r\n\r\n",
        "a chunk longer than said": b"1\r\nabc\r\n0\r\n\r\n",
        "a size that ends with a line feed": b"0\n\r\n",
        "a line feed behind a chunk": b"1\r\na\n0\r\n\r\n",
        "an extension with a line feed": b"1;a\nb\r\na\r\n0\r\n\r\n",
        "an extension without end": b"1;" + b"a" * 100_000,
    }
    coded = b"Transfer-Encoding: chunked\r\n\r\n"
    read = {name: OPEN + coded + body for name, body in bodies.items()}
    return read | {name + WITHOUT_KEY: START + coded + body for name, body in bodies.items()}


def lines_of_request() -> dict[str, bytes]:
    """Request lines that are not as they should be."""
    lines = {
        "two blanks": b"GET  /healthz HTTP/1.1\r\nHost: a\r\n",
        "a tab": b"GET\t/healthz\tHTTP/1.1\r\nHost: a\r\n",
        "no version": b"GET /healthz\r\nHost: a\r\n",
        "a target with a blank": b"GET /health z HTTP/1.1\r\nHost: a\r\n",
        "a lower-case version": b"GET /healthz http/1.1\r\nHost: a\r\n",
        "a version without a dot": b"GET /healthz HTTP/11\r\nHost: a\r\n",
        "a method with a colon": b"GE:T /healthz HTTP/1.1\r\nHost: a\r\n",
        "no host": b"GET /healthz HTTP/1.1\r\n",
        "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
        "a host with a path": b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n",
        "a header before all": b" X: y\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n",
        "a folded first line": b"GET /healthz HTTP/1.1\r\n Host: a\r\n",
    }
    return {name: line + b"\r\n" for name, line in lines.items()}


async def check(port: int, seconds: float) -> list[str]:
    """Tries every variant; what went wrong."""
    faults = []
    for name, request in variants().items():
        answer, closed = await exchange(port, request + SMUGGLED, seconds)
        found = statuses(answer)
        if b"/smuggled" in answer or 404 in found:
            faults.append(f"{name}: the request behind it was answered: {found}")
        elif not closed:
            faults.append(f"{name}: the connection stays open: {found}")
        elif found not in ([400], [431], [501], [505], [408], [413]) and not (found == [401] and WITHOUT_KEY in name):
            faults.append(f"{name}: {found or answer[:200]!r}")
    return faults
