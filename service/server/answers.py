"""Writes the answer to one request: a short one at once, head and body together; a large one in pieces.

Uvicorn writes the head and the body apart. That is two packets and two calls of the system, each of which wakes the
client, and it searches every header for forbidden characters by itself.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE, STATUS_LINE, RequestResponseCycle

PIECE = 65_536  # bytes of an answer that are passed on at once; the next ones wait until these have been sent


class ResponseWriter:
    """An application for one request, whose answer it writes; a head that promises a length waits for the body."""

    __slots__ = ("_app", "_cycle", "_head", "_length")

    def __init__(self, app: ASGIApp, cycle: RequestResponseCycle) -> None:
        self._app, self._cycle = app, cycle
        self._head: Message | None = None  # not written yet
        self._length = b""

    async def __call__(self, scope: Scope, receive: Receive, _send: Send) -> None:
        """Run the application for the request."""
        await self._app(scope, receive, self.send)

    async def send(self, message: Message) -> None:
        """Write a message of the application, or keep it for the next one."""
        if message["type"] == "http.response.start":
            self._length = next((value for name, value in message.get("headers", ()) if name == b"content-length"), b"")
            self._head = message
            if not self._length:  # a stream: the client sees its head at once
                await self._write_head()
            return
        if message["type"] == "http.response.body":
            await self._write_body(message)
        else:
            await self._cycle.send(message)  # type: ignore[arg-type]

    async def _write_body(self, message: Message) -> None:
        body = message.get("body", b"")
        more = message.get("more_body", False)
        if self._head is not None and not more and len(body) <= PIECE and self._write_together(self._head, body):
            return
        await self._write_head()
        if len(body) <= PIECE:
            await self._cycle.send(message)  # type: ignore[arg-type]
            return
        for start in range(0, len(body), PIECE):
            piece = {**message, "body": body[start : start + PIECE], "more_body": more or start + PIECE < len(body)}
            await self._cycle.send(piece)  # type: ignore[arg-type]

    async def _write_head(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            await self._cycle.send(head)  # type: ignore[arg-type]

    def _write_together(self, head: Message, body: bytes) -> bool:
        """Write a whole answer at once if it is a usual one; return whether it was."""
        cycle = self._cycle
        headers = [*cycle.default_headers, *head["headers"]]
        names, values = zip(*headers, strict=True)
        usual = (
            cycle.keep_alive
            and not (cycle.disconnected or cycle.response_started or cycle.flow.write_paused)
            and int(self._length) == len(body)
            and cycle.scope["method"] != "HEAD"
            and b"connection" not in names
            and b"transfer-encoding" not in names
            and HEADER_RE.search(b"".join(names)) is None
            and HEADER_VALUE_RE.search(b"".join(values)) is None
        )
        if not usual:
            return False
        self._head = None
        lines = [b"%b: %b\r\n" % header for header in headers]
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"".join((STATUS_LINE[head["status"]], *lines, b"\r\n", body)))
        cycle.message_event.set()
        cycle.on_response()
        return True
