"""One end of a connection between two processes: sends messages in order without blocking, and receives them.

The sending thread sends a message itself, as long as the other end keeps up; what it does not take at once is sent by a
thread, together with all that has gathered by then. Messages are received in a thread, or on an event loop, which saves
a switch between threads for every message.
"""

import asyncio
import contextlib
import logging
import pickle
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Incoming = TypeVar("Incoming")
Outgoing = TypeVar("Outgoing")

LAST_WORDS_SECONDS = 1.0  # time to send the waiting messages when the channel is closed
MOST_WAITING = 20_000  # messages; beyond, the engine process gets no more work
CHUNK = 2**16  # bytes that are received at once; the allocator asks the system for larger blocks every time
LENGTH = struct.Struct(">Q")  # the length of a batch of pickled messages, sent before it
_LOG = logging.getLogger(__name__)


def framed(messages: list[Any]) -> bytes:
    """Return pickled messages, preceded by their length."""
    pickled = pickle.dumps(messages, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(pickled)) + pickled


class Batches:
    """Cuts received bytes into batches; the rest of an incomplete one waits for its end."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the batches that these bytes complete."""
        self._rest += data
        while len(self._rest) >= LENGTH.size:
            [length] = LENGTH.unpack_from(self._rest)
            end = LENGTH.size + length
            if len(self._rest) < end:
                return
            batch = bytes(memoryview(self._rest)[LENGTH.size : end])
            del self._rest[:end]
            yield batch


class MessageChannel(Generic[Outgoing, Incoming]):
    """Sends and receives pickled messages, only between processes of one program, which trust each other."""

    def __init__(self, end: socket.socket, receive: Callable[[Incoming], None], closed: Callable[[], None]) -> None:
        """Take a connected socket; `receive` gets every message, then `closed` is called in a thread."""
        self._socket = end
        self._receive, self._closed = receive, closed
        self._waiting: deque[Outgoing] = deque()  # messages that are not in a batch yet
        self._sending = threading.Lock()  # held by the thread that makes a batch or sends it
        self._rest = memoryview(b"")  # the unsent rest of a batch
        self._blocked = threading.Event()  # the writer has to send the rest, or to end
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
        self._waiting.append(message)
        self._send_waiting()

    def send_soon(self, message: Outgoing) -> None:
        """Send a message together with all others of this round of the event loop; without a loop, at once.

        Each batch wakes a thread of the other end, which takes the interpreter's lock from its model.
        """
        if self._loop is None or asyncio._get_running_loop() is not self._loop:
            self.send(message)
            return
        self._waiting.append(message)
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._send_waiting)

    def send_later(self, message: Outgoing) -> None:
        """Send a message together with the next one."""
        self._waiting.append(message)

    def close(self) -> None:
        """Send the waiting messages, then close the connection; the other end is notified."""
        self._send_waiting()
        self._ended = True
        self._blocked.set()
        self._writer.join(LAST_WORDS_SECONDS)
        self._hang_up()
        received = (self._loop is not None and self._loop.is_closed()) or self._over.wait(LAST_WORDS_SECONDS)
        if received and not self._writer.is_alive():
            self._socket.close()

    def _send_waiting(self) -> None:
        """Send what waits as one batch; whoever sends already looks again when done, so that nobody waits.

        That may be this thread: a finaliser that runs while a batch is pickled sends messages, too.
        """
        self._soon = False
        while self._waiting and not self._rest and not self._ended and self._sending.acquire(blocking=False):
            try:
                messages = [self._waiting.popleft() for _ in range(len(self._waiting))]
                self._rest = memoryview(framed(messages))
                self._send_some()
            except OSError:
                self._ended = True  # the other end is closed, which the reader notices
            except Exception:
                _LOG.exception("Messages to the other process could not be pickled")
                self._hang_up()
            finally:
                self._sending.release()
        if self._rest:
            self._blocked.set()

    def _send_some(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._rest = self._rest[self._socket.send(self._rest, socket.MSG_DONTWAIT) :]

    def _write(self) -> None:
        """Send the rest of a batch, however slowly the other end reads, and the messages that have come in meanwhile.

        `sendall` would fail where the other end is slow: an event loop of libuv makes the sockets that it reads
        non-blocking without Python's knowledge.
        """
        room = select.poll()
        room.register(self._socket, select.POLLOUT)
        with contextlib.suppress(OSError):  # the other end is closed, which the reader notices too
            while self._rest or not self._ended:
                self._blocked.wait()
                self._blocked.clear()
                with self._sending:
                    while self._rest:
                        room.poll()
                        self._send_some()
                self._send_waiting()
        self._hang_up()

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
        self._ended = True
        self._blocked.set()
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
