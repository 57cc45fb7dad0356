"""One end of a connection between two processes: messages go out in order and come in on a thread, nobody waits.

A message is sent by whoever has it, without a change of thread, as long as the other end keeps up; what it does not
take at once is sent by a thread, together with all that has gathered by then.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import BinaryIO, Generic, TypeVar

Incoming = TypeVar("Incoming")
Outgoing = TypeVar("Outgoing")

LAST_WORDS_SECONDS = 1.0  # for what waits when one hangs up
LENGTH = struct.Struct(">Q")  # of a batch of pickled messages, before it
_LOG = logging.getLogger(__name__)


class Wire(Generic[Outgoing, Incoming]):
    """Sends and receives pickled messages; only ever between processes of one program, which trust each other."""

    def __init__(self, end: socket.socket, receive: Callable[[Incoming], None], closed: Callable[[], None]) -> None:
        """Take a connected socket; `receive` gets every message, and `closed` is called once nothing more can come."""
        self._socket = end
        self._receive, self._closed = receive, closed
        self._changed = threading.Condition()
        self._waiting: list[Outgoing] = []  # messages that are in no batch yet
        self._rest = memoryview(b"")  # what the other end has not taken of a batch; the writer's until it is empty
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="wire-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="wire-writer", daemon=True)

    def start(self) -> None:
        """Begin to send and to receive."""
        self._reader.start()
        self._writer.start()

    def send(self, message: Outgoing) -> None:
        """Send a message; nothing happens once the connection is closed, which `closed` has told."""
        with self._changed:
            self._waiting.append(message)
            if self._rest or self._ended:
                return
            self._rest = self._batch()
            with contextlib.suppress(OSError):  # whether it is full or closed, the writer will see
                self._rest = self._rest[self._socket.send(self._rest, socket.MSG_DONTWAIT) :]
            if self._rest:
                self._changed.notify()

    def send_later(self, message: Outgoing) -> None:
        """Send a message together with the next that is sent."""
        with self._changed:
            self._waiting.append(message)

    def close(self) -> None:
        """Send what waits, then hang up; the other end learns of it."""
        with self._changed:
            if not self._rest and self._waiting:
                self._rest = self._batch()
            self._ended = True
            self._changed.notify()
        self._writer.join(LAST_WORDS_SECONDS)
        self._hang_up()
        self._reader.join(LAST_WORDS_SECONDS)
        if not (self._reader.is_alive() or self._writer.is_alive()):
            self._socket.close()

    def _batch(self) -> memoryview:
        """Make one batch of all messages that wait; the lock is held."""
        messages, self._waiting = self._waiting, []
        pickled = ForkingPickler.dumps(messages)
        return memoryview(LENGTH.pack(len(pickled)) + pickled)

    def _write(self) -> None:
        """Send what was not taken at once, and what has gathered meanwhile."""
        with contextlib.suppress(OSError):  # the other end has hung up, which the reader learns, too
            while self._wait_for_rest():
                self._socket.sendall(self._rest)
                with self._changed:
                    self._rest = self._batch() if self._waiting else memoryview(b"")
        self._hang_up()

    def _wait_for_rest(self) -> bool:
        with self._changed:
            while not (self._rest or self._ended):
                self._changed.wait()
            return bool(self._rest)

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as stream:
                while batch := _next_batch(stream):
                    for message in ForkingPickler.loads(batch):
                        self._receive(message)
        except OSError:
            pass  # the other end has hung up
        except Exception:
            _LOG.exception("A message could not be dealt with")
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._hang_up()
        self._closed()

    def _hang_up(self) -> None:
        """End both directions, so that whoever reads at either end wakes up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def _next_batch(stream: BinaryIO) -> bytes:
    """Read one batch; nothing when the other end has hung up, perhaps in the middle of one."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return b""
    [length] = LENGTH.unpack(header)
    batch = stream.read(length)
    return batch if len(batch) == length else b""
