"""The effects that the logic requests: send, read, wait, work on files. Performs none and needs no HTTP library."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One HTTP request. Its headers hold the key, so that no text of it shows them."""

    method: str
    path: str
    parameters: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | None = field(default=None, repr=False)
    is_streamed: bool = False
    """`Read` requests the body of a success."""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    content: bytes = field(default=b"", repr=False)
    """The whole body; empty where it is streamed."""
    body: Any = field(default=None, repr=False)
    """The driver's source of a streamed body."""


@dataclass(frozen=True)
class Send:
    """Replies with an `Answer`, or throws `ConnectionError`."""

    request: Request


@dataclass(frozen=True)
class Read:
    """Replies with the next piece of a streamed body, empty at its end, or throws `ConnectionError`."""

    answer: Answer


@dataclass(frozen=True)
class Close:
    """Gives up a streamed body. The driver closes what is open when the steps end."""

    answer: Answer


@dataclass(frozen=True)
class Sleep:
    """Waits."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Calls a function that may block, and replies with its result."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Emit:
    """Hands items to the caller, who may never ask for more."""

    items: Sequence[Any]


Effect = Send | Read | Close | Sleep | Work | Emit
Steps = Generator[Effect, Any, T]
"""Logic that ends with a `T`."""


def resume(steps: Steps[T], reply: Any, error: Exception | None) -> Effect:
    """Gives steps their reply, or throws what went wrong, and returns what they need next."""
    return steps.send(reply) if error is None else steps.throw(error)


def gathered(steps: Steps[T], take: Callable[[Sequence[Any]], None]) -> Steps[T]:
    """The same steps, whose items go to `take` in place of the caller."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            effect = resume(steps, reply, error)
        except StopIteration as end:
            result: T = end.value
            return result
        reply, error = None, None
        if isinstance(effect, Emit):
            take(effect.items)
            continue
        try:
            reply = yield effect
        except Exception as thrown:
            error = thrown


def collected(steps: Steps[None]) -> Steps[list[Any]]:
    """All items of steps."""
    items: list[Any] = []
    yield from gathered(steps, items.extend)
    return items
