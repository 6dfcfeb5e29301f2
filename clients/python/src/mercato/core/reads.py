"""Reads that cost no credits: the catalog, a dataset, the account, estimates of one request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from mercato.core.effects import Emit, Steps
from mercato.core.exchange import Core, enveloped, exchange, request
from mercato.errors import UnexpectedAnswer
from mercato.openapi import (
    GET_CROISSANT,
    GET_DATASET,
    GET_OPEN_API,
    GET_SAMPLE,
    SEARCH_DATASETS,
    Header,
    HeaderVersion,
    Operation,
    Sample,
)
from mercato.results import SearchResults

ARROW = "application/vnd.apache.arrow.stream"
LIST_PAGES_MAX = 100_000
"""Pages of one list. A server that never ends is given up."""


def read(core: Core, operation: Operation, slug: str | None = None, **query: Any) -> Steps[Any]:
    """`data` of an answer."""
    answer = yield from exchange(core, request(core, operation, slug=slug, query=query))
    data, _ = enveloped(answer)
    return data


def sample(core: Core, slug: str, version: str | None) -> Steps[Sample]:
    """Rows that are free, with the numbers that the client was told to make."""
    answer = yield from exchange(core, request(core, GET_SAMPLE, slug=slug, query={"version": version}))
    data, _ = enveloped(answer, Decimal if core.exact_numbers else float)
    found: Sample = data
    return found


def arrow_sample(core: Core, slug: str, version: str | None) -> Steps[tuple[bytes, str]]:
    """The free sample as an Arrow stream, and its version."""
    asked = request(core, GET_SAMPLE, slug=slug, query={"version": version}, accept=ARROW)
    answer = yield from exchange(core, asked)
    return answer.content, answer.headers.get("X-Dataset-Version", "")


def document(core: Core, operation: Operation, slug: str | None = None, **query: Any) -> Steps[Any]:
    """A JSON document that has no envelope."""
    accept = {GET_CROISSANT: "application/ld+json", GET_OPEN_API: "application/json"}[operation]
    answer = yield from exchange(core, request(core, operation, slug=slug, query=query, accept=accept))
    try:
        return json.loads(answer.content)
    except ValueError:
        raise UnexpectedAnswer("the answer is no JSON") from None


def items(core: Core, operation: Operation, page: int, limit: int | None, offset: int, **query: Any) -> Steps[None]:
    """Emits the items of a list, over all its pages; `limit` of them at most."""
    left = limit
    for _ in range(LIST_PAGES_MAX):
        asked = page if left is None else min(page, left)
        if asked <= 0:
            return
        data = yield from read(core, operation, limit=asked, offset=offset, **query)
        yield Emit(data["results"])
        left = None if left is None else left - len(data["results"])
        following = data["nextOffset"]
        if following is None:
            return
        if following <= offset:
            raise UnexpectedAnswer("the list does not go on")
        offset = following


def search(core: Core, q: str, limit: int | None, offset: int, tag: str | Sequence[str] | None,
           lang: str | None) -> Steps[SearchResults]:
    """Datasets that answer a question."""
    found = yield from read(core, SEARCH_DATASETS, q=q, limit=limit, offset=offset or None, tag=tag, lang=lang)
    return SearchResults(found)


def versions(core: Core, slug: str) -> Steps[list[HeaderVersion]]:
    """The versions that can be read by name."""
    header: Header = yield from read(core, GET_DATASET, slug)
    return header["versions"]
