"""One life of an engine process: the program, and the channel that leads to it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import NamedTuple

from service.engine_process.channel import MessageChannel
from service.engine_process.protocol import FromEngine, ToEngine

LEAVE_SECONDS = 5.0  # that a process has to end before it is killed


class LogStyle(NamedTuple):
    """How a process is to write its log lines; see service.logs.configure_logging."""

    level: str = "info"
    style: str = "auto"


class EngineConnection:
    """Starts the program; `start` begins to listen to it."""

    def __init__(
        self,
        log_style: LogStyle,
        receive: Callable[[FromEngine], None],
        ended: Callable[[EngineConnection], None],
        undelivered: Callable[[ToEngine], None],
    ) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "service.engine_process.server.main", str(theirs.fileno()), *log_style]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self.channel: MessageChannel[ToEngine, FromEngine] = MessageChannel(
            ours, receive, lambda: ended(self), undelivered
        )
        self._finalizer = weakref.finalize(self, _see_off, self._process, LEAVE_SECONDS)

    @property
    def process_id(self) -> int:
        """Return the process."""
        return self._process.pid

    def start(self) -> None:
        """Listen to the process; its end is reported from now on."""
        self.channel.start()

    def kill(self) -> None:
        """End the process, which hangs; its end is reported as usual."""
        self._process.kill()

    def see_off(self) -> int | None:
        """End what is left of a process that has hung up, and give its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._finalizer.detach()
        _see_off(self._process, 0.0)
        self.channel.close()
        return self._process.returncode

    def close(self) -> None:
        """Hang up, and wait until the process has ended."""
        self.channel.close()
        self._finalizer()


def _see_off(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process that was asked to end, or kill it."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
