"""Parquet files of a server for readers that open files by fsspec: DuckDB, pandas, pyarrow.

`mercato://SLUG.parquet` is the current version and `mercato://SLUG/VERSION.parquet` a named one. Readers get the byte
ranges that they ask for. The first range of a version pays for all its rows, further ones within 24 hours are free;
looking for a file and at its size is free, too. A file keeps its version until `invalidate_cache`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from mercato.core import budget
from mercato.core.arrow import NOT_ACCEPTABLE
from mercato.core.download import CONTENT_RANGE
from mercato.core.effects import Steps
from mercato.core.exchange import Core, exchange, request
from mercato.core.reads import items, read
from mercato.drivers import Driver
from mercato.errors import BadRequest, MaxCreditsExceeded, NotFound, UnexpectedAnswer
from mercato.openapi import DOWNLOAD_DATASET, GET_DATASET, LIST_DATASETS, SLUG_PATTERN, Header

PATH = re.compile(rf"(?P<slug>{SLUG_PATTERN.strip('^$')})(/(?P<version>[0-9A-Za-z.+-]+))?\.parquet")
BLOCK_BYTES = 4 << 20
BLOCKS_MAX = 32


@dataclass(frozen=True)
class Remote:
    """The Parquet file of a version."""

    slug: str
    version: str
    bytes: int
    etag: str
    modified: datetime


def described(core: Core, slug: str, version: str | None) -> Steps[Remote]:
    """Size and tag of a file. Costs no credits."""
    header: Header = yield from read(core, GET_DATASET, slug)
    offered = [one["version"] for one in header["versions"]]
    version = version or header["currentVersion"]
    if version not in offered:
        raise FileNotFoundError(f"{slug} has no version {version}, but {', '.join(offered)}")
    asked = request(core, DOWNLOAD_DATASET, slug=slug, query={"format": "parquet", "version": version}, accept="*/*")
    try:
        answer = yield from exchange(core, replace(asked, method="HEAD"))
    except BadRequest as refusal:
        if refusal.status != NOT_ACCEPTABLE:
            raise
        raise FileNotFoundError(f"version {version} of {slug} is not offered as Parquet") from None
    headers = answer.headers
    if not headers.get("Content-Length", "").isdigit() or "ETag" not in headers or "Last-Modified" not in headers:
        raise UnexpectedAnswer("length, tag and date of the file are not announced")
    modified = parsedate_to_datetime(headers["Last-Modified"])
    return Remote(slug, version, int(headers["Content-Length"]), headers["ETag"], modified)


def part(core: Core, remote: Remote, start: int, end: int) -> Steps[bytes]:
    """Bytes of a file; `end` is behind the last."""
    asked = request(core, DOWNLOAD_DATASET, slug=remote.slug, query={"format": "parquet", "version": remote.version},
                    headers={"Range": f"bytes={start}-{end - 1}", "If-Match": remote.etag}, accept="*/*")
    answer = yield from exchange(core, asked)
    found = CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status != 206 or found is None or (int(found[1]), int(found[2]) + 1) != (start, end):
        raise UnexpectedAnswer(f"the status is {answer.status}, and bytes {start} to {end - 1} were asked for")
    if len(answer.content) != end - start:
        raise UnexpectedAnswer(f"{len(answer.content)} bytes came in place of {end - start}")
    return answer.content


class Blocks:
    """The blocks that were read last, of all files.

    DuckDB opens a file several times for a query, and each request counts against the limit of requests.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Remote, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, remote: Remote, start: int, end: int, fetch: Callable[[int, int], bytes]) -> bytes:
        """Bytes of a file. What is missing is fetched at once."""
        wanted = range(start // BLOCK_BYTES, -(-end // BLOCK_BYTES))
        with self._lock:
            held = {number: self._kept[remote, number] for number in wanted if (remote, number) in self._kept}
        missing = [number for number in wanted if number not in held]
        if missing:
            begin, stop = missing[0] * BLOCK_BYTES, min((missing[-1] + 1) * BLOCK_BYTES, remote.bytes)
            content = fetch(begin, stop)
            for number in range(missing[0], missing[-1] + 1):
                held[number] = content[number * BLOCK_BYTES - begin:(number + 1) * BLOCK_BYTES - begin]
        self._keep(remote, held)
        whole = b"".join(held[number] for number in wanted)
        first = wanted.start * BLOCK_BYTES
        return whole[start - first:end - first]

    def _keep(self, remote: Remote, blocks: dict[int, bytes]) -> None:
        with self._lock:
            for number, block in blocks.items():
                self._kept[remote, number] = block
                self._kept.move_to_end((remote, number))
            while len(self._kept) > BLOCKS_MAX:
                self._kept.popitem(last=False)


class MercatoFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Made by `Client.filesystem`."""

    protocol = "mercato"
    cachable = False

    def __init__(self, core: Core, driver: Driver, max_credits: int | None) -> None:
        super().__init__()
        self._core, self._driver, self._max_credits = core, driver, max_credits
        self._found: dict[str, Remote] = {}
        self._allowed: set[Remote] = set()
        self._blocks = Blocks()
        self._lock = threading.Lock()

    def remote(self, path: str) -> Remote:
        """The file of a path; `FileNotFoundError` where there is none."""
        name = self._strip_protocol(path)
        parsed = PATH.fullmatch(name)
        if parsed is None:
            raise FileNotFoundError(f"{path}: a file is SLUG.parquet or SLUG/VERSION.parquet")
        with self._lock:
            if name not in self._found:
                try:
                    self._found[name] = self._driver.run(described(self._core, parsed["slug"], parsed["version"]))
                except NotFound as refusal:
                    raise FileNotFoundError(str(refusal)) from None
            return self._found[name]

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Name, size, version and date."""
        found = self.remote(path)
        return {"name": self._strip_protocol(path), "size": found.bytes, "type": "file", "version": found.version,
                "ETag": found.etag, "mtime": found.modified}

    def exists(self, path: str, **options: Any) -> bool:
        """Whether there is such a file. What keeps the answer from being known, such as a wrong key, is an error."""
        try:
            self.remote(path)
        except FileNotFoundError:
            return False
        return True

    def modified(self, path: str) -> datetime:
        """The date of the file."""
        return self.remote(path).modified

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """One file, or at the root those of all datasets, of which some may have none."""
        name = self._strip_protocol(path)
        if name:
            found = [self.info(name)]
        else:
            slugs = [item["slug"] for item in self._driver.iterate(items(self._core, LIST_DATASETS, 100, None, 0))]
            found = [{"name": f"{slug}.parquet", "size": None, "type": "file"} for slug in slugs]
        return found if detail else [one["name"] for one in found]

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forgets the versions, so that files are opened in their current one."""
        with self._lock:
            self._found.clear()

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, autocommit: bool = True,
              cache_options: dict[str, Any] | None = None, **options: Any) -> RemoteFile:
        if mode != "rb":
            raise ValueError(f"files of a server are read only: mode {mode!r}")
        found = self.remote(path)
        self._check_price(found)
        return RemoteFile(self, found, path, mode, cache_type="none", size=found.bytes)

    def _check_price(self, found: Remote) -> None:
        if self._max_credits is None or found in self._allowed:
            return
        price = self._driver.run(budget.download_cost(self._core, found.slug, found.version))
        if price > self._max_credits:
            raise MaxCreditsExceeded(price.credits_required, self._max_credits)
        self._allowed.add(found)

    def fetch(self, remote: Remote, start: int, end: int) -> bytes:
        """Bytes of a file."""
        return self._blocks.read(remote, start, end, lambda begin, stop: self._driver.run(
            part(self._core, remote, begin, stop)))


class RemoteFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open file. It stays on its version."""

    def __init__(self, system: MercatoFileSystem, remote: Remote, path: str, mode: str, **options: Any) -> None:
        super().__init__(system, path, mode, **options)
        self._remote = remote

    def _fetch_range(self, start: int, end: int) -> bytes:
        fetched: bytes = self.fs.fetch(self._remote, start, min(end, self.size))
        return fetched
