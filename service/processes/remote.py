"""A worker in an engine process, as seen from here: the same calls, answered over the wire."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from service.engine.errors import EngineFailure, NotReady
from service.engine.pressure import Pressure, refusal, require_running
from service.engine.types import ForcedJob, ForcedResult, SentenceJob, SentenceResult
from service.processes.messages import Force, Retire, Start, Stop, Stopped, ToEngine, Told, Translate, Vitals
from service.processes.outstanding import Outstanding

GRACE_SECONDS = 12.0  # for the threads of a worker to end after its drain
Hear = Callable[[str, tuple[Any, ...]], None]  # an event of the observer's, and its values


class RemoteWorker:
    """Satisfies engine.jobs.SentenceWorker; what the model refuses, its futures fail with."""

    def __init__(
        self, name: str, number: int, send: Callable[[ToEngine], None], outstanding: Outstanding, hear: Hear
    ) -> None:
        self.name, self.hear = name, hear
        self._number, self._send, self._outstanding = number, send, outstanding
        self._state = "new"
        self._lost = False  # with its process
        self._stopped = threading.Event()
        self._vitals = Vitals(number, "new", alive=True, heartbeat=time.monotonic(), pressure=Pressure())

    @property
    def state(self) -> str:
        """Give the stage of life the worker is in; only a running one accepts jobs."""
        dead = self._lost or self._vitals.state == "dead"
        return "dead" if dead and self._state in ("running", "draining") else self._state

    @property
    def alive(self) -> bool:
        """Say whether the worker is at work."""
        return self.state in ("running", "draining") and self._vitals.alive

    @property
    def heartbeat(self) -> float:
        """Give when the worker last showed that it lives, as last reported."""
        return self._vitals.heartbeat

    @property
    def pressure(self) -> Pressure:
        """Give how much waits, as last reported."""
        return self._vitals.pressure

    def start(self) -> None:
        """Start the worker's threads."""
        self._state = "running"
        self._send(Start(self._number))

    def stop(self, drain: float = 0.0) -> None:
        """Accept no more, give what is in hand `drain` seconds to finish, fail the rest with NotReady; blocks."""
        if self._state == "running":
            self._state = "draining"
        if not self._lost:
            self._send(Stop(self._number, drain))
            self._stopped.wait(drain + GRACE_SECONDS)
        if self.state != "dead":
            self._state = "stopped"
        self._outstanding.fail_all(NotReady(f"The model {self.name} has been stopped."), self._number)

    def retire(self) -> None:
        """Stop without waiting for anything; whoever still waits gets NotReady."""
        self._state = "stopped"
        self._send(Retire(self._number))

    def check_room(self, deadline: float | None = None) -> None:
        """Raise what the smallest request would fail with, as far as the last report tells; it is an instant old."""
        require_running(self.name, self.state)
        error = refusal(self.name, self.pressure, deadline, time.monotonic())
        if error is not None:
            self.hear("rejected", (self.name, error.code))
            raise error

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Send the sentences of one request, to be queued all or none; cancelling a future frees its rows."""
        require_running(self.name, self.state)
        opened = [self._outstanding.open(self._number, job.listener) for job in jobs]
        heard = frozenset(number for (number, _), job in zip(opened, jobs, strict=True) if job.listener is not None)
        plain = tuple(replace(job, listener=None) if job.listener is not None else job for job in jobs)
        self._send(Translate(self._number, tuple(number for number, _ in opened), plain, heard))
        self._fail_if_lost()
        return [self._outstanding.watched(number, future) for number, future in opened]

    def submit_forced(self, job: ForcedJob) -> Future[ForcedResult]:
        """Send a given translation to be scored."""
        require_running(self.name, self.state)
        number, future = self._outstanding.open(self._number)
        self._send(Force(self._number, number, job))
        self._fail_if_lost()
        return self._outstanding.watched(number, future)

    def take(self, message: Told | Vitals | Stopped) -> None:
        """Take note of what the process says of the worker."""
        match message:
            case Told(_, event, values):
                self.hear(event, values)
            case Vitals():
                self._vitals = message
            case Stopped():
                self._stopped.set()

    def lost(self) -> None:
        """Take note that the process is gone, and with it whatever was being done."""
        self._lost = True
        self._stopped.set()
        self._fail_if_lost()
        self.hear("rows_changed", (self.name, 0, 0, 0))

    def _fail_if_lost(self) -> None:
        """Answer for a process that is gone; asked after a job was sent, too: it may have gone in between."""
        if self._lost:
            self._outstanding.fail_all(EngineFailure.of_a_model(self.name), self._number)
