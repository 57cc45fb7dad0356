"""HTTP/1.1 over one connection, with limits that middleware could only apply too late.

Uvicorn's protocol has no limit on what arrives before a request's head is complete, no deadline for that head, none for
a client that does not read its answer, and no cap on connections or on requests that wait for an earlier answer. It
does not look at the Host header. This subclass of it adds them.
"""

import asyncio
import re
from collections import deque
from typing import Any

import httptools
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.access.connections import ConnectionPlace
from service.api.context import CONNECTION, ClientConnection
from service.server.answers import ResponseWriter
from service.server.connection_limits import ConnectionPolicy

FEED = 16_384  # bytes of a body that are parsed at once, and so the most that is parsed beyond a limit
FEED_HEADS = 1024  # the same of heads: a few dozen requests at the most
PIPELINE = 32  # requests on one connection that wait for an earlier answer; the next ones wait unread
LINGER_SECONDS = 2.0  # time in which a refused client's bytes are discarded, so that it can read the answer
FRAME = 4  # bytes of a header line in addition to its name and value
HOST = re.compile(rb"[A-Za-z0-9._~%:\[\]-]*")  # name or address, and port
HOSTS = {"1.0": (0, 1), "1.1": (1,)}  # the accepted versions, and how many Host headers each has (RFC 9112, 3.2)


class _Refused(Exception):
    """Raised inside the parser's callbacks to stop it."""


