"""The server that `tests/clients/python_client.py` started; without it these tests are skipped."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import mercato

VARIABLE = "MERCATO_LIVE"
SECONDS_MAX = 30


@dataclass(frozen=True)
class Live:
    """Addresses and keys."""

    url: str
    key: str
    """Of an account that can pay for everything."""
    free_key: str
    """Of an account on the free plan."""
    poor_key: str
    """Of an account with 500 credits."""
    limited_url: str
    """A server that takes six requests a minute."""
    everything: str
    """The Parquet file of the dataset `everything`, which has a column of each type."""

    def client(self, **options: object) -> mercato.Client:
        return mercato.Client(self.url, self.key, **options)  # type: ignore[arg-type]

    def settled(self) -> int:
        """The balance once nothing is reserved any more."""
        deadline = time.monotonic() + SECONDS_MAX
        with self.client() as client:
            while time.monotonic() < deadline:
                account = client.account()
                if account["reserved"] == 0:
                    return account["credits"]
                time.sleep(0.05)
        raise AssertionError("a reservation stays open")


@pytest.fixture(scope="session")
def live() -> Live:
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} is not set: run tests/clients/python_client.py")
    return Live(**json.loads(os.environ[VARIABLE]))


@pytest.fixture
def paid(live: Live) -> Callable[[], int]:
    """What was paid since the test began."""
    before = live.settled()
    return lambda: before - live.settled()


@pytest.fixture(scope="session", autouse=True)
def refused(request: pytest.FixtureRequest) -> tuple[float, mercato.RateLimited] | None:
    """Uses the minute of the limited server up at the beginning, so that little is left to wait for at the end."""
    if VARIABLE not in os.environ:
        return None
    live: Live = request.getfixturevalue("live")
    with mercato.Client(live.limited_url, live.key, retry=mercato.RetryPolicy(tries=1)) as client:
        for _ in range(7):
            try:
                client.account()
            except mercato.RateLimited as refusal:
                return time.monotonic(), refusal
    raise AssertionError("seven requests, and none was refused")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
