"""A whole version as a file, checked before it gets its name.

It is resumed by range, also by a later call. A file without ranges begins anew, and is paid once under its key.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mercato.core.budget import download_cost
from mercato.core.effects import Answer, Close, Read, Sleep, Steps, Work
from mercato.core.exchange import Core, count_in, exchange, request
from mercato.core.partial_file import Announced, PartialFile, Wanted
from mercato.core.reads import read
from mercato.core.stream import Patience
from mercato.errors import ConnectionError, MaxCreditsExceeded, UnexpectedAnswer
from mercato.openapi import DOWNLOAD_DATASET, GET_DATASET, Header
from mercato.results import Download

FORMATS = {".csv": "csv", ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet",
           ".arrow": "arrow", ".arrows": "arrow", ".xlsx": "xlsx"}
CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")

Report = Callable[[int, int], None]
"""Is told the bytes that are there and the bytes of the whole; 0 where nobody knows those."""


@dataclass(frozen=True)
class Job:
    """The dataset and the target of a download."""

    slug: str
    path: Path
    format: str
    version: str | None
    max_credits: int | None
    idempotency_key: str | None
    source: str
    """The address of the server, so that a file begun elsewhere is not gone on with."""


def format_of(path: Path, format: str | None) -> str:
    """The format asked for, else the one of the name, else CSV."""
    return format or FORMATS.get(path.suffix.lower(), "csv")


def download(core: Core, job: Job, report: Report) -> Steps[Download]:
    """Downloads. A file of this name is never replaced."""
    yield Work(lambda: refuse_existing(job.path))
    version = job.version
    if version is None:
        header: Header = yield from read(core, GET_DATASET, job.slug)
        version = header["currentVersion"]
    if job.max_credits is not None:
        price = yield from download_cost(core, job.slug, version)
        if price > job.max_credits:
            raise MaxCreditsExceeded(price.credits_required, job.max_credits)
    wanted = Wanted(job.source, job.slug, version, job.format)
    partial: PartialFile = yield Work(lambda: PartialFile.open(job.path, wanted, job.idempotency_key or core.new_key()))
    try:
        resumed_at = partial.resumable_bytes
        charged: int | None = None
        patience = Patience(core)
        while not partial.is_complete:
            before = partial.length
            answer: Answer = yield from _answer(core, partial)
            if charged is None:
                # The first answer tells the price of all that is missing, also when a later one brings the rest.
                charged = count_in(answer.headers, "X-Credits-Charged")
            try:
                yield from _receive(answer, partial, report)
            except ConnectionError:
                wait = patience.after_cut(partial.length > before)
                if wait is None:
                    raise
                yield Sleep(wait)
        sha256: str = yield Work(partial.finish)
    finally:
        partial.close()
    return Download(job.path, partial.length, version, job.format, sha256, resumed_at, charged or 0)


def refuse_existing(path: Path) -> None:
    """Raises `FileExistsError` before anything is paid."""
    if path.is_symlink() or path.exists():
        raise FileExistsError(f"{path} is there already, and a download replaces no file")


def _answer(core: Core, partial: PartialFile) -> Steps[Answer]:
    """The head of the whole file, or of the rest that is missing."""
    wanted = partial.wanted
    headers = {"Idempotency-Key": partial.key, "Accept-Encoding": "identity"}
    if partial.resumable_bytes:
        headers["Range"] = f"bytes={partial.resumable_bytes}-"
        if partial.announced.etag:
            headers["If-Match"] = partial.announced.etag
    query = {"format": wanted.format, "version": wanted.version}
    asked = request(core, DOWNLOAD_DATASET, slug=wanted.slug, query=query, headers=headers, accept="*/*",
                    is_streamed=True)
    answer = yield from exchange(core, asked)
    try:
        _check(answer, partial)
    except UnexpectedAnswer:
        yield Close(answer)
        raise
    return answer


def _check(answer: Answer, partial: PartialFile) -> None:
    """Demands 206 before anything is appended."""
    headers = answer.headers
    version = headers.get("X-Dataset-Version", partial.wanted.version)
    if version != partial.wanted.version:
        raise UnexpectedAnswer(f"the answer is of version {version}, and {partial.wanted.version} was asked for")
    if headers.get("Content-Encoding", "identity") != "identity":
        raise UnexpectedAnswer("the file is encoded, although it was asked for as it is")
    if not partial.resumable_bytes:
        if answer.status != 200:
            raise UnexpectedAnswer(f"the status is {answer.status}, and the whole file was asked for")
        length = headers.get("Content-Length", "")
        if not length.isdigit() and (length or headers.get("Accept-Ranges") != "none"):
            raise UnexpectedAnswer("the length of the file is not announced")
        partial.begin(Announced(int(length) if length else None, headers.get("ETag", ""), headers.get("Repr-Digest")))
        return
    found = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if answer.status != 206 or found is None:
        raise UnexpectedAnswer(f"the status is {answer.status}, and the rest of the file was asked for")
    first, last, whole = (int(number) for number in found.groups())
    if (first, last + 1, whole) != (partial.length, partial.announced.bytes, partial.announced.bytes):
        raise UnexpectedAnswer(f"{found[0]} is not the rest of {partial.announced.bytes} bytes from {partial.length}")


def _receive(answer: Answer, partial: PartialFile, report: Report) -> Steps[None]:
    report(partial.length, partial.announced.bytes or 0)
    while piece := (yield Read(answer)):
        yield Work(functools.partial(partial.append, piece))
        report(partial.length, partial.announced.bytes or 0)
    partial.end()
    if not partial.is_complete:
        raise ConnectionError(f"the file ended after {partial.length} of {partial.announced.bytes} bytes")