class Flow(FlowControl):
    """Uvicorn's control of a connection, which reads nothing while requests wait unread."""

    held = False

    def resume_reading(self) -> None:
        """Read again unless requests wait."""
        if not self.held:
            super().resume_reading()


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits; `uvicorn.Config(http=functools.partial(LimitedProtocol, policy))`."""

    def __init__(self, policy: ConnectionPolicy, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._policy = policy
        self._limits = policy.limits
        self._place: ConnectionPlace | None = None
        self._in_head = False  # a head has begun and is not complete
        self._in_body = False  # a head is complete and its request is not
        self._unread = b""  # what is parsed after the next answer
        self._deaf = False  # bytes that still arrive are discarded
        self._head_bytes = self._header_count = 0
        self._unseen = 0  # bytes fed since the parser last reported a complete element
        self._refusal = "invalid_http"  # what is answered if the parser stops
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None
        self._clients: deque[ClientConnection] = deque()  # of the requests without a complete answer, in their order

    # The connection itself.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or refuse the connection if there is none."""
        super().connection_made(transport)
        self.flow: Flow = Flow(transport)
        place = self._policy.connections.enter(self.client[0] if self.client else None, transport.abort)
        if isinstance(place, ConnectionPlace):
            self._place = place
            self._await_head()
            return
        self._deaf = True
        self._policy.closed(place)
        transport.write(self._limits.refusal(place))
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the place."""
        for timer in (self._head_timer, self._send_timer, self._end_timer):
            if timer is not None:
                timer.cancel()
        if self._place is not None:
            self._policy.connections.leave(self._place)
        super().connection_lost(exc)
        self._lose_client()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        if not self.transport.is_closing():
            self._close()

    def _close(self) -> None:
        """Close when everything is sent, at the latest after the time that a client has to read it."""
        self.transport.close()
        self._abort_later(self._limits.send_seconds)

    def _abort_later(self, seconds: float) -> None:
        if self._end_timer is None:
            self._end_timer = self.loop.call_later(seconds, self.transport.abort)

    # Incoming data.

    def data_received(self, data: bytes) -> None:
        """Parse the data, or keep it if too many requests wait for their answers."""
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        if self._unread:
            self._hold(self._unread + data)
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        view, at = memoryview(data), 0
        while at < len(data):
            if len(self.pipeline) >= PIPELINE:
                self._hold(data[at:])
                return
            piece = view[at : at + (FEED if self._in_body else FEED_HEADS)]
            at += len(piece)
            self._feed(piece)
            if self._deaf or self.transport.is_closing():
                return
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            # This also applies while the rest of a refused body, or only line ends, arrive.
            self._await_head()

    def _hold(self, data: bytes) -> None:
        """Keep data until there is room for requests; read nothing more meanwhile."""
        self._unread = data
        self.flow.held = True
        self.flow.pause_reading()

    def _parse_unread(self) -> None:
        """Parse what was kept, as there is room for another request."""
        data, self._unread = self._unread, b""
        self.flow.held = False
        self._parse(data)
        if not self.flow.held:
            self.flow.resume_reading()

    def _feed(self, piece: memoryview | bytes) -> None:
        self._unseen += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade()
            self._feed(piece[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(self._refusal)
            return
        if self._unseen > self._limits.headers:
            self._refuse("headers_too_large")

    def _decline_upgrade(self) -> None:
        """Read the request as if it had not requested another protocol, because the parser would not read its body."""
        lines = [b"%b %b HTTP/1.1" % (self.parser.get_method(), self.url)]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    def on_message_begin(self) -> None:
        """Start to measure a head."""
        super().on_message_begin()
        self._in_head, self._in_body = True, False
        self._head_bytes = self._header_count = self._unseen = 0

    def on_url(self, url: bytes) -> None:
        """Handle a part of the URL."""
        self._unseen = 0
        if len(self.url) + len(url) > self._limits.url:
            self._stop("url_too_long")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a header; headers after a body (trailers) are counted and then dropped."""
        self._unseen = 0
        self._header_count += 1
        self._head_bytes += len(name) + len(value) + FRAME
        if self._header_count > self._limits.header_count or self._head_bytes > self._limits.headers:
            self._stop("headers_too_large")
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start to answer."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._stop("invalid_http")
            return  # the parser reads the whole head again, without the upgrade
        self._in_head, self._in_body = False, True
        self._unseen = 0
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) not in HOSTS.get(self.parser.get_http_version(), ()) or not all(map(HOST.fullmatch, hosts)):
            self._stop("invalid_http")
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if self._place is not None:
            self._policy.connections.busy(self._place)
        client = ClientConnection()
        self.scope[CONNECTION] = client  # type: ignore[literal-required]
        self._clients.append(client)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Handle a part of a body."""
        self._unseen = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle the end of a body."""
        self._unseen = 0
        self._in_body = False
        if not self.parser.should_upgrade():
            if self._clients:
                self._clients[-1].arrived = True
            super().on_message_complete()

    def _stop(self, code: str) -> None:
        self._refusal = code
        raise _Refused

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self._in_head:
            self._refuse("head_timeout")
        elif not self.transport.is_closing():
            self._policy.closed("head_timeout")
            self._close()

    def _refuse(self, code: str) -> None:
        """Answer, and discard what the client still sends, so that it can read the answer."""
        if self._deaf:
            return
        self._deaf = True
        self._policy.closed(code)
        running = self.cycle is not None and not self.cycle.response_complete
        if running:
            # The application is notified that the client is gone.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._lose_client()
            if self.pipeline or self._in_head or self.cycle.response_started:
                # The client would read this as (a part of) the answer to an earlier request.
                self.transport.abort()
                return
        self.transport.write(self._limits.refusal(code))
        self.transport.write_eof()
        self._abort_later(LINGER_SECONDS)

    # Outgoing data.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        super()._start_asgi_task(cycle, ResponseWriter(app, cycle))  # type: ignore[arg-type]

    def pause_writing(self) -> None:
        """Limit the time that the client has to read the data that was sent."""
        super().pause_writing()
        if self._send_timer is None:
            self._send_timer = self.loop.call_later(self._limits.send_seconds, self._read_timed_out)

    def resume_writing(self) -> None:
        """Stop the timer, because the client reads."""
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
        super().resume_writing()

    def _lose_client(self) -> None:
        """End the work for the request whose client is gone; those behind it on the connection have not begun."""
        if self._clients:
            self._clients[0].lose()

    def _read_timed_out(self) -> None:
        self._policy.closed("unread")
        self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the end of this connection."""
        self._clients.popleft()
        super().on_response_complete()
        if self._unread and not self.transport.is_closing():
            self._parse_unread()
        if self.transport.is_closing():
            self._abort_later(self._limits.send_seconds)
        elif self._place is not None and self.cycle.response_complete:
            self._policy.connections.idle(self._place)
            if self._in_head and self._head_timer is None:
                self._await_head()
