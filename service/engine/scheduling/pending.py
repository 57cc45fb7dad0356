"""The capacity of a worker, and the requests that it has accepted, each of which is answered once."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from service.engine.errors import DeadlineExceeded, EngineError
from service.engine.events import EventListener, RequestRejected
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult

DEFAULT_ROWS = 160  # decoded together, without a limit of sentences
# On a CPU, a step of more sentences is slower per sentence: what only one of them reads (its source, its shortlist, its
# cache) has left the processor's caches before the next step (docs/adr/0025-few-sentences-in-a-step.md).
MOST_SENTENCES = 16


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of running and waiting work."""

    rows: int = DEFAULT_ROWS  # hypotheses decoded together: sentences times beam width; 0: chosen with the device
    sentences: int = MOST_SENTENCES  # that one decode thread decodes together
    queued_sentences: int = 8192
    queued_tokens: int = 524_288
    max_overtakes: int = 16  # times that younger sentences may overtake a waiting one


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The capacity of a worker."""

    budget: Budget = field(default_factory=Budget)  # its rows are divided among the decode threads
    inter_threads: int = 0  # decode threads, each with its own batches; 0: chosen by device, or 1
    fill_first: bool = False  # a decode thread starts once the threads before it are busy; else all get equal parts


@dataclass(slots=True, eq=False)
class PendingRequest:
    """An accepted request: the scoring of a given translation."""

    id: int
    future: Future[Any] = field(default_factory=Future, kw_only=True)


Scoring = tuple[PendingRequest, ScoringRequest]  # a translation that waits for scoring, and whose answer needs it


@dataclass(slots=True, eq=False)
class PendingSentence(PendingRequest):
    """A sentence to translate, on its way through the queue and a batch; times are on the worker's clock."""

    job: SentenceJob
    submitted: float
    short: bool = False  # whether its request is short
    ready: bool = False  # whether it is encoded
    taken: bool = False  # whether the encoder has taken it
    overtaken: int = 0  # how often younger ones have overtaken it
    encode_seconds: float = 0.0
    memory: tuple[Any, int] | None = None  # the encoder's output for several sentences, and the index of this one
    joined: float = 0.0
    translated: float = 0.0
    translation: SentenceResult | None = None  # set if it is scored before the answer
    rows: int = field(init=False)
    tokens: int = field(init=False)
    deadline: float = field(init=False)  # infinity: none

    def __post_init__(self) -> None:
        """Note what every step asks of the job."""
        self.rows, self.tokens = self.job.search.beam_size, len(self.job.source_ids)
        self.deadline = float("inf") if self.job.deadline is None else self.job.deadline


class OpenRequests:
    """The requests that have no answer yet.

    A request leaves exactly once: with a result, with an error, or because its future was cancelled. Futures are
    resolved without the lock, because their callbacks run at once.
    """

    def __init__(self, name: str, on_event: EventListener, decoders: int) -> None:
        self._name, self._on_event = name, on_event
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # for the decode threads, and for callers that wait for the end
        self._open: dict[int, PendingRequest] = {}
        self._departed: list[set[PendingRequest]] = [set() for _ in range(decoders)]  # one for each decode thread

    def cancel(self, request_id: int) -> None:
        """Cancel a request, unless it was answered; its rows are free before the next step."""
        if request := self._open.get(request_id):
            request.future.cancel()

    def resolve(self, request: PendingRequest, result: SentenceResult | ScoringResult) -> None:
        """Answer a request with a result, unless it was cancelled."""
        if self._close(request):
            request.future.set_result(result)

    def fail(self, request: PendingRequest, error: EngineError) -> bool:
        """Answer a request with an error and return True, unless it was cancelled."""
        closed = self._close(request)
        if closed:
            request.future.set_exception(error)
        return closed

    def expire(self, request: PendingRequest) -> None:
        """Answer a request with DeadlineExceeded."""
        if self.fail(request, DeadlineExceeded("The translation was not finished in the time allowed.")):
            self._on_event(RequestRejected(self._name, DeadlineExceeded.code))

    def fail_all(self, error: EngineError) -> None:
        """Answer every open request with an error."""
        with self._lock:
            requests = list(self._open.values())
        for request in requests:
            self.fail(request, error)

    def _add(self, request: PendingRequest) -> None:
        self._open[request.id] = request
        request.future.add_done_callback(lambda future: self._left(request) if future.cancelled() else None)

    def _close(self, request: PendingRequest) -> bool:
        with self._lock:
            if self._open.pop(request.id, None) is None:
                return False
            self._changed.notify_all()
        return request.future.set_running_or_notify_cancel()

    def _left(self, request: PendingRequest) -> None:
        with self._lock:
            for departed in self._departed:
                departed.add(request)
            self._open.pop(request.id, None)
            self._changed.notify_all()
