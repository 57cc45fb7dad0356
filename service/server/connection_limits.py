"""The limits of connections, and the answers to connections beyond them, before any application runs."""

import http
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from service.access.connections import Connections
from service.api.errors import body_of


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is sent before any application runs."""

    status: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one connection; sizes in bytes, times in seconds."""

    url: int = 32_768
    headers: int = 65_536  # all of a request together
    header_count: int = 128
    head_seconds: float = 15.0  # until the head of a request is complete, also on a new connection
    send_seconds: float = 30.0  # until the client has read each 64 KiB of an answer

    @property
    def long_url(self) -> Refusal:
        """Return the answer to a URL beyond the limit."""
        message = f"The URL is larger than {self.url} bytes; send the text in the body of a POST request."
        return Refusal(414, "url_too_long", message)

    @property
    def large_headers(self) -> Refusal:
        """Return the answer to headers beyond a limit."""
        message = f"The headers are more than {self.header_count}, or larger than {self.headers} bytes; send fewer."
        return Refusal(431, "headers_too_large", message)

    @property
    def late_head(self) -> Refusal:
        """Return the answer to a head that is not complete in time."""
        message = f"The head of the request did not arrive within {self.head_seconds:g} seconds; send it faster."
        return Refusal(408, "head_timeout", message)


MALFORMED = Refusal(400, "invalid_http", "This is not a valid HTTP/1.1 request.")
FULL = {
    "too_many_connections": Refusal(503, "too_many_connections", "The server is full; try again soon."),
    "too_many_from_address": Refusal(
        429, "too_many_from_address", "Your address has too many open connections; reuse them."
    ),
}


@dataclass(slots=True)
class ConnectionPolicy:
    """The shared state of all connections of a server; `closed` is called with the code of each that is cut off."""

    connections: Connections
    closed: Callable[[str], None]
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)


def rendered(refusal: Refusal) -> bytes:
    """Return a complete HTTP/1.1 answer; the connection is closed after it."""
    request_id = uuid.uuid4().hex
    body = json.dumps(body_of(refusal.message, refusal.code, request_id)).encode()
    lines = [
        f"HTTP/1.1 {refusal.status} {http.HTTPStatus(refusal.status).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"x-request-id: {request_id}",
        *(["retry-after: 1"] if refusal.status in (429, 503) else []),
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
