"""The program of an engine process: opens bundles, gives jobs to their workers and sends back the results.

Its arguments are the number of the socket to the process that started it, with which it ends, and the style of the
log. It leaves signals to its parent: a terminal sends them to both, and running requests must finish first.
"""

import contextlib
import gc
import logging
import os
import pickle
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal, cast

from service.bundle.load import check_unchanged
from service.engine import (
    EngineError,
    EngineEvent,
    EngineFailure,
    LoadChanged,
    NotReady,
    SentenceResult,
    StepDone,
    Worker,
    load_worker,
    map_large_blocks,
    own_providers,
    release_memory,
    trim_memory,
)
from service.engine_process import protocol
from service.engine_process.protocol import (
    LENGTH,
    Done,
    EventReport,
    Failed,
    FromEngine,
    Open,
    StatusReport,
    Stop,
    ToEngine,
)
from service.logs import configure_logging

STATUS_SECONDS = 0.25  # between two reports
SWITCH_SECONDS = 0.0001  # the time that a thread may keep the interpreter's lock; Python's default is 0.005
COLLECT_AFTER = 10_000  # new containers after which the garbage collector looks for cycles; Python's default is 700
_LOG = logging.getLogger(__name__)


class EngineServer:
    """The workers of one engine process; `send` sends an answer at once, `send_later` with the next one."""

    def __init__(self, send: Callable[[FromEngine], None], send_later: Callable[[FromEngine], None]) -> None:
        self._send, self._send_later = send, send_later
        self._answered = False  # the present step has answered a sentence, and its end sends the answer
        self._workers: dict[int, Worker] = {}
        self._unwanted: set[int] = set()  # workers that were stopped, perhaps before they were loaded

    def receive(self, message: ToEngine) -> None:
        """Process a message; slow work is done in a thread, so that the next message does not wait."""
        match message:
            case protocol.Translate(owner, numbers, jobs):
                self._accept(numbers, lambda: self._worker(owner).submit_all(jobs, numbers))
            case protocol.ScoreGiven(owner, number, job):
                self._accept((number,), lambda: [self._worker(owner).submit_scoring(job, number)])
            case protocol.Cancel(owner, number):
                if worker := self._workers.get(owner):
                    worker.cancel(number)
            case Open():
                self._unwanted.discard(message.worker)
                threading.Thread(target=self._open, args=(message,), daemon=True).start()
            case Stop(owner, _, None):
                self._unwanted.add(owner)
                self._retire(owner)
            case Stop(owner, drain, int(number)):
                threading.Thread(target=self._stop, args=(owner, drain, number), daemon=True).start()
            case protocol.Providers(number):
                self._send(Done(number, own_providers()))

    def statuses(self) -> list[StatusReport]:
        """Return the status of every worker."""
        return [StatusReport(number, worker.status) for number, worker in self._workers.copy().items()]

    def _open(self, message: Open) -> None:
        try:
            if message.settings.lazy:
                map_large_blocks()
            if message.again:
                check_unchanged(message.bundle)
            worker, placement = load_worker(message.bundle, message.settings, partial(self._report, message.worker))
        except EngineError as error:
            self._send(Failed(message.number, error))
        except Exception as error:
            _LOG.exception("A bundle could not be loaded (%s)", message.bundle.folder)
            text = f"{message.bundle.folder}: it could not be loaded ({type(error).__name__})."
            self._send(Failed(message.number, EngineFailure(text)))
        else:
            trim_memory()  # a twentieth of a model's memory was needed only to load it
            self._workers[message.worker] = worker
            if message.worker in self._unwanted:
                self._retire(message.worker)
            del worker
            self._send(Done(message.number, placement))

    def _retire(self, owner: int) -> None:
        if worker := self._workers.pop(owner, None):
            worker.retire()

    def _report(self, worker: int, event: EngineEvent) -> None:
        """Send an event, usually with the next message: each step has several, and none follows the last one.

        The end of a step sends the answers of all its sentences together.
        """
        idle = isinstance(event, LoadChanged) and not (event.rows or event.queued)
        answered = self._answered and isinstance(event, StepDone)
        if answered:
            self._answered = False
        (self._send if idle or answered else self._send_later)(EventReport(worker, event))

    def _stop(self, owner: int, drain: float, number: int) -> None:
        self._unwanted.add(owner)
        if worker := self._workers.get(owner):
            worker.stop(drain)
            self._workers.pop(owner, None)
            del worker
            release_memory()
        self._send(Done(number, None))

    def _worker(self, number: int) -> Worker:
        try:
            return self._workers[number]
        except KeyError:
            raise NotReady("The model has been stopped.") from None

    def _accept(self, numbers: tuple[int, ...], submit: Callable[[], list[Future[Any]]]) -> None:
        """Submit jobs, and send back the outcome of each under its number."""
        try:
            futures = submit()
        except Exception as error:
            self._refuse(numbers, error)
            return
        for number, future in zip(numbers, futures, strict=True):
            future.add_done_callback(partial(self._answer, number))

    def _refuse(self, numbers: tuple[int, ...], error: Exception) -> None:
        if not isinstance(error, EngineError):
            _LOG.error("A job could not be submitted", exc_info=error)
            error = EngineFailure.of_a_run()
        for number in numbers:
            self._send(Failed(number, error))

    def _answer(self, number: int, future: Future[Any]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            result = future.result()
            in_step = isinstance(result, SentenceResult) and result.scores is None
            (self._send_later if in_step else self._send)(Done(number, result))
            self._answered |= in_step  # after the answer: another thread's step may end in between
        else:
            self._refuse((number,), error if isinstance(error, Exception) else EngineFailure(type(error).__name__))


class Sender:
    """Sends messages from any thread, which waits if the client does not read."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._lock = end, threading.Lock()
        self._waiting: deque[FromEngine] = deque()

    def send(self, message: FromEngine) -> None:
        """Send a message after all that wait; without a client nothing is sent."""
        self._waiting.append(message)
        with self._lock, contextlib.suppress(OSError):
            if messages := [self._waiting.popleft() for _ in range(len(self._waiting))]:
                data = pickle.dumps(messages, pickle.HIGHEST_PROTOCOL)
                self._end.sendall(LENGTH.pack(len(data)) + data)

    def send_later(self, message: FromEngine) -> None:
        """Send a message together with the next one."""
        self._waiting.append(message)


def receive_all(end: socket.socket, receive: Callable[[ToEngine], None], ended: Callable[[], None]) -> None:
    """Give every message to `receive`, until the client hangs up."""
    try:
        with end.makefile("rb") as messages:
            while True:
                message = pickle.load(messages)
                try:
                    receive(message)
                except Exception:  # it must not lose the following ones
                    _LOG.exception("A message could not be handled (%s)", type(message).__name__)
    except (EOFError, OSError):
        pass  # the client has gone
    finally:
        ended()


def prepare_interpreter() -> None:
    """Set up Python for a process that serves, after its imports.

    The collector never looks at what has been imported, and rarely at the objects of requests: with tens of requests
    in flight its default takes a seventh of the HTTP process' time. What is loaded later is collected as usual.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    release_memory()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])


def main() -> None:
    """Serve until the parent closes the connection."""
    descriptor, level, style = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    configure_logging(level, cast(Literal["auto", "json", "console"], style))
    prepare_interpreter()
    end = socket.socket(fileno=int(descriptor))
    sender = Sender(end)
    server, over = EngineServer(sender.send, sender.send_later), threading.Event()
    threading.Thread(target=receive_all, args=(end, server.receive, over.set), name="receiver", daemon=True).start()
    while not over.wait(STATUS_SECONDS):
        for status in server.statuses():
            sender.send(status)
    # Exit at once: no client is left, and a hanging run must not keep the process alive.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
