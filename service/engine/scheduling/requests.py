"""The requests in flight of one model, under one lock: accepted, queued, given to the threads, and answered once."""

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from service.engine.errors import EngineFailure, NotReady
from service.engine.events import EventListener, LoadChanged, RequestRejected, RunFailed
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import QueueStatus, admission_error, require_running
from service.engine.scheduling.pending import OpenRequests, PendingRequest, PendingSentence, Scoring, WorkerSettings
from service.engine.scheduling.scheduler import SHORT_TOKENS, FairShare, Plan, Scheduler, ScoringQueue

WORKING = (WorkerState.RUNNING, WorkerState.DRAINING)  # the states in which the threads run
MOST_FAILURES = 3  # runs of one kind that may fail in a row before the worker is dead
IDLE_SECONDS = 1.0  # the time between two heartbeats of an idle decode thread
_LOG = logging.getLogger(__name__)


class RequestTable(OpenRequests):
    """The monitor that the threads of a worker share: its methods take the lock and may be called from any thread."""

    def __init__(
        self,
        name: str,
        settings: WorkerSettings,
        on_event: EventListener,
        clock: Callable[[], float],
    ) -> None:
        decoders = settings.inter_threads or 1
        super().__init__(name, on_event, decoders)
        self._budget, self._clock = settings.budget, clock
        self._to_encode, self._to_score = threading.Condition(self._lock), threading.Condition(self._lock)
        self._numbers = itertools.count()
        self._scheduler = Scheduler(settings.budget)
        self._division = FairShare(self._scheduler, decoders, settings.fill_first)
        self._scoring = ScoringQueue()
        self._reported = (0, 0, 0)  # the rows, sentences and queue of the last LoadChanged
        self._state = WorkerState.RUNNING
        self._heartbeats = [clock()] * decoders
        self._decoders_left = decoders
        self._failures: dict[str, int] = {}  # in a row, for each kind of run
        self._broken = False  # a stage thread has ended, or too many runs have failed
        self._stages_end = False

    # Calls from outside.

    @property
    def state(self) -> WorkerState:
        """Return the state that the worker is in; only a running one accepts requests."""
        return self._state

    @property
    def heartbeat(self) -> float:
        """Return the time of the decode threads' last heartbeat; at most IDLE_SECONDS ago unless a run hangs."""
        return min(self._heartbeats)

    def queue_status(self, sentences: int = 1, tokens: int = 1) -> QueueStatus:
        """Return the state of the queue for a request of this size."""
        with self._lock:
            waiting = len(self._scheduler)
            wait = self._division.throughput.seconds_for(self._scheduler.tokens) if waiting else None
            return QueueStatus(not self._scheduler.has_room(sentences, tokens), wait)

    def check_room(self, deadline: float | None, sentences: int = 1, tokens: int = 1) -> None:
        """Raise NotReady or Overloaded unless a request of this size may be queued now."""
        with self._lock:
            require_running(self._name, self._state)
            self._require(self.queue_status(sentences, tokens), deadline)

    def submit(self, jobs: Sequence[SentenceJob], ids: Sequence[int] | None = None) -> list[Future[SentenceResult]]:
        """Queue all sentences of one request, or none; raise the errors of check_room."""
        tokens = sum(len(job.source_ids) for job in jobs)
        deadline = min((job.deadline for job in jobs if job.deadline is not None), default=None)
        with self._lock:
            self.check_room(deadline, len(jobs), tokens)
            now = self._clock()
            numbers = ids or [next(self._numbers) for _ in jobs]
            short = tokens <= SHORT_TOKENS
            requests = [PendingSentence(number, job, now, short) for number, job in zip(numbers, jobs, strict=True)]
            self._scheduler.add(requests)
            for request in requests:
                self._add(request)
            self._wake_encoder(now)
        return [request.future for request in requests]

    def submit_scoring(self, job: ScoringRequest, request_id: int | None = None) -> Future[ScoringResult]:
        """Queue the scoring of a given translation; raise the errors of check_room."""
        with self._lock:
            require_running(self._name, self._state)
            full = len(self._scoring) >= self._budget.queued_sentences
            self._require(QueueStatus(full, self._scoring.seconds), job.deadline)
            request = PendingRequest(next(self._numbers) if request_id is None else request_id)
            self._add(request)
            self.queue_scoring(request, job)
        return request.future

    # The life cycle of the worker.

    def drain(self, seconds: float) -> None:
        """Accept no more requests, wait for all answers for at most this time, and tell the threads to end."""
        with self._lock:
            if self._state is WorkerState.RUNNING:
                self._state = WorkerState.DRAINING
            self._changed.wait_for(lambda: not self._open or self._state is not WorkerState.DRAINING, seconds)
            self.retire()

    def retire(self) -> None:
        """Tell the threads to end, without a wait."""
        with self._lock:
            if self._state is not WorkerState.DEAD:
                self._state = WorkerState.STOPPED
            self._changed.notify_all()

    def stage_ended(self) -> None:
        """Record that a stage thread has ended, which ends the worker."""
        with self._lock:
            self._broken = True
            self._changed.notify_all()

    def decoder_ended(self) -> None:
        """Record that a decode thread has ended: the worker is stopped or dead, so the other threads end too."""
        with self._lock:
            if self._state is not WorkerState.STOPPED:
                self._state = WorkerState.DEAD
            self._decoders_left -= 1
            dead, last = self._state is WorkerState.DEAD, not self._decoders_left
            self._stages_end = True
            for condition in (self._changed, self._to_encode, self._to_score):
                condition.notify_all()
        if dead:
            self.fail_all(EngineFailure.of_a_model(self._name))
        elif last:
            _LOG.info("The engine threads of %s have ended", self._name)
            self.fail_all(NotReady(f"The model {self._name} has been stopped."))

    def run_succeeded(self, kind: str) -> None:
        """Record that a run of this kind has succeeded; each kind belongs to one thread, so this needs no lock."""
        self._failures.pop(kind, None)

    def run_failed(self, kind: str, requests: Sequence[PendingRequest]) -> None:
        """Record the current exception as a failed run and fail its requests; several in a row end the worker.

        Each kind of run has its own count: other runs do not repair a broken decoder.
        """
        _LOG.exception("A run of the model failed (%s, %s, %d sentences lost)", self._name, kind, len(requests))
        with self._lock:
            self._failures[kind] = self._failures.get(kind, 0) + 1
            self._broken = self._broken or self._failures[kind] >= MOST_FAILURES
            self._scheduler.discard(set(requests))
        self._on_event(RunFailed(self._name))
        error = EngineFailure.of_a_run()
        for request in requests:
            self.fail(request, error)
        with self._lock:
            self._changed.notify_all()  # the worker may have to end

    # Work for the threads.

    def wait_for_work(self, number: int, busy: bool) -> bool:
        """Wait for work for a decode thread; return False if the thread must end."""
        with self._lock:
            while self._state in WORKING and not self._broken:
                self._heartbeats[number] = self._clock()
                if busy or self._division.has_work(number) or self._departed[number]:
                    return True
                self._changed.wait(IDLE_SECONDS)
        return False

    def take_cancelled(self, number: int) -> tuple[set[PendingRequest], int]:
        """Return the requests that were cancelled since the last call, and how many of them were still queued."""
        if not self._departed[number]:
            return set(), 0
        with self._lock:
            left, self._departed[number] = self._departed[number], set()
            return left, len(self._scheduler.discard(left))

    def schedule(self, number: int, now: float, rows: int, sentences: int) -> Plan:
        """Return the sentences that join a decode thread with this load."""
        settled = not len(self._scheduler) and not self._reported[2]  # nothing waits; this needs no lock
        if settled and self._division.is_settled(number, rows, sentences):
            return Plan([], [])
        with self._lock:
            plan = self._division.plan(number, now, rows, sentences)
            self._report_load()
            self._wake_encoder(now)
        return plan

    def idle(self, number: int) -> None:
        """Record that a decode thread is idle."""
        with self._lock:
            self._division.note(number, 0, 0)
            self._report_load()
            self._wake_encoder(self._clock())

    def take_to_encode(self) -> list[PendingSentence]:
        """Wait for the next sentences to encode together; return none at the end."""
        with self._lock:
            while not self._stages_end:
                if requests := self._scheduler.to_encode(self._clock(), self._division.sentences):
                    return requests
                self._to_encode.wait()
        return []

    def _wake_encoder(self, now: float) -> None:
        """Wake the encoder if there is work for it; while sentences gather, every step of the decoder looks again."""
        if self._scheduler.can_encode(now, self._division.sentences):
            self._to_encode.notify()

    def encoded(self, requests: Sequence[PendingSentence]) -> None:
        """Record that these are encoded; those that were cancelled meanwhile are no longer queued."""
        with self._lock:
            self._scheduler.make_ready(set(requests))
            self._changed.notify_all()

    def queue_scoring(self, request: PendingRequest, job: ScoringRequest) -> None:
        """Queue a translation for scoring before the answer; that of a sentence was admitted with it."""
        with self._lock:
            self._scoring.add(request, job)
            self._to_score.notify()

    def take_to_score(self) -> list[Scoring]:
        """Wait for the next translations to score together; return none at the end."""
        with self._lock:
            while not self._stages_end:
                if taken := self._scoring.take(self._clock()):
                    return taken
                self._to_score.wait()
        return []

    def _require(self, status: QueueStatus, deadline: float | None) -> None:
        error = admission_error(self._name, status, deadline, self._clock())
        if error is not None:
            self._on_event(RequestRejected(self._name, error.code))
            raise error

    def _report_load(self) -> None:
        """Report the load if it has changed; this runs inside the lock, so that reports keep their order."""
        load = (self._division.rows, self._division.sentences, len(self._scheduler))
        if load != self._reported:
            self._reported = load
            self._on_event(LoadChanged(self._name, *load))
