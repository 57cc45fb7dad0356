"""One end of a connection between two processes: messages go out in order, without blocking, and come in on a thread.

The sending thread sends a message itself, as long as the other end keeps up; what it does not
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
from typing import Any, BinaryIO, Generic, TypeVar

Incoming = TypeVar("Incoming")
Outgoing = TypeVar("Outgoing")

LAST_WORDS_SECONDS = 1.0  # for what waits when one hangs up
LOOK_SECONDS = 1.0  # at most between two looks for something to send
MOST_WAITING = 20_000  # messages; an engine that takes nothing more gets no more work
LENGTH = struct.Struct(">Q")  # of a batch of pickled messages, before it
_LOG = logging.getLogger(__name__)


class MessageChannel(Generic[Outgoing, Incoming]):
    """Sends and receives pickled messages; only ever between processes of one program, which trust each other."""

    def __init__(
        self,
        end: socket.socket,
        receive: Callable[[Incoming], None],
        closed: Callable[[], None],
        undelivered: Callable[[Outgoing], None] = lambda _message: None,
    ) -> None:
        """Take a connected socket.

        `receive` gets every message, `closed` is called once nothing more can come, and `undelivered` gets every
        message that could not be pickled.
        """
        self._socket = end
        self._receive, self._closed, self._undelivered = receive, closed, undelivered
        self._changed = threading.Condition()
        self._waiting: list[Outgoing] = []  # messages that are in no batch yet
        self._rest = memoryview(b"")  # what the other end has not taken of a batch; the writer's until it is empty
        self._batching = self._late = False  # a batch is being made; a message came from inside of that
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="channel-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="channel-writer", daemon=True)

    @property
    def full(self) -> bool:
        """Return whether the other end is so far behind that no more work should be sent to it."""
        return len(self._waiting) >= MOST_WAITING

    def start(self) -> None:
        """Begin to send and to receive."""
        self._reader.start()
        self._writer.start()

    def send(self, message: Outgoing) -> None:
        """Send a message; once the connection is closed, nothing happens."""
        failed: list[Outgoing] = []
        with self._changed:
            self._waiting.append(message)
            if self._batching:
                # Sent by a finaliser that runs in this very thread, while it pickles: the writer takes it.
                self._late = True
                self._changed.notify()
                return
            if self._rest or self._ended:
                return
            self._rest, failed = self._batch()
            with contextlib.suppress(OSError):  # whether it is full or closed, the writer will see
                self._rest = self._rest[self._socket.send(self._rest, socket.MSG_DONTWAIT) :]
            if self._rest or self._late:
                self._changed.notify()
        self._tell(failed)

    def send_later(self, message: Outgoing) -> None:
        """Send a message together with the next that is sent."""
        with self._changed:
            self._waiting.append(message)

    def close(self) -> None:
        """Send what waits, then hang up; the other end learns of it."""
        with self._changed:
            if not self._rest and self._waiting:
                self._rest, _ = self._batch()
            self._ended = True
            self._changed.notify()
        self._writer.join(LAST_WORDS_SECONDS)
        self._hang_up()
        self._reader.join(LAST_WORDS_SECONDS)
        if not (self._reader.is_alive() or self._writer.is_alive()):
            self._socket.close()

    def _batch(self) -> tuple[memoryview, list[Outgoing]]:
        """Return one batch of all messages that wait, and the messages that cannot be sent.

        One message that cannot be pickled must not take the others with it: they are another caller's.
        """
        with self._changed:
            messages, self._waiting = self._waiting, []
            self._batching, self._late = True, False
            try:
                return memoryview(_framed(messages)), []
            except Exception:
                _LOG.exception("Messages could not be pickled together; they are sent one by one")
                return self._one_by_one(messages)
            finally:
                self._batching = False

    def _one_by_one(self, messages: list[Outgoing]) -> tuple[memoryview, list[Outgoing]]:
        frames = bytearray()
        failed: list[Outgoing] = []
        for message in messages:
            try:
                frames += _framed([message])
            except Exception:
                failed.append(message)
        return memoryview(bytes(frames)), failed

    def _tell(self, failed: list[Outgoing]) -> None:
        for message in failed:
            _LOG.error("A message could not be sent (%s)", type(message).__name__)
            self._undelivered(message)

    def _write(self) -> None:
        """Send what was not taken at once, and what has gathered meanwhile."""
        with contextlib.suppress(OSError):  # the other end has hung up, which the reader learns, too
            while self._wait_for_rest():
                self._socket.sendall(self._rest)
                failed: list[Outgoing] = []
                with self._changed:
                    self._rest = memoryview(b"")
                    if self._waiting:
                        self._rest, failed = self._batch()
                self._tell(failed)
        self._hang_up()

    def _wait_for_rest(self) -> bool:
        failed: list[Outgoing] = []
        with self._changed:
            while not (self._rest or (self._late and self._waiting) or self._ended):
                self._changed.wait(LOOK_SECONDS)
            if self._waiting and not self._rest and self._late:
                self._rest, failed = self._batch()
            going_on = bool(self._rest) or not self._ended
        self._tell(failed)
        return going_on

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as stream:
                while batch := _next_batch(stream):
                    for message in ForkingPickler.loads(batch):
                        self._deal_with(message)
        except OSError:
            pass  # the other end has hung up
        except Exception:
            _LOG.exception("A message from the other process could not be read")
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._hang_up()
        self._closed()

    def _deal_with(self, message: Incoming) -> None:
        """Hand a message on; what goes wrong with one is no reason to lose all that follow."""
        try:
            self._receive(message)
        except Exception:
            _LOG.exception("A message could not be handled (%s)", type(message).__name__)

    def _hang_up(self) -> None:
        """End both directions, so that reading threads wake up at both ends."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def _framed(messages: list[Any]) -> bytes:
    """Pickle messages, with the length in front."""
    pickled = ForkingPickler.dumps(messages)
    return LENGTH.pack(len(pickled)) + pickled


def _next_batch(stream: BinaryIO) -> bytes:
    """Read one batch; nothing when the other end has hung up, perhaps in the middle of one."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return b""
    [length] = LENGTH.unpack(header)
    batch = stream.read(length)
    return batch if len(batch) == length else b""
