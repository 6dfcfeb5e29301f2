"""The parts of both faces: options of httpx, and the core."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx

from mercato.core.exchange import Core, checked_key
from mercato.retry import RetryPolicy

TIMEOUT_SECONDS = 60.0


def package_version() -> str:
    """The version of this package."""
    try:
        return version("mercato")
    except PackageNotFoundError:
        return "0"


def http_options(base_url: str, timeout: float) -> dict[str, Any]:
    """Arguments of the client of httpx. It follows no redirect, which could lead the key elsewhere."""
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("base_url begins with http:// or https:// and names a host")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("base_url is an address alone, without name, password, query or fragment")
    return {"base_url": url, "timeout": timeout, "follow_redirects": False,
            "headers": {"User-Agent": f"mercato-python/{package_version()}"}}


def core_of(api_key: str | None, retry: RetryPolicy | None, exact_numbers: bool, headers: Mapping[str, str]) -> Core:
    """The core of a client, with the randomness of this process."""
    coding = "zstd" if "zstd" in headers.get("Accept-Encoding", "") else "identity"
    return Core(checked_key(api_key), retry or RetryPolicy(), exact_numbers, coding, random.random,
                lambda: uuid.uuid4().hex)
