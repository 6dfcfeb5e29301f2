"""Whether to send a request again, and when. A value: it sends nothing, sleeps never and asks no clock.

All requests of this package may be repeated: those that cost credits carry an `Idempotency-Key`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

RETRIED = frozenset({408, 429, 500, 502, 503, 504})
IN_PROGRESS = "IDEMPOTENCY_KEY_IN_USE"
LASTING = frozenset({"DATASET_QUARANTINED", "VERSION_QUARANTINED", "QUERY_TOO_EXPENSIVE"})
"""Reasons of a 503 that the same request meets again: until an operator acts, or at all."""


@dataclass(frozen=True)
class Failure:
    """The fault of one attempt."""

    status: int | None = None
    """None where no whole answer came."""
    reason: str | None = None
    retry_after: float | None = None
    """Seconds that the server requests."""


@dataclass(frozen=True)
class RetryPolicy:
    """How patient the client is."""

    tries: int = 5
    """Of one request, the first one included. 1 never repeats."""
    first_seconds: float = 0.5
    """The wait after the first failure. It doubles with each further one."""
    longest_seconds: float = 20.0
    """A wait that the client chooses is at most this long."""
    longest_retry_after: float = 120.0
    """A wait that the server asks for is obeyed up to this many seconds. Above, the error comes at once."""

    def wait(self, failure: Failure, tries: int, jitter: float) -> float | None:
        """Seconds until the next try; None when there shall be none.

        `tries` counts those made. `jitter` lies between 0 and 1 and spreads clients that failed together.
        """
        if tries >= self.tries or not is_retried(failure):
            return None
        if failure.retry_after is not None:
            if failure.retry_after > self.longest_retry_after:
                return None
            return failure.retry_after + jitter * min(1.0, 0.1 * failure.retry_after)
        doubled: float = self.first_seconds * 2.0 ** min(tries - 1, 32)
        return min(doubled, self.longest_seconds) * (0.5 + 0.5 * jitter)


def is_retried(failure: Failure) -> bool:
    """Whether another try may end otherwise."""
    if failure.status is None:
        return True
    if failure.status == 409:
        return failure.reason == IN_PROGRESS
    return failure.status in RETRIED and failure.reason not in LASTING


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of `Retry-After`, which proxies also write as a date; that counts from the `Date` of the answer."""
    text = headers.get("Retry-After")
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text)
    try:
        until, now = parsedate_to_datetime(text), parsedate_to_datetime(headers.get("Date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None
