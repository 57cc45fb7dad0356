"""One end of a connection between two processes: sends messages in order without blocking, and receives them.

The sending thread sends a message itself, as long as the other end keeps up; what it does not
take at once is sent by a thread, together with all that has gathered by then. Messages are received in a thread, or on
an event loop, which saves a switch between threads for every message.
"""

import asyncio
import contextlib
import logging
import pickle
import select
import socket
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from service.engine_process.framing import Batches, framed

Incoming = TypeVar("Incoming")
Outgoing = TypeVar("Outgoing")

LAST_WORDS_SECONDS = 1.0  # time to send the waiting messages when the channel is closed
LOOK_SECONDS = 1.0  # most time between two checks for messages to send
MOST_WAITING = 20_000  # messages; beyond, the engine process gets no more work
CHUNK = 2**16  # bytes that are received at once; the allocator asks the system for larger blocks every time
_LOG = logging.getLogger(__name__)


class MessageChannel(Generic[Outgoing, Incoming]):
    """Sends and receives pickled messages, only between processes of one program, which trust each other."""

    def __init__(
        self,
        end: socket.socket,
        receive: Callable[[Incoming], None],
        closed: Callable[[], None],
        undelivered: Callable[[Outgoing], None] = lambda _message: None,
        combine: Callable[[list[Outgoing]], list[Outgoing]] = lambda messages: messages,
    ) -> None:
        """Take a connected socket.

        `receive` gets every message, `closed` is called in a thread after the last message, and `undelivered` gets
        every message that could not be pickled. `combine` may make fewer messages of those that are sent together.
        """
        self._socket = end
        self._receive, self._closed, self._undelivered = receive, closed, undelivered
        self._combine = combine
        self._changed = threading.Condition()
        self._waiting: list[Outgoing] = []  # messages that are not in a batch yet
        self._rest = memoryview(b"")  # the unsent rest of a batch; it belongs to the writer until it is empty
        self._batching = self._late = False  # a batch is being pickled; a message was sent during that
        self._ended = self._soon = False  # closed; the event loop will send what waits
        self._batches = Batches()  # of received bytes
        self._loop: asyncio.AbstractEventLoop | None = None  # receives, or will as soon as the thread lets it
        self._over = threading.Event()  # the other end is closed, and `closed` has been called
        self._reader = threading.Thread(target=self._read, name="channel-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="channel-writer", daemon=True)

    @property
    def full(self) -> bool:
        """Return whether so many messages wait that no more work should be sent."""
        return len(self._waiting) >= MOST_WAITING

    @property
    def has_unread(self) -> bool:
        """Return whether something has arrived that nobody has looked at yet: a busy event loop is late to read."""
        look = select.poll()
        try:
            look.register(self._socket, select.POLLIN)
            return bool(look.poll(0))
        except (OSError, ValueError):  # it is closed
            return False

    def start(self) -> None:
        """Start to send and to receive."""
        self._writer.start()
        if not self._receives_on_loop():
            self._reader.start()

    def receive_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Receive on an event loop from now on, or from the next message on; the loop must run until the end."""
        self._loop = loop

    def send(self, message: Outgoing) -> None:
        """Send a message; after the connection is closed, this has no effect."""
        failed: list[Outgoing] = []
        with self._changed:
            self._waiting.append(message)
            if self._batching:
                # A finaliser sent this in the same thread, during pickling: the writer sends it.
                self._late = True
                self._changed.notify()
                return
            if self._rest or self._ended:
                return
            self._rest, failed = self._batch()
            with contextlib.suppress(OSError):  # full or closed: the writer handles both
                self._rest = self._rest[self._socket.send(self._rest, socket.MSG_DONTWAIT) :]
            if self._rest or self._late:
                self._changed.notify()
        self._report_undelivered(failed)

    def send_soon(self, message: Outgoing) -> None:
        """Send a message together with all others of this round of the event loop; without a loop, at once.

        Each batch wakes a thread of the other end, which takes the interpreter's lock from its model.
        """
        loop = self._loop
        if loop is None or asyncio._get_running_loop() is not loop:
            self.send(message)
            return
        self.send_later(message)
        if not self._soon:
            self._soon = True
            loop.call_soon(self._send_waiting)

    def _send_waiting(self) -> None:
        self._soon = False
        with self._changed:
            message = self._waiting.pop() if self._waiting else None
        if message is not None:
            self.send(message)

    def send_later(self, message: Outgoing) -> None:
        """Send a message together with the next one."""
        with self._changed:
            self._waiting.append(message)

    def close(self) -> None:
        """Send the waiting messages, then close the connection; the other end is notified."""
        with self._changed:
            if not self._rest and self._waiting:
                self._rest, _ = self._batch()
            self._ended = True
            self._changed.notify()
        self._writer.join(LAST_WORDS_SECONDS)
        self._hang_up()
        received = (self._loop is not None and self._loop.is_closed()) or self._over.wait(LAST_WORDS_SECONDS)
        if received and not self._writer.is_alive():
            self._socket.close()

    def _batch(self) -> tuple[memoryview, list[Outgoing]]:
        """Return one batch of all waiting messages, and the messages that cannot be sent.

        A message that cannot be pickled must not affect the others, which belong to other callers.
        """
        with self._changed:
            messages, self._waiting = self._waiting, []
            self._batching, self._late = True, False
            try:
                messages = self._combine(messages)
                return memoryview(framed(messages)), []
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
                frames += framed([message])
            except Exception:
                failed.append(message)
        return memoryview(bytes(frames)), failed

    def _report_undelivered(self, failed: list[Outgoing]) -> None:
        for message in failed:
            _LOG.error("A message could not be sent (%s)", type(message).__name__)
            self._undelivered(message)

    def _write(self) -> None:
        """Send the rest of a batch, and the messages that have come in meanwhile."""
        with contextlib.suppress(OSError):  # the other end is closed, which the reader notices too
            while self._wait_for_rest():
                self._send_rest()
                failed: list[Outgoing] = []
                with self._changed:
                    self._rest = memoryview(b"")
                    if self._waiting:
                        self._rest, failed = self._batch()
                self._report_undelivered(failed)
        self._hang_up()

    def _send_rest(self) -> None:
        """Send the rest of a batch, however slowly the other end reads.

        `sendall` would fail where the other end is slow: an event loop of libuv makes the sockets that it reads
        non-blocking without Python's knowledge.
        """
        room = select.poll()
        room.register(self._socket, select.POLLOUT)
        rest = self._rest
        while rest:
            with contextlib.suppress(BlockingIOError):
                rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]
            if rest:
                room.poll()

    def _wait_for_rest(self) -> bool:
        failed: list[Outgoing] = []
        with self._changed:
            while not (self._rest or (self._late and self._waiting) or self._ended):
                self._changed.wait(LOOK_SECONDS)
            if self._waiting and not self._rest and self._late:
                self._rest, failed = self._batch()
            going_on = bool(self._rest) or not self._ended
        self._report_undelivered(failed)
        return going_on

    def _read(self) -> None:
        """Receive in a thread, until an event loop does, or until the other end is closed."""
        try:
            while data := self._socket.recv(CHUNK):
                self._take(data)
                if self._receives_on_loop():
                    return
        except OSError:
            pass  # the other end is closed
        self._end()

    def _receives_on_loop(self) -> bool:
        """Let the event loop receive, if there is one; return whether it does."""
        try:
            if self._loop is None:
                return False
            self._loop.call_soon_threadsafe(self._loop.add_reader, self._socket, self._read_some)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _read_some(self) -> None:
        """Receive on the event loop what has arrived."""
        assert self._loop is not None
        data = b""
        try:
            data = self._socket.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            pass  # the other end is closed
        if data:
            self._take(data)
        else:
            self._loop.remove_reader(self._socket)
            threading.Thread(target=self._end, name="channel-end", daemon=True).start()

    def _take(self, data: bytes) -> None:
        """Pass on the messages of the batches that are complete; hang up at one that cannot be read."""
        try:
            for batch in self._batches.feed(data):
                for message in pickle.loads(batch):
                    self._handle(message)
        except Exception:
            _LOG.exception("A message from the other process could not be read")
            self._hang_up()

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._hang_up()
        self._closed()
        self._over.set()

    def _handle(self, message: Incoming) -> None:
        """Pass a message on; an error in one must not lose the following ones."""
        try:
            self._receive(message)
        except Exception:
            _LOG.exception("A message could not be handled (%s)", type(message).__name__)

    def _hang_up(self) -> None:
        """Shut down both directions, so that the reading threads of both ends wake up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
