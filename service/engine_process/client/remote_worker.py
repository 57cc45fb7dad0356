"""The client's stand-in for a worker in an engine process: the same calls, answered over the channel.

The supervisor may restart the process. Until then the worker is "restarting" and its requests in flight fail with
Interrupted; it continues when the process has loaded the model again.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from service.engine import (
    EngineError,
    EngineFailure,
    EventListener,
    Interrupted,
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
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.restarts import Restarts
from service.engine_process.protocol import EventReport, Open, Order, Score, StatusReport, Stopped, ToEngine, Translate

GRACE_SECONDS = 12.0  # time for the threads of a worker to end after its drain
SILENT_SECONDS = 2.0  # without a report, after which a process gets no more work


class Connection(Protocol):
    """The destination of messages; messages are lost while there is no process."""

    def send(self, message: ToEngine) -> None:
        """Send a message."""

    @property
    def full(self) -> bool:
        """Return whether so many messages wait that no more work should be sent."""

    @property
    def has_unread(self) -> bool:
        """Return whether messages have arrived that this process has not read yet."""


class RemoteWorker:
    """Satisfies service.engine.SentenceWorker; its futures fail with the errors of the model."""

    def __init__(
        self, name: str, number: int, connection: Connection, pending: PendingCalls, on_event: EventListener
    ) -> None:
        self.name, self.number = name, number  # its number in its process
        self._on_event, self._connection, self._pending = on_event, connection, pending
        self._lock = threading.RLock()  # finalisers may call `retire` in any thread
        self._state = WorkerState.NEW
        self._lost = self._failed = False  # until its process is back; permanently
        self._generation = 0  # the number of times that its process was lost
        self._stopped = threading.Event()
        self._reset_reports()
        self.order: Open | None = None  # loads it
        self.opening: Future[Placement] | None = None  # its first load, while that is in progress
        self.placement: Placement | None = None  # of its first load
        self.again_since: float | None = None  # the time since when it is being loaded again
        self.due: float | None = None  # the time at which it is loaded again, if it has failed
        self._restarts: Restarts | None = None  # since its first failure

    @property
    def state(self) -> WorkerState:
        """Return the state of the worker; only a running one accepts jobs."""
        if self._state not in (WorkerState.RUNNING, WorkerState.DRAINING):
            return self._state
        if self._failed:
            return WorkerState.DEAD
        return WorkerState.RESTARTING if self._lost else self._state

    @property
    def status(self) -> WorkerStatus:
        """Return the state, with the rest as last reported."""
        state, last = self.state, self._status
        alive = last.alive and state in (WorkerState.RUNNING, WorkerState.DRAINING)
        return WorkerStatus(state, alive, last.heartbeat, last.queue)

    def start(self) -> None:
        """Start the worker's threads."""
        with self._lock:
            self._state = WorkerState.RUNNING
            self._reset_reports()
            if not self._lost:
                self._connection.send(Order(self.number, "start"))

    def stop(self, drain: float = 0.0) -> None:
        """Accept no more requests, let running ones finish within `drain` seconds, fail the others; this blocks."""
        self._end(Order(self.number, "stop", drain))

    def close(self) -> None:
        """Stop at once and free the model's memory in its process; this blocks."""
        self._end(Order(self.number, "close"))

    def retire(self) -> None:
        """Stop without a wait; pending calls get NotReady."""
        self._state = WorkerState.STOPPED
        self._connection.send(Order(self.number, "retire"))

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error of the smallest request according to the last report, which is a moment old."""
        require_running(self.name, self.state)
        now = time.monotonic()
        error = self._unreachable(now) or admission_error(self.name, self._status.queue, deadline, now)
        if error is not None:
            self._on_event(RequestRejected(self.name, error.code))
            raise error

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Send the sentences of one request, which are all queued, or none; a cancelled future frees its rows."""
        generation = self._generation
        self.check_room(jobs[0].deadline)
        opened = [self._pending.open(self.number) for _ in jobs]
        numbers = tuple(number for number, _ in opened)
        self._connection.send(Translate(self.number, numbers, tuple(jobs)))
        self._fail_if_lost(generation, numbers)
        return [self._pending.watch_cancellation(number, future) for number, future in opened]

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Send a given translation for scoring."""
        generation = self._generation
        require_running(self.name, self.state)
        if self._connection.full:
            self._on_event(RequestRejected(self.name, Overloaded.code))
            raise overloaded(self.name, self._status.queue.seconds)
        number, future = self._pending.open(self.number)
        self._connection.send(Score(self.number, number, job))
        self._fail_if_lost(generation, [number])
        return self._pending.watch_cancellation(number, future)

    def handle(self, message: EventReport | StatusReport | Stopped) -> bool:
        """Process a message about the worker; return True if the worker has died."""
        match message:
            case EventReport(_, event):
                self._on_event(event)
            case StatusReport(_, status) if not self._lost:
                self._status, self.reported = status, time.monotonic()
                if status.state is WorkerState.DEAD and self._state is WorkerState.RUNNING:
                    self.mark_lost()
                    return True
            case Stopped():
                self._stopped.set()
        return False

    def mark_lost(self) -> None:
        """Record that the worker is gone; its pending calls fail."""
        with self._lock:
            self._lost = True
            self._generation += 1
        self._stopped.set()
        self._pending.fail_all(Interrupted.of_a_process(self.name), self.number)
        self._on_event(LoadChanged(self.name, 0, 0, 0))

    def mark_reloaded(self) -> None:
        """Record that the process has loaded the model again; the worker is started if it was started before."""
        with self._lock:
            self._stopped.clear()
            self._reset_reports()
            self._lost = False
            if self._state is WorkerState.RUNNING:
                self._connection.send(Order(self.number, "start"))

    def failed(self, now: float) -> float | None:
        """Record a failure in a process that still runs; return the seconds until it is loaded again, None: never."""
        self._restarts = self._restarts or Restarts(now)
        delay = self._restarts.ended(now)
        if delay is not None:
            self.due = now + delay
            self._restarts.begins(self.due)
        return delay

    def give_up(self) -> None:
        """Record that the worker will not come back."""
        with self._lock:
            self._lost = self._failed = True
        self._stopped.set()
        self._pending.fail_all(EngineFailure.of_a_model(self.name), self.number)

    def _end(self, order: Order) -> None:
        with self._lock:
            if self._state is WorkerState.RUNNING:
                self._state = WorkerState.DRAINING
            gone = self._lost or self._failed
        if not gone:
            self._connection.send(order)
            self._stopped.wait(order.drain + GRACE_SECONDS)
        if not self._failed:
            self._state = WorkerState.STOPPED
        self._pending.fail_all(NotReady(f"The model {self.name} has been stopped."), self.number)

    def _reset_reports(self) -> None:
        """Reset the reports: the first one is still to come."""
        self.reported = time.monotonic()  # the time of the last one
        self._status = WorkerStatus(WorkerState.NEW, alive=True, heartbeat=self.reported)

    def _unreachable(self, now: float) -> EngineError | None:
        """Return the reason to send nothing now: the process is silent, or too many messages wait.

        A process is silent if its last report is old and nothing of it is unread. If this process has been too busy to
        read, the engine process decides about the request itself.
        """
        age = now - self.reported
        silent = age > SILENT_SECONDS and not self._connection.has_unread
        return overloaded(self.name, age) if silent or self._connection.full else None

    def _fail_if_lost(self, generation: int, numbers: Sequence[int]) -> None:
        """Fail jobs if their process is gone; called after a send, too, because it may have ended meanwhile."""
        if self._lost or self._generation != generation:
            for number in numbers:
                self._pending.fail(number, Interrupted.of_a_process(self.name))
