"""HTTP/1.1 over one connection, with bounds that middleware comes too late for.

Uvicorn's protocol has no limit on what arrives before a request's head is complete, no deadline for that head, none for
a client that does not read its answer, and no cap on connections. This subclass of it adds them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.access.connections import Place
from service.server.connection_limits import FULL, MALFORMED, Door, Refusal, rendered

PIECE = 65_536  # bytes of an answer that are handed over at once; the next ones wait until these are on their way
FEED = 16_384  # bytes that are parsed at once, which is how far the parser may get beyond a limit
PIPELINE = 32  # requests that may wait on one connection for the answer to the one before
LINGER_SECONDS = 2.0  # for which a refused client's bytes are thrown away, so that it gets to read why
FRAME = 4  # bytes of a header line besides its name and value


class _Refused(Exception):
    """Raised inside the parser's callbacks to stop it."""


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol within bounds; `uvicorn.Config(http=functools.partial(BoundedProtocol, door))`."""

    def __init__(self, door: Door, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._door = door
        self._bounds = door.bounds
        self._place: Place | None = None
        self._in_head = False  # some of a head is there, but not all
        self._deaf = False  # what still arrives is thrown away
        self._head_bytes = self._header_count = 0
        self._unseen = 0  # bytes fed since the parser last reported anything whole
        self._refusal: Refusal | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None

    # The connection's life.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or say that there is none."""
        super().connection_made(transport)
        place = self._door.connections.enter(self.client[0] if self.client else None, transport.abort)
        if isinstance(place, Place):
            self._place = place
            self._await_head()
            return
        self._deaf = True
        self._door.closed(place)
        transport.write(rendered(FULL[place]))
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        for timer in (self._head_timer, self._send_timer, self._end_timer):
            if timer is not None:
                timer.cancel()
        if self._place is not None:
            self._door.connections.leave(self._place)
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nothing is asked on any more."""
        if not self.transport.is_closing():
            self._close()

    def _close(self) -> None:
        """Close when everything is sent, and at the latest after the time that a client may take to read it."""
        self.transport.close()
        self._abort_later(self._bounds.send_seconds)

    def _abort_later(self, seconds: float) -> None:
        if self._end_timer is None:
            self._end_timer = self.loop.call_later(seconds, self.transport.abort)

    # What arrives.

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, piece by piece."""
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        view = memoryview(data)
        for start in range(0, len(data), FEED):
            self._feed(view[start : start + FEED])
            if self._deaf or self.transport.is_closing():
                return
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            # Also while the rest of a refused body, or nothing but line ends, comes in.
            self._await_head()

    def _feed(self, piece: memoryview | bytes) -> None:
        self._unseen += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade()
            self._feed(piece[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(self._refusal or MALFORMED)
            return
        if self._unseen > self._bounds.headers:
            self._refuse(self._bounds.large_headers)

    def _decline_upgrade(self) -> None:
        """Read the request as if it had not asked for another protocol; the parser would not read its body."""
        lines = [b"%b %b HTTP/1.1" % (self.parser.get_method(), self.url)]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = self._header_count = self._unseen = 0

    def on_url(self, url: bytes) -> None:
        """Take more of the URL."""
        self._unseen = 0
        if len(self.url) + len(url) > self._bounds.url:
            self._stop(self._bounds.long_url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body (trailers) count and are then dropped."""
        self._unseen = 0
        self._header_count += 1
        self._head_bytes += len(name) + len(value) + FRAME
        if self._header_count > self._bounds.header_count or self._head_bytes > self._bounds.headers:
            self._stop(self._bounds.large_headers)
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start to answer."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._stop(MALFORMED)
            return  # the whole head comes again, without that
        self._in_head = False
        self._unseen = 0
        if len(self.pipeline) >= PIPELINE:
            self._stop(MALFORMED)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if self._place is not None:
            self._door.connections.busy(self._place)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take more of a body."""
        self._unseen = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a body."""
        self._unseen = 0
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _stop(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise _Refused

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._bounds.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self._in_head:
            self._refuse(self._bounds.late_head)
        elif not self.transport.is_closing():
            self._door.closed("head_timeout")
            self._close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer, and let the client read the answer while what it still sends is thrown away."""
        if self._deaf:
            return
        self._deaf = True
        self._door.closed(refusal.code)
        running = self.cycle is not None and not self.cycle.response_complete
        if running:
            # The application learns that the client is gone.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.pipeline or self._in_head or self.cycle.response_started:
                # This would be read as the answer, or a part of the answer, to an earlier request.
                self.transport.abort()
                return
        self.transport.write(rendered(refusal))
        self.transport.write_eof()
        self._abort_later(LINGER_SECONDS)

    # What leaves.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        super()._start_asgi_task(cycle, in_pieces(app))  # type: ignore[arg-type]

    def pause_writing(self) -> None:
        """Give the client time to read what is on its way."""
        super().pause_writing()
        if self._send_timer is None:
            self._send_timer = self.loop.call_later(self._bounds.send_seconds, self._nobody_reads)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
        super().resume_writing()

    def _nobody_reads(self) -> None:
        self._door.closed("unread")
        self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the end of this connection."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_later(self._bounds.send_seconds)
        elif self._place is not None and self.cycle.response_complete:
            self._door.connections.idle(self._place)
            if self._in_head and self._head_timer is None:
                self._await_head()


def in_pieces(app: ASGIApp) -> ASGIApp:
    """Return an application that sends large bodies in pieces, so that only one is buffered for a slow client."""

    async def cut_up(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"") if message["type"] == "http.response.body" else b""
            if len(body) <= PIECE:
                await send(message)
                return
            for start in range(0, len(body), PIECE):
                more = start + PIECE < len(body) or message.get("more_body", False)
                await send({**message, "body": body[start : start + PIECE], "more_body": more})

        await app(scope, receive, send_pieces)

    return cut_up
