"""Reads the whole body, within limits of size and time, and cancels the work of disconnected clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import chain

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.addresses import parse_networks
from service.access.bodies import Bodies
from service.api.context import CONNECTION, ClientConnection, ClientDisconnected
from service.api.error_handlers import handle_api_error
from service.api.errors import ApiError
from service.api.headers import header
from service.api.middleware.caller import address_of
from service.api.paths import UPLOADS
from service.api.request_body import BODY
from service.api.state import Service
from service.api.turns import Turns
from service.documents.format import MIB
from service.engine import CallStage, TimeLimit


class BodyLimitMiddleware:
    """Reads the body first, so that any later message means that the client has disconnected."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        settings = service.settings
        self.limit = settings.body_limit
        # Of a form with a document: the document, its fields, and the lines between them.
        self.upload_limit = max(self.limit, settings.max_file_mb * MIB + settings.body_limit)
        self.header_limit = service.settings.header_limit
        self.url_limit = service.settings.url_limit
        self.timeout = service.settings.body_timeout_seconds
        self.tracing = service.tracing
        self.proxies = parse_networks(service.settings.trusted_proxies)
        self.turns = Turns()
        roomy = settings.buffered_bodies_limit >= self.upload_limit
        self.bodies = Bodies(settings.buffered_bodies_limit, self.upload_limit if roomy else self.limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        self.turns.arrived()
        with _ReservedMemory(self.bodies, address_of(scope, self.proxies)) as held:
            try:
                body = await self._read(scope, receive, held)
            except ApiError as error:
                # The server reads and discards the rest of the body, so that the client can read this answer.
                response = await handle_api_error(Request(scope), error)
                await response(scope, receive, send)
                return
            if self.tracing.active:
                self.tracing.stage(CallStage("accept", began, time.monotonic(), {"bytes": len(body)}))
            await self._run(scope, body, receive, send)

    async def _read(self, scope: Scope, receive: Receive, held: _ReservedMemory) -> bytes:
        # Our own server's protocol has checked these two already.
        if sum(map(len, chain.from_iterable(scope["headers"]))) > self.header_limit:
            raise ApiError(
                f"The headers are larger than {self.header_limit} bytes; send fewer of them.",
                status=431,
                code="headers_too_large",
            )
        if len(scope.get("query_string", b"")) > self.url_limit:
            raise ApiError(
                f"The query string is larger than {self.url_limit} bytes; send the text in the body of a POST request.",
                status=414,
                code="url_too_long",
            )
        limit = self.upload_limit if scope["path"] in UPLOADS else self.limit
        declared = header(scope, b"content-length") or ""
        if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
            raise _too_large(limit)
        connection: ClientConnection | None = scope.get(CONNECTION)
        if connection is not None and connection.arrived:
            return await _read_parts(receive, held, limit)
        try:
            with TimeLimit(self.timeout):
                return await _read_parts(receive, held, limit)
        except TimeoutError:
            raise ApiError(
                f"The body did not arrive within {self.timeout:g} seconds; send less, or send it faster.",
                status=408,
                code="body_timeout",
                headers={"Connection": "close"},
            ) from None

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application and watch the client; raise ClientDisconnected if it disconnects first."""
        scope[BODY] = body
        gone = asyncio.Event()
        replayed = answered = False
        work = asyncio.current_task()
        assert work is not None, "a request is answered in a task"

        def left() -> None:
            # Servers report this after a complete answer, too, when a stream may still be closing.
            if not answered:
                gone.set()
                work.cancel()

        async def replay() -> Message:
            nonlocal replayed
            if not replayed:
                replayed = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def note(message: Message) -> None:
            nonlocal answered
            answered = answered or (message["type"] == "http.response.body" and not message.get("more_body", False))
            await send(message)

        stop_watching = _watch(scope, receive, left)
        try:
            await self.turns.take(len(body))
            await self.app(scope, replay, note)
        except asyncio.CancelledError:
            # If the server stops and cancels this task as well, that counts.
            if gone.is_set() and work.uncancel() == 0:
                raise ClientDisconnected from None
            raise
        finally:
            stop_watching()


async def _read_parts(receive: Receive, held: _ReservedMemory, limit: int) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(message.get("body", b""))
        held.add(len(parts[-1]))
        if held.size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return b"".join(parts)


def _watch(scope: Scope, receive: Receive, left: Callable[[], None]) -> Callable[[], object]:
    """Call `left` when the client disconnects; return the function that ends this."""
    connection: ClientConnection | None = scope.get(CONNECTION)
    if connection is not None:
        connection.watch(left)
        return lambda: connection.watch(None)

    async def watch() -> None:  # under another server: whatever comes after the body means that the client has left
        while (await receive())["type"] != "http.disconnect":
            pass
        left()

    return asyncio.create_task(watch()).cancel


def _too_large(limit: int) -> ApiError:
    return ApiError(
        f"The body is larger than {limit} bytes; split the text into several requests.",
        status=413,
        code="body_too_large",
    )


class _ReservedMemory:
    """The memory that the body of one request uses, until the request is done."""

    def __init__(self, bodies: Bodies, address: str) -> None:
        self.size = 0
        self._bodies = bodies
        self._address = address

    def add(self, size: int) -> None:
        """Reserve memory for more of the body; raise ApiError if there is none."""
        if not self._bodies.reserve(self._address, size):
            raise ApiError(
                "The bodies of other requests use all of the memory for bodies; try again in a moment.",
                status=503,
                code="bodies_full",
                headers={"Retry-After": "1"},
            )
        self.size += size

    def __enter__(self) -> _ReservedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.release(self._address, self.size)
