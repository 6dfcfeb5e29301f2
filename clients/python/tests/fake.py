"""A mercato server in a function: rows in memory, prices, keys for repetition, and faults in a written order.

It answers as the documents say, and notes every request. It is the other side of the unit tests; the checks in `live`
ask a real server.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from mercato import AsyncClient, Client, RetryPolicy

KEY = "mk_0123456789abcdefghijklmnopqrstuvwxyz"
URL = "http://mercato.test"
QUICK = RetryPolicy(first_seconds=0.0, longest_seconds=0.0)
VERSION = "1.0.0"


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that breaks off after so many bytes."""

    def __init__(self, content: bytes, cut: int | None, piece: int = 64) -> None:
        self.content = content
        self.cut = cut
        self.piece = piece

    def __iter__(self) -> Iterator[bytes]:
        end = len(self.content) if self.cut is None else self.cut
        for at in range(0, end, self.piece):
            yield self.content[at:min(at + self.piece, end)]
        if self.cut is not None:
            raise httpx.ReadError("the connection is gone")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


Fault = Callable[[httpx.Request], httpx.Response | None]


@dataclass
class Fake:
    """Rows for sale."""

    rows: list[dict[str, Any]] = field(
        default_factory=lambda: [{"id": number, "name": f"n{number}"} for number in range(25)])
    credits: int = 1_000_000
    faults: list[Fault] = field(default_factory=list)
    """Each answers one request in place of the server; one that returns None lets the server answer."""
    cuts: list[int | None] = field(default_factory=list)
    """Bytes after which long answers break off, one after the other; None is whole."""
    requests: list[httpx.Request] = field(default_factory=list)
    version: str = VERSION
    is_free: bool = False
    paid: dict[str, int] = field(default_factory=dict)
    """Rows paid for under each key."""
    headers: dict[str, str] = field(default_factory=dict)
    """Further headers of every answer."""
    digest: str | None = None
    has_ranges: bool = True
    """Whether a download has a length and ranges."""

    def client(self, **options: Any) -> Client:
        """A client of this server."""
        return Client(URL, KEY, transport=httpx.MockTransport(self), **{"retry": QUICK, **options})

    def async_client(self, **options: Any) -> AsyncClient:
        """The same for asyncio."""
        return AsyncClient(URL, KEY, transport=httpx.MockTransport(self), **{"retry": QUICK, **options})

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """The JSON bodies that were sent to paths with this end."""
        return [json.loads(one.content) for one in self.requests if one.url.path.endswith(path)]

    def keys(self) -> list[str]:
        """The keys for repetition, in the order of the requests."""
        return [one.headers["Idempotency-Key"] for one in self.requests if "Idempotency-Key" in one.headers]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.pop(0)(request) if self.faults else None
        answer = fault or self._answer(request)
        answer.headers.update({"X-Request-Id": f"request-{len(self.requests)}", **self.headers})
        return answer

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/query/estimate"):
            return self._estimate(json.loads(request.content))
        if path.endswith("/query/stream"):
            return self._stream(request)
        if path.endswith("/query"):
            return self._page(request)
        if path.endswith("/download"):
            return self._download(request)
        if path == "/api/v1/datasets/numbers":
            versions = [{"version": self.version, "rowCount": len(self.rows)}]
            return data({"currentVersion": self.version, "rowCount": len(self.rows), "versions": versions})
        return refusal(404, "NOT_FOUND", "there is no such path")

    def _matching(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        found = self.rows[::-1] if body.get("sortDirection") == "desc" else self.rows
        least = (body.get("filters") or {}).get("id_min", 0)
        found = [row for row in found if row["id"] >= least]
        start = int(base64.b64decode(body["cursor"])) if "cursor" in body else body.get("offset", 0)
        columns = body.get("columns")
        return [{name: row[name] for name in columns or row} for row in found][start:]

    def _after(self, body: dict[str, Any], rows: int, left: int) -> str | None:
        start = int(base64.b64decode(body["cursor"])) if "cursor" in body else body.get("offset", 0)
        return base64.b64encode(str(start + rows).encode()).decode() if left > rows else None

    def _charge(self, key: str, rows: int) -> int:
        fresh = max(0, rows - self.paid.get(key, 0))
        self.paid[key] = max(rows, self.paid.get(key, 0))
        charged = 0 if self.is_free else fresh
        self.credits -= charged
        return charged

    def _estimate(self, body: dict[str, Any]) -> httpx.Response:
        rows = len(self.rows) if body["for"] == "download" else min(len(self._matching(body)), body["limit"])
        price = 0 if self.is_free and body["for"] != "download" else rows
        return data({"rows": rows, "creditsRequired": price, "creditsAvailable": self.credits,
                     "affordable": price <= self.credits})

    def _page(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if self.is_free and body["limit"] > 10:
            return refusal(402, "NO_CREDITS", "too many rows", reason="FREE_PLAN_ROWS", allowed=10)
        found = self._matching(body)
        rows = found[:body["limit"]]
        charged = self._charge(request.headers["Idempotency-Key"], len(rows))
        page = {"results": rows, "rowsReturned": len(rows), "nextCursor": self._after(body, len(rows), len(found)),
                "paginationMode": "offset", "totalRows": None}
        return data(page, {"X-Dataset-Version": self.version, "X-Credits-Charged": str(charged),
                           "X-Credits-Remaining": str(self.credits)})

    def _stream(self, request: httpx.Request) -> httpx.Response:
        if request.headers["Accept"] != "application/x-ndjson":
            return refusal(406, "NOT_ACCEPTABLE", "no such format")
        body, key = json.loads(request.content), request.headers["Idempotency-Key"]
        if self.is_free and body["limit"] > 10:
            return refusal(402, "NO_CREDITS", "too many rows", reason="FREE_PLAN_ROWS", allowed=10)
        found = self._matching(body)
        rows = found[:body["limit"]]
        passed = int(request.url.params.get("afterRows", 0))
        if passed and key not in self.paid:
            return refusal(422, "UNPROCESSABLE", "nothing was charged", reason="NOTHING_TO_RESUME")
        charged = self._charge(key, len(rows))
        end = {"rowsReturned": len(rows), "nextCursor": self._after(body, len(rows), len(found)),
               "creditsCharged": charged}
        lines = [*rows[passed:], {"$end": end}]
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        return httpx.Response(200, headers={"X-Dataset-Version": self.version}, stream=Body(content, self._cut()))

    def _cut(self) -> int | None:
        return self.cuts.pop(0) if self.cuts else None

    def file(self) -> bytes:
        """The download."""
        return b"id,name\r\n" + "".join(f"{row['id']},{row['name']}\r\n" for row in self.rows).encode()

    def _download(self, request: httpx.Request) -> httpx.Response:
        whole, etag = self.file(), f'"{hashlib.sha256(self.file()).hexdigest()[:8]}"'
        if request.headers.get("If-Match", etag) != etag:
            return refusal(412, "PRECONDITION_FAILED", "another file")
        charged = self._charge(request.headers["Idempotency-Key"], len(self.rows))
        headers = {"X-Dataset-Version": self.version, "ETag": etag, "X-Credits-Charged": str(charged)}
        if self.digest is not None:
            headers["Repr-Digest"] = self.digest
        if not self.has_ranges:
            return httpx.Response(200, headers={**headers, "Accept-Ranges": "none"}, stream=Body(whole, self._cut()))
        start = request.headers.get("Range")
        if start is None:
            headers["Content-Length"] = str(len(whole))
            return httpx.Response(200, headers=headers, stream=Body(whole, self._cut()))
        at = int(start.removeprefix("bytes=").removesuffix("-"))
        headers["Content-Length"] = str(len(whole) - at)
        headers["Content-Range"] = f"bytes {at}-{len(whole) - 1}/{len(whole)}"
        return httpx.Response(206, headers=headers, stream=Body(whole[at:], self._cut()))


def data(value: Any, headers: dict[str, str] | None = None, **meta: Any) -> httpx.Response:
    """A success."""
    document = {"success": True, "data": value, "meta": {"requestId": "r", "timestamp": "t", "durationMs": 0, **meta}}
    return httpx.Response(200, json=document, headers=headers)


def refusal(status: int, code: str, message: str, headers: dict[str, str] | None = None,
            **details: Any) -> httpx.Response:
    """A failure."""
    error = {"code": code, "message": message, "details": details}
    document = {"success": False, "data": None, "error": error, "meta": {}}
    return httpx.Response(status, json=document, headers=headers)


def answers(status: int, headers: dict[str, str] | None = None, **details: Any) -> Fault:
    """A fault: a refusal."""
    return lambda request: refusal(status, "CODE", "refused", headers, **details)


def breaks(request: httpx.Request) -> httpx.Response:
    """A fault: no answer."""
    raise httpx.ConnectError("refused", request=request)
