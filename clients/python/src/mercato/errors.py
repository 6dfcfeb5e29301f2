"""The errors, by the next action of the caller.

    MercatoError
    ├── ConnectionError            no whole answer came: try again, nothing is paid twice
    │   └── Timeout
    ├── StatusError                the server refused
    │   ├── BadRequest             correct the request: `hint`, `suggestion`, `pointer`
    │   ├── Unauthorized           check the key
    │   ├── PaymentRequired        buy credits, or raise the limit of the key
    │   ├── NotFound               check the name: `suggestion`
    │   ├── Conflict               the state of the request or of the file is another one
    │   ├── RateLimited            wait `retry_after` seconds
    │   └── ServerError            try again later
    ├── MaxCreditsExceeded         raise `max_credits`, or ask for less; nothing was paid beyond it
    ├── IntegrityError             a downloaded file is not what the server announced
    ├── UnexpectedAnswer           the other side is no mercato server, or one that this version does not understand
    └── MissingExtra               install the package that it names

All of them can be pickled, and none of them holds the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KEY_PATTERN = re.compile(r"mk_[0-9A-Za-z]+")


class MercatoError(Exception):
    """Everything that this package raises for reasons of its own."""


class ConnectionError(MercatoError):
    """No whole answer came."""


class Timeout(ConnectionError):
    """The server did not answer in time."""


@dataclass(frozen=True)
class Refusal:
    """The content of a refusal of the server."""

    status: int
    message: str
    code: str | None = None
    """A stable word for the status, such as `NO_CREDITS`."""
    request_id: str | None = None
    """The id of the request in the log of the server."""
    retry_after: float | None = None
    """Seconds, where the server says when to try again."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """All that the server says: `errors` has one entry for every fault."""


class StatusError(MercatoError):
    """The server refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.refusal.status

    @property
    def code(self) -> str | None:
        """A stable word for the status, such as `NO_CREDITS`."""
        return self.refusal.code

    @property
    def message(self) -> str:
        """The fault, for people."""
        return self.refusal.message

    @property
    def request_id(self) -> str | None:
        """The id of the request in the log of the server."""
        return self.refusal.request_id

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server may answer, where it says so."""
        return self.refusal.retry_after

    @property
    def details(self) -> Mapping[str, Any]:
        """All that the server says; `errors` has one entry for every fault."""
        return self.refusal.details

    @property
    def reason(self) -> str | None:
        """A stable word for the fault, such as `UNKNOWN_COLUMN`."""
        return self._text("reason")

    @property
    def hint(self) -> str | None:
        """A remedy."""
        return self._text("hint")

    @property
    def suggestion(self) -> str | None:
        """The nearest accepted name."""
        return self._text("suggestion")

    @property
    def pointer(self) -> str | None:
        """The fault in the body (RFC 6901), or the name of the parameter or header."""
        return self._text("pointer")

    def _text(self, name: str) -> str | None:
        found = self.refusal.details.get(name)
        return found if isinstance(found, str) else None

    def __str__(self) -> str:
        words = ", ".join(str(word) for word in (self.status, self.code, self.reason) if word)
        hint = f"; {self.hint}" if self.hint else ""
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.message}{hint} [{words}]{request}"


class BadRequest(StatusError):
    """The request must be corrected."""


class Unauthorized(StatusError):
    """The key is missing, wrong, revoked or expired."""


class PaymentRequired(StatusError):
    """The account cannot pay, or a limit of the key forbids the request."""

    @property
    def required(self) -> int | None:
        """Credits that the request needs."""
        return self._count("required")

    @property
    def available(self) -> int | None:
        """Credits that the account has."""
        return self._count("available")

    @property
    def shortfall(self) -> int | None:
        """Credits that are missing."""
        return self._count("shortfall")

    @property
    def allowed(self) -> int | None:
        """Rows that a free query may ask for, where this one asks for more and the account has no credits."""
        return self._count("allowed")

    def _count(self, name: str) -> int | None:
        found = self.refusal.details.get(name)
        return found if isinstance(found, int) else None


class NotFound(StatusError):
    """There is no such path, dataset or key."""


class Conflict(StatusError):
    """The present state is another one: of the file (412), or of the same request that still runs (409)."""


class RateLimited(StatusError):
    """Too many requests."""


class ServerError(StatusError):
    """The server cannot answer now. Nothing was charged."""


class MaxCreditsExceeded(MercatoError):
    """The price lies above `max_credits`. Nothing was paid beyond it."""

    def __init__(self, required: int, max_credits: int) -> None:
        super().__init__(required, max_credits)
        self.required = required
        self.max_credits = max_credits

    def __str__(self) -> str:
        return f"this costs {self.required:,} credits or more, and max_credits is {self.max_credits:,}"


class IntegrityError(MercatoError):
    """A downloaded file is not what the server announced. It was removed."""


class UnexpectedAnswer(MercatoError):
    """The answer is not what the API promises."""


class MissingExtra(MercatoError, ImportError):
    """A package that is not installed is needed."""


CLASSES: Mapping[int, type[StatusError]] = {
    401: Unauthorized, 402: PaymentRequired, 404: NotFound, 408: ServerError, 409: Conflict, 412: Conflict,
    429: RateLimited,
}


def redacted(text: str) -> str:
    """A text without keys."""
    return KEY_PATTERN.sub("mk_…", text)


def refused(status: int, content: bytes, request_id: str | None, retry_after: float | None) -> StatusError:
    """The error of an answer that is no success."""
    fault = _fault(content)
    message = fault.get("message")
    details = fault.get("details")
    code = fault.get("code")
    refusal = Refusal(
        status=status,
        message=message if isinstance(message, str) else f"the server answered {status}",
        code=code if isinstance(code, str) else None,
        request_id=request_id,
        retry_after=retry_after,
        details=details if isinstance(details, dict) else {},
    )
    return class_of(status)(refusal)


def class_of(status: int) -> type[StatusError]:
    """The class of the error of a status."""
    if status in CLASSES:
        return CLASSES[status]
    if 400 <= status < 500:
        return BadRequest
    return ServerError if status >= 500 else StatusError


def _fault(content: bytes) -> Mapping[str, Any]:
    """`error` of an envelope; of anything else nothing, since a proxy may have answered."""
    try:
        document = json.loads(redacted(content.decode("utf-8", "replace")))
    except ValueError:
        return {}
    fault = document.get("error") if isinstance(document, dict) else None
    return fault if isinstance(fault, dict) else {}
