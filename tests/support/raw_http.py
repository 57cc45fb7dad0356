"""HTTP as bytes on a connection, for clients that no library would be."""

import contextlib
import re
import socket
import time

from tests.support.polling import PATIENCE
from tests.support.server import ServerProcess

SLACK = PATIENCE  # seconds that a busy machine may be late
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
START = HEALTH[:-2]
JSON_HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def connect(server: ServerProcess, address: str = "127.0.0.1") -> socket.socket:
    """Return a connection from an address of this machine, whose operations take a few seconds at most."""
    return socket.create_connection(server.address, timeout=SLACK, source_address=(address, 0))


def read_all(connection: socket.socket) -> bytes:
    """Return the bytes that arrive until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    return received


def read_answer(connection: socket.socket, pause: float = 0.0, until: float = 0.0) -> bytes:
    """Return one answer, or what comes before the server closes or waits; read with pauses until a time."""
    received = b""
    with contextlib.suppress(TimeoutError):
        while part := connection.recv(65536):
            received += part
            head, _, body = received.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if length and len(body) >= int(length[1]):
                break
            if time.monotonic() < until:
                time.sleep(pause)
    return received
