"""Who is waiting for what: every job a worker has accepted, with the future that must one day be resolved."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from service.engine.errors import EngineError
from service.engine.types import ScoringRequest, ScoringResult, SentenceJob, SentenceResult

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class PendingRequest(Generic[Job, Result]):
    """An accepted job; times are on the worker's clock."""

    job: Job
    submitted: float
    encode_seconds: float = 0.0
    memory: tuple[Any, int] | None = None  # what the encoder made of several sentences, and which of them this is
    joined: float = 0.0
    future: Future[Result] = field(default_factory=Future)


SentenceTicket = PendingRequest[SentenceJob, SentenceResult]
ForcedTicket = PendingRequest[ScoringRequest, ScoringResult]
AnyTicket = PendingRequest[Any, Any]


class RequestTable:
    """All unresolved requests; safe to use from any thread.

    Every request leaves exactly once: with a result, with an error, or because its future was cancelled, of which
    everybody who asked for `departures` is told.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held for every change
        self.changed = threading.Condition(self.lock)  # notified of every change
        self._open: set[AnyTicket] = set()
        self._departures: list[set[AnyTicket]] = []

    def __len__(self) -> int:
        return len(self._open)

    def open(self, request: AnyTicket) -> None:
        """Add a request."""
        with self.lock:
            self._open.add(request)
        # Outside the lock: it runs at once if the future is already cancelled.
        request.future.add_done_callback(lambda future: self._left(request) if future.cancelled() else None)

    def departures(self) -> set[AnyTicket]:
        """Return a new set that receives the requests whose callers leave."""
        self._departures.append(set())
        return self._departures[-1]

    def resolve(self, request: PendingRequest[Job, Result], result: Result) -> None:
        """Hand a result over, unless the caller has left."""
        if self._close(request):
            request.future.set_result(result)

    def fail(self, request: AnyTicket, error: EngineError) -> bool:
        """Hand an error over and return True, unless the caller has left."""
        closed = self._close(request)
        if closed:
            request.future.set_exception(error)
        return closed

    def fail_all(self, error: EngineError) -> None:
        """Hand an error over to everybody who still waits."""
        for request in list(self._open):
            self.fail(request, error)

    def _close(self, request: PendingRequest[Any, Any]) -> bool:
        with self.changed:
            if request not in self._open:
                return False
            self._open.discard(request)
            self.changed.notify_all()
        return request.future.set_running_or_notify_cancel()

    def _left(self, request: AnyTicket) -> None:
        with self.changed:
            for departures in self._departures:
                departures.add(request)
            self._open.discard(request)
            self.changed.notify_all()
