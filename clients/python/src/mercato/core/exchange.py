"""One request and its answer: builds it, repeats it as the policy says, and turns refusals into errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from mercato.core.effects import Answer, Request, Send, Sleep, Steps
from mercato.errors import ConnectionError, StatusError, UnexpectedAnswer, refused
from mercato.notices import tell
from mercato.openapi import SLUG_PATTERN, Operation
from mercato.retry import Failure, RetryPolicy, retry_after

SLUG = re.compile(SLUG_PATTERN)
KEY = re.compile(r"[!-~]+")
PRINTABLE = re.compile(r"[ -~]+")
IDEMPOTENCY_KEY_MAX = 200
"""The server takes 255, of which parts of a walk need some."""
JSON = "application/json"

Plain = str | int | bool | None


@dataclass(frozen=True)
class Core:
    """The parts that all requests of a client share."""

    api_key: str | None = field(repr=False)
    policy: RetryPolicy
    exact_numbers: bool
    """Whether numbers with a fraction are `decimal.Decimal`."""
    arrow_coding: str
    """The `Accept-Encoding` of Arrow, which only zstd makes smaller without making it slow."""
    jitter: Callable[[], float]
    """A number from 0 to 1."""
    new_key: Callable[[], str]
    """A new `Idempotency-Key`."""


def checked_key(api_key: str | None) -> str | None:
    """A key as it can stand in a header. The error does not repeat it."""
    if api_key is None:
        return None
    if not KEY.fullmatch(api_key.strip()):
        raise ValueError("the API key holds characters that no key has, or is empty")
    return api_key.strip()


def checked_idempotency_key(key: str | None) -> str | None:
    """A key of the caller, with room for the number of a part behind it."""
    if key is not None and (not PRINTABLE.fullmatch(key) or key != key.strip() or len(key) > IDEMPOTENCY_KEY_MAX):
        raise ValueError(f"idempotency_key has 1 to {IDEMPOTENCY_KEY_MAX} characters of ASCII, no space at its ends")
    return key


def checked_slug(slug: str) -> str:
    """A slug that names a dataset and no other path."""
    if not SLUG.fullmatch(slug):
        raise ValueError(f"{slug!r} is no slug: lower-case letters, digits and inner hyphens, at most 64")
    return slug


def request(core: Core, operation: Operation, *, slug: str | None = None, query: Mapping[str, Any] | None = None,
            headers: Mapping[str, str] | None = None, content: bytes | None = None, accept: str = JSON,
            is_streamed: bool = False) -> Request:
    """A request of an operation. Parameters without a value are left out; a list is sent as several."""
    parameters: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        if name not in operation.parameters:
            raise ValueError(f"{operation.name} has no parameter {name}")
        several = value if isinstance(value, (list, tuple)) else [value]
        parameters += [(name, str(one)) for one in several if one is not None]
    path = operation.path if slug is None else operation.path.replace("{slug}", quote(checked_slug(slug), safe=""))
    sent = {"Accept": accept, **(headers or {})}
    if content is not None:
        sent["Content-Type"] = JSON
    if core.api_key is not None:
        sent["X-Api-Key"] = core.api_key
    return Request(operation.method, path, tuple(parameters), sent, content, is_streamed)


def exchange(core: Core, asked: Request) -> Steps[Answer]:
    """Sends a request until it is answered or the policy gives up. The bytes are the same each time."""
    tries = 0
    while True:
        tries += 1
        try:
            answer: Answer = yield Send(asked)
        except ConnectionError:
            wait = core.policy.wait(Failure(), tries, core.jitter())
            if wait is None:
                raise
        else:
            if answer.status < 300:
                tell(answer.headers)
                return answer
            error = refusal_of(answer)
            wait = core.policy.wait(failure_of(error), tries, core.jitter())
            if wait is None:
                raise error
        yield Sleep(wait)


def refusal_of(answer: Answer) -> StatusError:
    """The error of an answer that is no success."""
    return refused(answer.status, answer.content, answer.headers.get("X-Request-Id"), retry_after(answer.headers))


def failure_of(error: StatusError) -> Failure:
    """An error as the retry policy reads it."""
    return Failure(error.status, error.reason, error.retry_after)


def enveloped(answer: Answer, parse_float: Callable[[str], Any] = float) -> tuple[Any, Mapping[str, Any]]:
    """`data` and `meta` of a JSON answer."""
    try:
        document = json.loads(answer.content, parse_float=parse_float)
        data, meta = document["data"], document["meta"]
    except (ValueError, KeyError, TypeError):
        raise UnexpectedAnswer("the answer is not the JSON envelope of this API") from None
    if not isinstance(meta, dict):
        raise UnexpectedAnswer("the answer has no `meta`")
    tell({}, meta.get("warnings") or ())
    return data, meta


def count_in(headers: Mapping[str, str], name: str) -> int:
    """A header that counts; 0 where it is not sent."""
    text = headers.get(name, "0")
    if not (text.isascii() and text.isdigit()):
        raise UnexpectedAnswer(f"{name} is no count")
    return int(text)
