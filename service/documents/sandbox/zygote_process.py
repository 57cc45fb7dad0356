"""The server's end of a zygote and of its children: starts it, notices that it is gone, and asks it for children."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import weakref
from importlib.util import resolve_name

from service.documents.format import MIB
from service.documents.sandbox.messages import Message, receive_async, send_async

_PROGRAM = resolve_name(".zygote", __package__)  # not imported: the server loads no format
PING, FORK = b"p", b"f"
CHECK_SECONDS = 0.5  # between two signs of life
MOST_MISSED, MOST_MISSED_AT_START = 3, 120


class NotBegun(Exception):
    """No child has begun."""


class ZygoteProcess:
    """One run of the program, and its control socket."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        command = [sys.executable, "-m", _PROGRAM, str(theirs.fileno())]
        with theirs:
            # In a group of its own, with its children, which are killed with it.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[theirs.fileno()], process_group=0
            )
        self.process_id = process.pid
        self.alive = True
        self._finalizer = weakref.finalize(self, _end, process, self._control)

    def end(self) -> None:
        """Kill it and its children."""
        self.alive = False
        self._finalizer()

    async def wait(self) -> None:
        """Return when it has ended or is silent; a pause of this process counts as one missed sign at most."""
        missed, most = 0, MOST_MISSED_AT_START
        while missed < most:
            try:
                self._control.send(PING)
                await asyncio.sleep(CHECK_SECONDS)
                if not self._control.recv(4096):
                    return
                missed, most = 0, MOST_MISSED
            except BlockingIOError:
                missed += 1
            except OSError:
                return

    async def child(self) -> Child:
        """Return a new child; raise NotBegun."""
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            try:
                with theirs:
                    socket.send_fds(self._control, [FORK], [theirs.fileno()])
                child = Child(self, *await asyncio.open_unix_connection(sock=ours, limit=MIB))
                undo.pop_all()
                undo.callback(child.close)
                await child.receive(MIB)
            except (OSError, EOFError):
                raise NotBegun from None
            undo.pop_all()
        return child


class Child:
    """The channel to a child."""

    def __init__(self, zygote: ZygoteProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.zygote = zygote
        self._reader, self._writer = reader, writer

    @property
    def is_there(self) -> bool:
        """Return whether nothing is known of its end."""
        return self.zygote.alive and not self._reader.at_eof()

    async def receive(self, most: int) -> Message:
        """Return the next message, of at most so many bytes; raise OSError or EOFError."""
        return await receive_async(self._reader, most)

    async def ask(self, order: Message, most: int) -> Message:
        """Return the answer to an order, of at most so many bytes; raise OSError or EOFError."""
        await send_async(self._writer, order)
        return await self.receive(most)

    def close(self) -> None:
        """End it: its zygote kills it, because the channel is closed."""
        self._writer.transport.abort()


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Kill a process and its group, and wait until it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has not been waited for: the group is its own
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    control.close()
