"""One run of an engine process: the program, and the streams of asyncio to and from it."""

import asyncio
import contextlib
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.util import resolve_name
from typing import NamedTuple

from service.engine_process.protocol import LENGTH, FromEngine

_PROGRAM = resolve_name("..server.engine_server", __package__)  # not imported: the two sides do not know each other
LEAVE_SECONDS = 5.0  # time for a process to end before it is killed
MOST_UNSENT = 8 * 2**20  # bytes; beyond, the engine process gets no more work


class LogStyle(NamedTuple):
    """The level and format of a process' log lines; see service.logs.configure_logging."""

    level: str = "info"
    style: str = "auto"


class EngineConnection:
    """Starts the program, which sees one GPU alone if it is given."""

    def __init__(self, log_style: LogStyle, gpu: str | None = None) -> None:
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", _PROGRAM, str(theirs.fileno()), *log_style]
        environment = None if gpu is None else {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self._writer: asyncio.StreamWriter | None = None
        self._early: list[bytes] = []  # messages that were sent before the streams are open

    @property
    def process_id(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    @property
    def full(self) -> bool:
        """Return whether so much is unsent that no more work should be sent."""
        return self._writer is not None and self._writer.transport.get_write_buffer_size() > MOST_UNSENT

    def send(self, message: bytes) -> None:
        """Send a pickled message from the event loop, which never waits; what a round of it sends goes together."""
        if self._writer is None:
            self._early.append(message)
        elif not self._writer.transport.is_closing():  # the process has ended, which will be noticed
            self._writer.write(message)

    async def messages(self) -> AsyncIterator[list[FromEngine]]:
        """Yield what the process sends together, until it ends."""
        reader, self._writer = await asyncio.open_connection(sock=self._socket)
        self._writer.writelines(self._early)
        try:
            while True:
                [length] = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                yield pickle.loads(await reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            pass  # the process has closed its end
        finally:
            self._writer.close()

    def kill(self) -> None:
        """Kill a process that hangs; its end is noticed as usual."""
        self._process.kill()

    def close(self, seconds: float = LEAVE_SECONDS) -> int:
        """Hang up, wait until the process has ended, kill it after the given time, and return its exit code."""
        with contextlib.suppress(OSError):  # it is closed
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
