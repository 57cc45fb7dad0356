"""The zygote: a process that has loaded the libraries of the formats, and forks a child for each document.

It never reads a byte of a document. A message on its control socket with a descriptor, one end of a channel, asks for a
child at that end; one without is answered as it is, as a sign of life. A child is killed when the other end of its
channel is closed, and when it is stopped. All end with the server.
"""

import contextlib
import gc
import logging
import os
import select
import signal
import socket
import sys
import warnings
from importlib import import_module
from pathlib import Path

from service.documents import formats
from service.documents.format import FORMATS
from service.documents.sandbox.child import serve

LOADED_LATE = frozenset({"pdf"})  # pypdf would nearly double this process
NICE = 5  # a document yields to the engine
FORK = b"f"


class Zygote:
    """The children, each with its channel."""

    def __init__(self, control: socket.socket) -> None:
        """Serve a control socket."""
        self._control = control
        self._children: dict[int, socket.socket] = {}
        self._wake, wake = socket.socketpair()
        self._inherited = [control, self._wake, wake]  # what a child closes
        wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # otherwise nothing would be written
        signal.set_wakeup_fd(wake.fileno())
        self._poll = select.poll()
        for descriptor in (control, self._wake):
            self._poll.register(descriptor, select.POLLIN)

    def run(self) -> None:
        """Serve until the server is gone."""
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            # First of all: the number of a channel that is closed is free for the next one.
            for child, channel in self._children.items():
                if channel.fileno() in ready:
                    self._poll.unregister(channel)
                    os.kill(child, signal.SIGKILL)  # not reaped, so the number is still its own
            if self._wake.fileno() in ready:
                self._wake.recv(4096)
                self._reap()
            if self._control.fileno() in ready and not self._take():
                return

    def close(self) -> None:
        """Kill all children."""
        for child in self._children:
            os.kill(child, signal.SIGKILL)

    def _take(self) -> bool:
        """Take a message; return whether there was one."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, len(FORK), 1)
        except ConnectionError:
            return False
        if descriptors:
            self._fork(socket.socket(fileno=descriptors[0]))
        elif message:
            self._control.send(message)
        return bool(message)

    def _fork(self, channel: socket.socket) -> None:
        try:
            child = os.fork()
        except OSError:  # no room for a process; the server sees that its channel is closed
            channel.close()
            return
        if child:
            self._children[child] = channel
            self._poll.register(channel, 0)  # only for its end
            return
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (*self._inherited, *self._children.values()):
                descriptor.close()
            for stream in (1, 2):  # a library may print what it reads
                os.dup2(0, stream)
            serve(channel)
        finally:
            os._exit(0)

    def _reap(self) -> None:
        for child, channel in [*self._children.items()]:
            ended, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if ended and os.WIFSTOPPED(status):
                os.kill(child, signal.SIGKILL)
            elif ended:
                with contextlib.suppress(KeyError):  # its channel was closed first
                    self._poll.unregister(channel)
                del self._children[child]
                channel.close()


def prepare() -> None:
    """Load the formats, and be the first to yield and to be killed where time or memory is short."""
    with contextlib.suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    sys.dont_write_bytecode = True
    for module in {
        document_format.reader.partition(":")[0] for document_format in FORMATS if document_format.installed
    } - LOADED_LATE:
        import_module(f"{formats.__name__}.{module}")
    logging.disable()  # the libraries' warnings quote documents
    warnings.simplefilter("ignore")
    gc.collect()
    os.nice(NICE)
    gc.freeze()  # otherwise a collection in a child would copy all of it


def main() -> None:
    """Serve the control socket whose descriptor is the argument."""
    zygote = Zygote(socket.socket(fileno=int(sys.argv[1])))
    prepare()
    try:
        zygote.run()
    finally:
        zygote.close()


if __name__ == "__main__":
    main()
