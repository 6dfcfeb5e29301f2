"""The policy as a table."""

import pytest

from mercato.errors import KEY_PATTERN
from mercato.retry import Failure, RetryPolicy, retry_after

POLICY = RetryPolicy(tries=4, first_seconds=1.0, longest_seconds=3.0, longest_retry_after=60.0)


@pytest.mark.parametrize(("failure", "tries", "jitter", "wait"), [
    # No answer: the wait doubles, within its bound, and jitter takes up to half of it.
    (Failure(), 1, 1.0, 1.0),
    (Failure(), 2, 1.0, 2.0),
    (Failure(), 3, 1.0, 3.0),
    (Failure(), 3, 0.0, 1.5),
    (Failure(), 4, 1.0, None),
    # What may pass.
    (Failure(408), 1, 1.0, 1.0),
    (Failure(500), 1, 1.0, 1.0),
    (Failure(502), 1, 1.0, 1.0),
    (Failure(503), 1, 1.0, 1.0),
    (Failure(504), 1, 1.0, 1.0),
    (Failure(409, "IDEMPOTENCY_KEY_IN_USE", 1.0), 1, 0.0, 1.0),
    # The server's wait is kept, never shortened, and at most a second longer.
    (Failure(429, "MINUTE_RATE_EXCEEDED", 42.0), 1, 0.0, 42.0),
    (Failure(429, "MINUTE_RATE_EXCEEDED", 42.0), 1, 1.0, 43.0),
    (Failure(503, "BUSY", 1.0), 1, 1.0, 1.1),
    (Failure(503, None, 0.0), 1, 1.0, 0.0),
    (Failure(429, "MINUTE_RATE_EXCEEDED", 60.0), 3, 0.0, 60.0),
    (Failure(429, "MINUTE_RATE_EXCEEDED", 1.0), 4, 0.0, None),
    (Failure(429, "DAILY_QUOTA_EXCEEDED", 61.0), 1, 0.0, None),
    # What another try cannot mend.
    (Failure(400), 1, 0.0, None),
    (Failure(401), 1, 0.0, None),
    (Failure(402, "INSUFFICIENT_CREDITS"), 1, 0.0, None),
    (Failure(404), 1, 0.0, None),
    (Failure(409, "OTHER"), 1, 0.0, None),
    (Failure(412), 1, 0.0, None),
    (Failure(422), 1, 0.0, None),
    (Failure(501), 1, 0.0, None),
    (Failure(503, "DATASET_QUARANTINED", 1.0), 1, 0.0, None),
    (Failure(503, "VERSION_QUARANTINED", 1.0), 1, 0.0, None),
    (Failure(503, "QUERY_TOO_EXPENSIVE"), 1, 0.0, None),
])
def test_waits_by_table(failure: Failure, tries: int, jitter: float, wait: float | None) -> None:
    found = POLICY.wait(failure, tries, jitter)
    assert found == (None if wait is None else pytest.approx(wait))


def test_one_try_never_repeats() -> None:
    assert RetryPolicy(tries=1).wait(Failure(503), 1, 0.5) is None


@pytest.mark.parametrize(("headers", "seconds"), [
    ({}, None),
    ({"Retry-After": "7"}, 7.0),
    ({"Retry-After": "Mon, 23 Nov 2026 10:00:30 GMT", "Date": "Mon, 23 Nov 2026 10:00:00 GMT"}, 30.0),
    ({"Retry-After": "Mon, 23 Nov 2026 09:00:00 GMT", "Date": "Mon, 23 Nov 2026 10:00:00 GMT"}, 0.0),
    ({"Retry-After": "Mon, 23 Nov 2026 10:00:30 GMT"}, None),
    ({"Retry-After": "soon"}, None),
    ({"Retry-After": "-1"}, None),
    ({"Retry-After": "²"}, None),
])
def test_reads_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_keys_have_the_form_that_is_redacted() -> None:
    assert KEY_PATTERN.fullmatch("mk_0aZ")
