"""Runs the steps of the core over httpx: a driver that blocks, and one that awaits.

The two differ in nothing but `await`. What one does in more than a line stands in a function that both call.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import httpx

from mercato.core.effects import Answer, Close, Effect, Emit, Read, Request, Send, Sleep, Steps, Work, resume
from mercato.errors import ConnectionError, Timeout, redacted

T = TypeVar("T")


class Driver:
    """Blocks."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def run(self, steps: Steps[T]) -> T:
        """The result of steps that emit nothing."""
        reply, error = None, None
        with contextlib.ExitStack() as bodies:
            while True:
                try:
                    effect = resume(steps, reply, error)
                except StopIteration as end:
                    result: T = end.value
                    return result
                reply, error = self._perform(effect, bodies)

    def iterate(self, steps: Steps[None]) -> Iterator[Any]:
        """The items that steps emit."""
        reply, error = None, None
        with contextlib.ExitStack() as bodies:
            while True:
                try:
                    effect = resume(steps, reply, error)
                except StopIteration:
                    return
                if isinstance(effect, Emit):
                    reply, error = None, None
                    yield from effect.items
                else:
                    reply, error = self._perform(effect, bodies)

    def _perform(self, effect: Effect, bodies: contextlib.ExitStack) -> tuple[Any, Exception | None]:
        """The reply to an effect, or what went wrong with it."""
        try:
            if isinstance(effect, Send):
                return self._send(effect.request, bodies), None
            if isinstance(effect, Read):
                with connection_errors(self.http):
                    return next(effect.answer.body[1], b""), None
            if isinstance(effect, Close):
                return effect.answer.body[0].close(), None
            if isinstance(effect, Sleep):
                time.sleep(effect.seconds)
                return None, None
            if isinstance(effect, Work):
                return effect.function(), None
        except Exception as fault:
            return None, fault
        raise TypeError(f"nothing performs {effect!r}")

    def _send(self, request: Request, bodies: contextlib.ExitStack) -> Answer:
        with connection_errors(self.http):
            response = self.http.send(built(self.http, request), stream=True)
            if is_streamed(request, response):
                bodies.callback(response.close)
                return Answer(response.status_code, response.headers, body=(response, response.iter_bytes()))
            try:
                return Answer(response.status_code, response.headers, response.read())
            finally:
                response.close()


class AsyncDriver:
    """Awaits, with asyncio."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def run(self, steps: Steps[T]) -> T:
        """The result of steps that emit nothing."""
        reply, error = None, None
        async with contextlib.AsyncExitStack() as bodies:
            while True:
                try:
                    effect = resume(steps, reply, error)
                except StopIteration as end:
                    result: T = end.value
                    return result
                reply, error = await self._perform(effect, bodies)

    async def iterate(self, steps: Steps[None]) -> AsyncIterator[Any]:
        """The items that steps emit."""
        reply, error = None, None
        async with contextlib.AsyncExitStack() as bodies:
            while True:
                try:
                    effect = resume(steps, reply, error)
                except StopIteration:
                    return
                if isinstance(effect, Emit):
                    reply, error = None, None
                    for item in effect.items:
                        yield item
                else:
                    reply, error = await self._perform(effect, bodies)

    async def _perform(self, effect: Effect, bodies: contextlib.AsyncExitStack) -> tuple[Any, Exception | None]:
        """The reply to an effect, or what went wrong with it."""
        try:
            if isinstance(effect, Send):
                return await self._send(effect.request, bodies), None
            if isinstance(effect, Read):
                with connection_errors(self.http):
                    return await anext(effect.answer.body[1], b""), None
            if isinstance(effect, Close):
                return await effect.answer.body[0].aclose(), None
            if isinstance(effect, Sleep):
                await asyncio.sleep(effect.seconds)
                return None, None
            if isinstance(effect, Work):
                return await asyncio.to_thread(effect.function), None
        except Exception as fault:
            return None, fault
        raise TypeError(f"nothing performs {effect!r}")

    async def _send(self, request: Request, bodies: contextlib.AsyncExitStack) -> Answer:
        with connection_errors(self.http):
            response = await self.http.send(built(self.http, request), stream=True)
            if is_streamed(request, response):
                bodies.push_async_callback(response.aclose)
                return Answer(response.status_code, response.headers, body=(response, response.aiter_bytes()))
            try:
                return Answer(response.status_code, response.headers, await response.aread())
            finally:
                await response.aclose()


def built(http: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
    """A request of httpx."""
    return http.build_request(request.method, request.path, params=list(request.parameters) or None,
                              headers=dict(request.headers), content=request.content)


def is_streamed(request: Request, response: httpx.Response) -> bool:
    """Whether the steps read the body; refusals are short and read at once."""
    return request.is_streamed and response.is_success


@contextlib.contextmanager
def connection_errors(http: httpx.Client | httpx.AsyncClient) -> Iterator[None]:
    """Errors of httpx as errors of this package. Those of httpx hold the request, and with it the key."""
    try:
        yield
    except httpx.TimeoutException as fault:
        raise Timeout(described(fault, http.base_url)) from None
    except (httpx.HTTPError, httpx.StreamError, OSError) as fault:
        raise ConnectionError(described(fault, http.base_url)) from None


def described(fault: Exception, server: httpx.URL) -> str:
    """The fault in a line, with the address that the client was given."""
    address = str(server).rstrip("/")
    return redacted(": ".join(part for part in (address, type(fault).__name__, str(fault)) if part))
