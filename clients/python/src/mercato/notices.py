"""Warnings and notices of the server beside an answer, as Python warnings."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from mercato.errors import redacted

PACKAGE = str(Path(__file__).parent)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
TEXT_MAX = 1000
MEANINGS = {
    "day-cap": "the key has spent most of its credits of this day",
    "month-cap": "the key has spent most of its credits of this month",
    "low-balance": "the account has few credits left",
}


class MercatoWarning(UserWarning):
    """A warning of the server."""


class CreditsWarning(MercatoWarning):
    """The credits of the account, or a cap of the key, are nearly used up.

    The text is the same for all answers, so that Python shows it once; `details` has what changes.
    """

    def __init__(self, name: str, details: Mapping[str, str]) -> None:
        super().__init__(name, details)
        self.name = name
        """`day-cap`, `month-cap` or `low-balance`."""
        self.details = details
        """Such as `remaining`, `spent`, `cap` and `resetsAt`."""

    def __str__(self) -> str:
        return f"{self.name}: {MEANINGS[self.name]}" if self.name in MEANINGS else self.name


class ServerDeprecationWarning(MercatoWarning):
    """The server will give up what was asked for."""


def tell(headers: Mapping[str, str], sentences: Iterable[object] = ()) -> None:
    """Warns of what stands in the headers of an answer, and of the sentences of its `meta`."""
    for sentence in [*QUOTED.findall(headers.get("X-Warnings", "")), *sentences]:
        _warn(MercatoWarning(shown(str(sentence).replace('\\"', '"'))))
    for warning in headers.get("X-Credits-Warning", "").split(", "):
        name, *details = shown(warning).split("; ")
        if name:
            _warn(CreditsWarning(name, dict(detail.split("=", 1) for detail in details if "=" in detail)))
    if "Deprecation" in headers:
        sunset = headers.get("Sunset")
        ends = f"; it ends on {sunset}" if sunset else ""
        _warn(ServerDeprecationWarning(shown(f"the server calls this deprecated{ends}")))


def shown(text: str) -> str:
    """A text of the server as a warning may show it."""
    return redacted(text[:TEXT_MAX])


def _warn(warning: MercatoWarning) -> None:
    warnings.warn(warning, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """The nearest frame outside of this package, as `warnings.warn` counts from `_warn`."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
