"""What the server says beside an answer, as Python warnings."""

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


class MercatoWarning(UserWarning):
    """A warning of the server."""


class CreditsWarning(MercatoWarning):
    """The credits of the account, or a cap of the key, are nearly used up."""


class ServerDeprecationWarning(MercatoWarning):
    """The server will give up what was asked for."""


def tell(headers: Mapping[str, str], sentences: Iterable[object] = ()) -> None:
    """Warns of what stands in the headers of an answer, and of the sentences of its `meta`."""
    for sentence in [*QUOTED.findall(headers.get("X-Warnings", "")), *sentences]:
        _warn(str(sentence).replace('\\"', '"'), MercatoWarning)
    for warning in headers.get("X-Credits-Warning", "").split(", "):
        if warning:
            _warn(warning, CreditsWarning)
    if "Deprecation" in headers:
        sunset = headers.get("Sunset")
        ends = f"; it ends on {sunset}" if sunset else ""
        _warn(f"the server calls this deprecated{ends}", ServerDeprecationWarning)


def _warn(text: str, kind: type[MercatoWarning]) -> None:
    warnings.warn(redacted(text[:TEXT_MAX]), kind, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """The nearest frame outside of this package, as `warnings.warn` counts from `_warn`."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
