"""One model's threads: takes jobs from any thread, decodes them together, and resolves every future it gave out.

One thread encodes who waits, one or more decode, one scores given translations. A step that fails fails the sentences
of its thread; several failures in a row, or anything that ends a thread, make the worker dead: everybody waiting gets
an error and nothing is accepted any more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Literal

from service.engine.errors import EngineFailure, NotReady, Overloaded
from service.engine.events import NULL_OBSERVER, Observer
from service.engine.model.interface import Model
from service.engine.scheduling.admission import QueueStatus, refusal, require_running
from service.engine.scheduling.context import Context
from service.engine.scheduling.decode_loop import DecodeLoop
from service.engine.scheduling.encoder_stage import EncoderStage
from service.engine.scheduling.fair_share import FairShare
from service.engine.scheduling.faults import Faults
from service.engine.scheduling.requests import ForcedTicket, RequestTable, SentenceTicket
from service.engine.scheduling.scheduler import SHORT_TOKENS, Budget, Scheduler, Waiting
from service.engine.scheduling.scoring_stage import BatchLimits, ScoringStage
from service.engine.search.validation import check_job, check_scoring
from service.engine.types import MAX_BEAM_SIZE, ScoringRequest, ScoringResult, SentenceJob, SentenceResult

State = Literal["new", "running", "draining", "stopped", "dead"]

FORCED = BatchLimits(jobs=16, tokens=2048)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much a worker takes on and how much failure it bears."""

    budget: Budget = field(default_factory=Budget)  # shared out among the decoders
    decoders: int = 0  # threads, each with batches of its own; 0 leaves it to who knows the device, and is one here
    forced: BatchLimits = FORCED  # in one run
    failures: int = 3  # in a row, after which the worker is dead

    def __post_init__(self) -> None:
        """Raise ValueError where a decoder could not take the widest beam."""
        if not 0 <= self.decoders <= self.budget.rows // MAX_BEAM_SIZE:
            raise ValueError(f"{self.decoders} decoders need {MAX_BEAM_SIZE} rows each, but rows is {self.budget.rows}")


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker has in hand at one moment."""

    queued: int  # sentences waiting
    forced: int  # forced jobs waiting
    sentences: int  # sentences running
    rows: int  # rows running


class Worker:
    """Runs one model in threads of its own; all public methods may be called from any thread."""

    def __init__(
        self,
        name: str,
        model: Model,
        settings: WorkerSettings | None = None,
        observer: Observer = NULL_OBSERVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._model = model
        self._settings = settings or WorkerSettings()
        self._observer = observer
        self._clock = clock
        self._table = RequestTable()
        self._changed = self._table.changed
        self._state: State = "new"
        self._scheduler: Scheduler[SentenceTicket] = Scheduler(self._settings.budget)
        self._faults = Faults(name, self._table, observer)
        told = partial(observer.stage, name)
        self._encoder_stage = EncoderStage(
            model, self._scheduler, self._table, self._faults, partial(told, "encode"), clock
        )
        self._scoring = ScoringStage(
            model, self._table, self._faults, partial(told, "score"), clock, self._settings.forced
        )
        self._stages = (self._encoder_stage.thread, self._scoring.thread)
        context = Context(name, model, self._table, self._faults, observer, clock)
        self._at_work = self._settings.decoders or 1  # decoders that have not ended
        self._fair_share = FairShare(name, self._scheduler, observer, self._at_work)
        told_of = (self._goes_on, self._encoder_stage.thread.wake, self._ended)
        self._decoders = [DecodeLoop(context, self._fair_share, number, *told_of) for number in range(self._at_work)]

    @property
    def state(self) -> State:
        """Return the stage of life the worker is in; only a running one accepts jobs."""
        return self._state

    @property
    def alive(self) -> bool:
        """Return whether the worker is at work: started, not stopped, not dead."""
        return self._state in ("running", "draining") and all(decoder.alive for decoder in self._decoders)

    @property
    def heartbeat(self) -> float:
        """Return when the model last showed that it lives; at most IDLE_SECONDS ago unless a run hangs."""
        begun = (thread.begun for thread in self._stages)
        shown = (decoder.heartbeat for decoder in self._decoders)
        return min(chain(shown, (moment for moment in begun if moment is not None)))

    @property
    def load(self) -> Load:
        """Return the present counts of waiting and running sentences and rows."""
        return Load(len(self._scheduler), len(self._scoring), self._fair_share.sentences, self._fair_share.rows)

    @property
    def queue_status(self) -> QueueStatus:
        """Return how much waits, as the smallest request finds it."""
        with self._changed:
            return self._queue_status(1, 1)

    def submit(self, job: SentenceJob) -> Future[SentenceResult]:
        """Queue one sentence; see submit_all."""
        return self.submit_all([job])[0]

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Queue the sentences of one request, all or none; cancelling a future frees its rows before the next step.

        Raises InvalidInput (empty or too long, a bad option), Overloaded (no room in the queue, or it moves too slowly
        for the deadline) or NotReady. The futures fail with DeadlineExceeded, EngineFailure or NotReady.
        """
        limit = self._model.target_limit
        checked = [check_job(job, self._model.source_limit, limit) for job in jobs]
        with self._changed:
            now = self._clock()
            deadline = min((job.deadline for job in checked if job.deadline is not None), default=None)
            tokens = sum(len(job.source_ids) for job in checked)
            self._require_room(len(checked), tokens, deadline, now)
            requests = [SentenceTicket(job, now) for job in checked]
            self._scheduler.add(
                Waiting(
                    request,
                    request.job.search.beam_size,
                    len(request.job.source_ids),
                    request.job.deadline,
                    short=tokens <= SHORT_TOKENS,
                )
                for request in requests
            )
            for request in requests:
                self._table.open(request)
            self._encoder_stage.thread.wake()
        self._observer.sentences_queued(self.name, len(requests))
        return [request.future for request in requests]

    def check_room(self, deadline: float | None = None) -> None:
        """Raise what submit_all would raise for the smallest request: worth asking before a text is worked on."""
        with self._changed:
            self._require_room(1, 1, deadline, self._clock())

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Queue the scoring of a given translation; raises and fails as submit_all."""
        check_scoring(job, self._model.source_limit, self._model.target_limit)
        with self._changed:
            require_running(self.name, self._state)
            full = len(self._scoring) >= self._settings.budget.queued_sentences
            now = self._clock()
            error = refusal(self.name, QueueStatus(full, self._scoring.seconds), job.deadline, now)
            if error is not None:
                raise self._refused(error)
            request = ForcedTicket(job, now)
            self._scoring.add(request)
            self._table.open(request)
        return request.future

    def cancel(self, future: Future[Any]) -> bool:
        """Return a job up, wherever it is; False when it is already resolved. The same as future.cancel()."""
        return future.cancel()

    def start(self) -> None:
        """Start the threads."""
        with self._changed:
            self._state = "running"
        for thread in self._stages:
            thread.start()
        for decoder in self._decoders:
            decoder.start()

    def stop(self, drain: float = 0.0) -> None:
        """Accept no more, give what is in hand `drain` seconds to finish, fail the rest with NotReady; blocks."""
        with self._changed:
            if self._state == "running":
                self._state = "draining"
            self._changed.wait_for(lambda: not len(self._table) or self._state != "draining", timeout=drain)
            if self._state != "dead":
                self._state = "stopped"
            self._changed.notify_all()
        for decoder in self._decoders:
            decoder.join(timeout=10.0)
        for thread in self._stages:
            thread.join(timeout=10.0)
        self._table.fail_all(NotReady(f"The model {self.name} has been stopped."))

    def retire(self) -> None:
        """Stop without waiting for anything; whoever still waits gets NotReady. May be called from any thread."""
        with self._changed:
            if self._state in ("new", "running", "draining"):
                self._state = "stopped"
            self._changed.notify_all()

    def _require_room(self, sentences: int, tokens: int, deadline: float | None, now: float) -> None:
        """Raise unless so much more may wait: there is a place, and it comes up early enough."""
        require_running(self.name, self._state)
        error = refusal(self.name, self._queue_status(sentences, tokens), deadline, now)
        if error is not None:
            raise self._refused(error)

    def _queue_status(self, sentences: int, tokens: int) -> QueueStatus:
        """Return whether so much more has a place, and how long what is before it will take."""
        wait = self._fair_share.throughput.seconds_for(self._scheduler.tokens) if len(self._scheduler) else None
        return QueueStatus(not self._scheduler.has_room(sentences, tokens), wait)

    def _refused(self, error: Overloaded) -> Overloaded:
        self._observer.rejected(self.name, error.code)
        return error

    def _goes_on(self) -> bool:
        """Return whether decoders are to go on: nobody has stopped the worker, and nothing is broken."""
        broken = any(thread.died for thread in self._stages) or self._faults.in_a_row >= self._settings.failures
        return self._state in ("running", "draining") and not broken

    def _ended(self) -> None:
        """Learn that a decoder has ended: it was told to, or the worker is dead and so are the others."""
        with self._changed:
            self._at_work -= 1
            if self._state != "stopped":
                self._state = "dead"
            dead, last = self._state == "dead", not self._at_work
            for thread in self._stages:
                thread.end()
            self._changed.notify_all()
        if dead:
            self._table.fail_all(EngineFailure.of_a_model(self.name))
        elif last:
            _LOG.info("The engine threads of %s have ended", self.name)
            self._table.fail_all(NotReady(f"The model {self.name} has been stopped."))
