"""A real redis-server for a test, on a separate socket."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.polling import wait_until
from tests.support.server import free_port

needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")


class RedisProcess:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.uri = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait until it answers."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        wait_until(self._answers)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
        return False

    def stop(self) -> None:
        """Stop and forget everything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def running_redis(folder: Path) -> Iterator[RedisProcess]:
    """Yield a running server."""
    server = RedisProcess(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
