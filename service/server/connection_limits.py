"""The limits of connections, and the answers to connections beyond them, before any application runs."""

import http
import json
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from service.access.connections import Connections
from service.api.errors import body_of

# By the code of the error: the status, and the message with the names of limits.
REFUSALS = {
    "invalid_http": (400, "This is not a valid HTTP/1.1 request, with exactly one Host header."),
    "head_timeout": (408, "The head of the request did not arrive within {head_seconds:g} seconds; send it faster."),
    "url_too_long": (414, "The URL is larger than {url} bytes; send the text in the body of a POST request."),
    "too_many_from_address": (429, "Your address has too many open connections; reuse them."),
    "headers_too_large": (
        431, "The headers are more than {header_count}, or larger than {headers} bytes; send fewer."
    ),
    "too_many_connections": (503, "The server is full; try again soon."),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one connection; sizes in bytes, times in seconds."""

    url: int = 32_768
    headers: int = 65_536  # all of a request together
    header_count: int = 128
    head_seconds: float = 15.0  # until the head of a request is complete, also on a new connection
    send_seconds: float = 30.0  # until the client has read each 64 KiB of an answer

    def refusal(self, code: str) -> bytes:
        """Return a complete HTTP/1.1 answer; the connection is closed after it."""
        status, message = REFUSALS[code]
        request_id = uuid.uuid4().hex
        body = json.dumps(body_of(message.format(**asdict(self)), code, request_id)).encode()
        lines = [
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            f"x-request-id: {request_id}",
            *(["retry-after: 1"] if status in (429, 503) else []),
            "connection: close",
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@dataclass(slots=True)
class ConnectionPolicy:
    """The shared state of all connections of a server; `closed` is called with the code of each that is cut off."""

    connections: Connections
    closed: Callable[[str], None]
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
