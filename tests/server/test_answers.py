"""What is written to a connection: a short answer at once; all answers are the same bytes as uvicorn's own."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.server.answers import PIECE, ResponseWriter


class FakeTransport:
    """Collects what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        """Collect some bytes."""
        self.writes.append(data)

    def close(self) -> None:
        """Record the end."""
        self.closed = True

    def is_closing(self) -> bool:
        """Return whether it has ended."""
        return self.closed

    def resume_reading(self) -> None:
        """Do nothing."""


def written(app: ASGIApp, method: str = "POST", *, keep_alive: bool = True, ours: bool = True) -> FakeTransport:
    """Return what an application's answer writes."""
    transport: Any = FakeTransport()
    scope: Any = {"type": "http", "method": method, "path": "/", "headers": []}
    log = logging.getLogger("test")

    async def run() -> None:
        cycle = RequestResponseCycle(
            *(scope, transport, FlowControl(transport), log, log, False, [(b"date", b"today")], asyncio.Event()),
            *(False, keep_alive, lambda: None),
        )
        await cycle.run_asgi(ResponseWriter(app, cycle) if ours else app)  # type: ignore[arg-type]

    asyncio.run(run())
    assert isinstance(transport, FakeTransport)
    return transport


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    """Promise two bytes and fail."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    raise ValueError


def streaming() -> StreamingResponse:
    """Return an answer in two parts."""
    return StreamingResponse(iter([b"one", b"two"]))


def test_a_short_answer_is_one_write_with_the_bytes_of_uvicorn() -> None:
    app = Response("Voilà", 201, {"x-request-id": "1"})
    assert len(written(app).writes) == 1
    assert written(app).writes == [b"".join(written(app, ours=False).writes)]


@pytest.mark.parametrize(
    ("app", "method", "keep_alive"),
    [
        (Response("Voilà"), "HEAD", True),
        (Response("Voilà"), "POST", False),
        (Response("Voilà", headers={"connection": "close"}), "POST", True),
        (Response(status_code=204), "OPTIONS", True),
        (Response("x" * (2 * PIECE + 1)), "POST", True),
        (streaming(), "POST", True),
    ],
)
def test_every_other_answer_has_the_bytes_of_uvicorn_too(app: ASGIApp, method: str, keep_alive: bool) -> None:
    ours, theirs = (
        written(streaming() if isinstance(app, StreamingResponse) else app, method, keep_alive=keep_alive, ours=ours)
        for ours in (True, False)
    )
    assert b"".join(ours.writes) == b"".join(theirs.writes)
    assert ours.closed == theirs.closed


def test_a_large_answer_is_written_in_pieces() -> None:
    assert [len(part) for part in written(Response("x" * (2 * PIECE + 1))).writes[1:]] == [PIECE, PIECE, 1]


def test_a_failure_after_the_head_is_answered_as_one(caplog: pytest.LogCaptureFixture) -> None:
    assert written(broken).writes[0].startswith(b"HTTP/1.1 500 ")
    assert "Exception in ASGI application" in caplog.text


def test_a_header_that_would_end_its_line_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def injected(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"0"), (b"x", b"1\r\ny: 2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})

    assert b"y: 2" not in b"".join(written(injected).writes)
    assert "Invalid HTTP header value" in caplog.text
