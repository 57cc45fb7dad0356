"""Decides whether a request is let in, reads its whole body within limits of size and time, and watches its client.

Large requests take turns: they begin when no other request is arriving, one in each round of the event loop. The loop
accepts one connection in each of its rounds (libuv, since 1.45). If it also read and tokenised a large text in each
round, the thirty-third of a burst of connections would wait for thirty-two texts, however short its own.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.context import CONNECTION, ClientConnection, ClientDisconnected, context_of, header
from service.api.error_handlers import handle_api_error
from service.api.errors import ApiError
from service.api.middleware.access import AccessRules
from service.api.paths import UPLOADS
from service.api.request_body import BODY
from service.api.state import Service
from service.documents.format import MIB
from service.engine import StageDone

BUFFERED = 134_217_728  # bytes of the bodies of all requests at one time; one body always fits
BODY_TIMEOUT_SECONDS = 30.0  # time for a client to send the body of a request; after it the answer is 408
SHARE = 4  # one address may use a quarter of the memory for bodies
LARGE = 200  # bytes of a body; smaller ones never wait for a turn
QUIET_ROUNDS = 2  # without an arrival: one round accepts a connection, and the next one reads its request
LONGEST_WAIT = 0.05  # seconds, where requests arrive all the time
Reserve = Callable[[int], int]  # takes so many bytes more, and returns the size of the body so far; raises ApiError


class BodyMiddleware:
    """Reads the body first, so that any later message means that the client has disconnected.

    Nothing is read of the body of a request that is refused by its head.
    """

    def __init__(self, app: ASGIApp, service: Service, access: AccessRules) -> None:
        self.app, self.access = app, access
        settings = service.settings
        self.limit = settings.body_limit
        # Of a form with a document: the document, its fields, and the lines between them.
        self.upload_limit = max(self.limit, settings.max_file_mb * MIB + settings.body_limit)
        self.timeout = max(BODY_TIMEOUT_SECONDS, settings.max_file_mb)  # a document comes with 1 MiB a second
        self.tracing = service.tracing
        self.turns = LargeBodyQueue()
        self.bodies = Bodies(BUFFERED, self.upload_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with self.bodies.holding(context_of(scope).address) as reserve:
            try:
                await self.access.before_body(scope)
                began = time.monotonic()
                self.turns.arrived()
                scope[BODY] = body = await self._read(scope, receive, reserve)
                await self.access.after_body(scope)
            except ApiError as error:
                # The server reads and discards the rest of the body, so that the client can read this answer.
                response = await handle_api_error(Request(scope), error)
                await response(scope, receive, send)
                return
            if self.tracing is not None:
                self.tracing.stage(StageDone(None, "accept", began, time.monotonic(), {"bytes": len(body)}))
            await self._run(scope, body, receive, send)

    async def _read(self, scope: Scope, receive: Receive, reserve: Reserve) -> bytes:
        limit = self.upload_limit if scope["path"] in UPLOADS else self.limit
        declared = header(scope, b"content-length") or ""
        if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
            raise _too_large(limit)
        connection: ClientConnection | None = scope.get(CONNECTION)
        if connection is not None and connection.arrived:
            return await _read_parts(receive, reserve, limit)
        try:
            async with asyncio.timeout(self.timeout):
                return await _read_parts(receive, reserve, limit)
        except TimeoutError:
            raise ApiError(
                f"The body did not arrive within {self.timeout:g} seconds; send less, or send it faster.",
                status=408,
                code="body_timeout",
                headers={"Connection": "close"},
            ) from None

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application and watch the client; raise ClientDisconnected if it disconnects first."""
        gone = asyncio.Event()
        replayed = False
        work, context = asyncio.current_task(), context_of(scope)
        assert work is not None, "a request is answered in a task"

        def left() -> None:
            # Servers report this after a complete answer, too, when a stream may still be closing.
            if not context.answered:
                gone.set()
                work.cancel()

        async def replay() -> Message:
            nonlocal replayed
            if not replayed:
                replayed = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        stop_watching = _watch(scope, receive, left)
        try:
            await self.turns.take(len(body))
            await self.app(scope, replay, send)
        except asyncio.CancelledError:
            # If the server stops and cancels this task as well, that counts.
            if gone.is_set() and work.uncancel() == 0:
                raise ClientDisconnected from None
            raise
        finally:
            stop_watching()


async def _read_parts(receive: Receive, reserve: Reserve, limit: int) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(message.get("body", b""))
        if reserve(len(parts[-1])) > limit:
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


class Bodies:
    """Counts the bytes of bodies in memory; one address cannot use all of it."""

    def __init__(self, limit: int, largest: int) -> None:
        """Allow `limit` bytes, in which one body of the `largest` size always fits."""
        self._limit = max(limit, largest)
        self._share = max(limit // SHARE, largest)
        self._of_address: Counter[str] = Counter()
        self.held = 0

    @contextmanager
    def holding(self, address: str) -> Iterator[Reserve]:
        """Give a function that reserves memory for one body of an address until its request is done."""
        size = 0

        def reserve(more: int) -> int:
            nonlocal size
            if self.held + more > self._limit or self._of_address[address] + more > self._share:
                raise ApiError(
                    "The bodies of other requests use all of the memory for bodies; try again in a moment.",
                    status=503,
                    code="bodies_full",
                    headers={"Retry-After": "1"},
                )
            size += more
            self.held += more
            self._of_address[address] += more
            return size

        try:
            yield reserve
        finally:
            self.held -= size
            self._of_address[address] -= size
            if not self._of_address[address]:
                del self._of_address[address]


class LargeBodyQueue:
    """Lets large requests begin in the order of their arrival, after the small ones that arrive with them."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()  # with the latest time, on time.monotonic
        self._quiet = 0  # rounds since the last arrival

    def arrived(self) -> None:
        """Record that a request has arrived."""
        self._quiet = 0

    async def take(self, size: int) -> None:
        """Wait for the turn of a request whose body has so many bytes."""
        if size < LARGE:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._next_round, loop)
        given = loop.create_future()
        self._waiting.append((given, time.monotonic() + LONGEST_WAIT))
        await given

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._waiting[0][0].done():  # cancelled: the client has left
            self._waiting.popleft()
        self._quiet += 1
        if self._waiting and (self._quiet > QUIET_ROUNDS or self._waiting[0][1] <= time.monotonic()):
            self._waiting.popleft()[0].set_result(None)
        if self._waiting:
            loop.call_soon(self._next_round, loop)
