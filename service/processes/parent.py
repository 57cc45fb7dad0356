"""An engine process as its parent sees it: started, asked to open bundles, missed when it is gone."""

from __future__ import annotations

import contextlib
import itertools
import socket
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from typing import NamedTuple

from service.engine.bundle import Bundle
from service.engine.errors import EngineFailure
from service.engine.opening import EngineSettings
from service.engine.placement import Placement
from service.logs import get_logger
from service.processes.messages import (
    Cancel,
    Chosen,
    Done,
    Failed,
    FromEngine,
    Open,
    Opened,
    Refused,
    Stopped,
    ToEngine,
    Told,
    Vitals,
)
from service.processes.outstanding import Outstanding
from service.processes.remote import Hear, RemoteWorker
from service.processes.wire import Wire

LEAVE_SECONDS = 5.0  # that a process has to end before it is killed
log = get_logger(__name__)


class LogStyle(NamedTuple):
    """How a process is to write its log lines; see service.logs.configure_logging."""

    level: str = "info"
    style: str = "auto"


class EngineProcess:
    """Runs models in a process of its own, which is started at once."""

    def __init__(self, log_style: LogStyle) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "service.processes.child", str(theirs.fileno()), *log_style]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self._wire: Wire[ToEngine, FromEngine] = Wire(ours, self._receive, self._lost)
        self._outstanding = Outstanding(lambda number: self._wire.send(Cancel(number)))
        # Whoever holds a worker keeps it here: one that was replaced goes with the last who uses it.
        self._workers: weakref.WeakValueDictionary[int, RemoteWorker] = weakref.WeakValueDictionary()
        self._opening: dict[int, Future[Placement]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._closing = self._gone = False
        self._finalizer = weakref.finalize(self, _see_off, self._process)
        self._wire.start()

    @property
    def process_id(self) -> int:
        """The process."""
        return self._process.pid

    def open(self, bundle: Bundle, settings: EngineSettings, hear: Hear) -> tuple[RemoteWorker, Future[Placement]]:
        """Have a bundle loaded; the future fails with what engine.opening.open_here raises, or with EngineFailure."""
        number, placement = next(self._numbers), Future[Placement]()
        worker = RemoteWorker(bundle.manifest.name, number, self._wire.send, self._outstanding, hear)
        with self._lock:
            self._workers[number], self._opening[number] = worker, placement
            if not self._gone:
                self._wire.send(Open(number, bundle, settings))
                return worker, placement
        self._give_up()
        return worker, placement

    def close(self) -> None:
        """End the process; whoever still waits gets an error."""
        self._closing = True
        self._wire.close()
        self._finalizer()

    def _receive(self, message: FromEngine) -> None:
        match message:
            case Done(number, result):
                self._outstanding.resolve(number, result)
            case Failed(number, error):
                self._outstanding.fail(number, error)
            case Chosen(number, token, logprob):
                if listener := self._outstanding.listener(number):
                    listener(token, logprob)
            case Opened(number, placement):
                self._opening.pop(number).set_result(placement)
            case Refused(number, error):
                self._opening.pop(number).set_exception(error)
            case Told(number) | Vitals(number) | Stopped(number):
                if worker := self._workers.get(number):
                    worker.take(message)

    def _lost(self) -> None:
        """Learn that the process is gone."""
        with self._lock:
            self._gone = True
        if not self._closing:
            log.critical("an engine process has ended", process=self._process.pid, exit_code=_exit_code(self._process))
        self._give_up()

    def _give_up(self) -> None:
        """Tell whoever waits for a process that is gone."""
        with self._lock:
            workers, opening = list(self._workers.values()), list(self._opening.values())
            self._opening.clear()
        for placement in opening:
            placement.set_exception(EngineFailure("An engine process ended while it loaded a model; see the log."))
        for worker in workers:
            worker.lost()


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(1.0)
    return None


def _see_off(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that has been told to end, or end it."""
    try:
        process.wait(LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
