"""One run of an engine process: the program, and the channel to it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable
from importlib.util import resolve_name
from typing import NamedTuple

from service.engine_process.channel import MessageChannel
from service.engine_process.protocol import FromEngine, ToEngine

_PROGRAM = resolve_name("..server.engine_server", __package__)  # not imported: the two sides do not know each other
LEAVE_SECONDS = 5.0  # time for a process to end before it is killed


class LogStyle(NamedTuple):
    """The level and format of a process' log lines; see service.logs.configure_logging."""

    level: str = "info"
    style: str = "auto"


class EngineConnection:
    """Starts the program, which sees one GPU alone if it is given; `channel.start` begins to receive its messages."""

    def __init__(
        self,
        log_style: LogStyle,
        receive: Callable[[FromEngine], None],
        ended: Callable[[EngineConnection], None],
        gpu: str | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", _PROGRAM, str(theirs.fileno()), *log_style]
        environment = None if gpu is None else {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self.channel: MessageChannel[ToEngine, FromEngine] = MessageChannel(ours, receive, lambda: ended(self))
        self._finalizer = weakref.finalize(self, _reap, self._process, LEAVE_SECONDS)

    @property
    def process_id(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    def kill(self) -> None:
        """Kill a process that hangs; its end is reported as usual."""
        self._process.kill()

    def reap(self) -> int | None:
        """End a process that has closed its channel, and return its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._finalizer.detach()
        _reap(self._process, 0.0)
        self.channel.close()
        return self._process.returncode

    def close(self) -> None:
        """Close the channel, and wait until the process has ended."""
        self.channel.close()
        self._finalizer()


def _reap(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has ended, or kill it after the given time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
