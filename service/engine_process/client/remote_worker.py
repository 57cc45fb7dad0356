"""The client's stand-in for a worker in an engine process: the same calls, answered by messages.

If its process ends, its requests in flight fail with Interrupted; it continues when the next process has loaded it.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from service.bundle.load import Bundle
from service.engine import (
    EngineError,
    EngineSettings,
    EventListener,
    LoadChanged,
    NotReady,
    Overloaded,
    Placement,
    RequestRejected,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
    WorkerState,
    WorkerStatus,
    admission_error,
    overloaded,
    require_running,
)
from service.engine_process.client.lifecycle import MODEL, SHOWN, Event, ModelStage
from service.engine_process.protocol import EventReport, ScoreGiven, StatusReport, Stop, Translate

if TYPE_CHECKING:
    from service.engine_process.client.engine_process import EngineProcess

GRACE_SECONDS = 12.0  # time for the threads of a worker to end after its drain
SILENT_SECONDS = 2.0  # without a report, after which a process gets no more work


class RemoteWorker:
    """Satisfies service.engine.SentenceWorker; its futures fail with the errors of the model."""

    def __init__(
        self, number: int, process: "EngineProcess", bundle: Bundle, settings: EngineSettings, on_event: EventListener
    ) -> None:
        """Stand for a bundle that is being loaded under this number."""
        self.number, self.name = number, bundle.manifest.name
        self.bundle, self.settings = bundle, settings
        self.stage = ModelStage.OPENING
        self.placement: Placement | None = None  # of its first load
        self.restarted_at: float | None = None  # the last time that it failed in a process that went on
        self._process, self._on_event = process, on_event
        self._lock = threading.Lock()
        self._show(self._begun())

    def move(self, event: Event) -> ModelStage:
        """Take the stage that follows an event, and return it."""
        with self._lock:
            self.stage = MODEL.get((self.stage, event), self.stage)
            self._show(self._begun() if event is Event.LOADED else self.status)
            return self.stage

    def _begun(self) -> WorkerStatus:
        """Return the status of a model whose reports are still to come."""
        self.reported = time.monotonic()
        return WorkerStatus(WorkerState.RUNNING, alive=True, heartbeat=self.reported)

    def _show(self, report: WorkerStatus) -> None:
        """Set the status: the state that follows from the stage, and the rest as reported."""
        state = SHOWN.get(self.stage, WorkerState.RESTARTING)
        alive = report.alive and state in (WorkerState.RUNNING, WorkerState.DRAINING)
        self.status = replace(report, state=state, alive=alive)

    def stop(self, drain: float = 0.0) -> None:
        """Let running requests finish within `drain` seconds, fail the others, and free the model; this blocks."""
        self.move(Event.DRAIN)
        number, stopped = self._process.pending.open(self.number)
        self._process.post(Stop(self.number, drain, number), number)
        wait([stopped], drain + GRACE_SECONDS)
        self._end()

    def retire(self) -> None:
        """Stop without a wait; pending calls get NotReady."""
        self._process.post(Stop(self.number))
        self._end()

    def _end(self) -> None:
        self.move(Event.STOP)
        self._process.forget(self)
        self._process.pending.fail_all(NotReady(f"The model {self.name} has been stopped."), self.number)

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error of the smallest request according to the last report, which is a moment old."""
        require_running(self.name, self.status.state)
        now = time.monotonic()
        error = self._unreachable() or admission_error(self.name, self.status.queue, deadline, now)
        if error is not None:
            self._on_event(RequestRejected(self.name, error.code))
            raise error

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Send the sentences of one request, which are all queued, or none; a cancelled future frees its rows."""
        self.check_room(jobs[0].deadline)
        opened = [self._process.pending.open(self.number) for _ in jobs]
        numbers = tuple(number for number, _ in opened)
        self._process.post(Translate(self.number, numbers, tuple(jobs)), *numbers)
        return [future for _, future in opened]

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Send a given translation for scoring."""
        require_running(self.name, self.status.state)
        if self._process.full:
            self._on_event(RequestRejected(self.name, Overloaded.code))
            raise overloaded(self.name, self.status.queue.seconds)
        number, future = self._process.pending.open(self.number)
        self._process.post(ScoreGiven(self.number, number, job), number)
        return future

    def handle(self, message: EventReport | StatusReport) -> bool:
        """Process a message about the worker; return whether it has died."""
        if isinstance(message, EventReport):
            self._on_event(message.event)
            return False
        with self._lock:
            if self.stage not in (ModelStage.RUNNING, ModelStage.DRAINING):
                return False
            self.reported = time.monotonic()
            self._show(message.status)
            return self.stage is ModelStage.RUNNING and message.status.state is WorkerState.DEAD

    def lose(self, event: Event, error: EngineError) -> None:
        """Record that it is gone, perhaps for now; its pending calls fail."""
        self.move(event)
        self._process.pending.fail_all(error, self.number)
        self._on_event(LoadChanged(self.name, 0, 0, 0))

    def _unreachable(self) -> EngineError | None:
        """Return the reason to send nothing now: the process is silent, or too much is unsent.

        Its silence is counted until this process has last looked, which may be too busy to read reports.
        """
        age = self._process.looked - self.reported
        return overloaded(self.name, age) if age > SILENT_SECONDS or self._process.full else None
