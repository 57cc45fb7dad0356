"""One model's thread: takes jobs from any thread, decodes them together, and resolves every future it gave out.

Between two decoder steps the loop drops whoever left or is too late and lets waiting sentences join; an idle worker
starts at once. A second thread encodes who waits, a third scores given translations. A step that fails fails the
sentences in flight; several failures in a row, or anything that ends a thread, make the worker dead: everybody waiting
gets an error and nothing is accepted any more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from service.engine.errors import EngineFailure, NotReady, Overloaded
from service.engine.execution import Execution
from service.engine.faults import Faults
from service.engine.forcing import Forcing, Together
from service.engine.model import Model
from service.engine.observer import NULL_OBSERVER, Observer
from service.engine.options import check_forced, check_job
from service.engine.pace import Pace
from service.engine.preparation import Preparation
from service.engine.scheduler import SHORT_TOKENS, Budget, Scheduler, Waiting
from service.engine.tickets import ForcedTicket, Ledger, SentenceTicket
from service.engine.types import ForcedJob, ForcedResult, SentenceJob, SentenceResult

State = Literal["new", "running", "draining", "stopped", "dead"]

IDLE_SECONDS = 1.0  # how often an idle worker shows that it lives
LEAST_RETRY, MOST_RETRY = 1.0, 60.0  # seconds a refused caller is told to wait
LATER = 0.5  # which part of the queue should have gone by then
FORCED = Together(jobs=16, tokens=2048)
LONGEST_WAIT = 0.5  # which part of its time a request may spend in the queue: the measured pace may be wrong by half
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much a worker takes on and how much failure it bears."""

    budget: Budget = field(default_factory=Budget)
    forced: Together = FORCED  # in one run
    failures: int = 3  # in a row, after which the worker is dead


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker has in hand at one moment."""

    queued: int  # sentences waiting
    forced: int  # forced jobs waiting
    sentences: int  # sentences running
    rows: int  # rows running


class Worker:
    """Runs one model in one thread; all public methods may be called from any thread."""

    def __init__(
        self,
        name: str,
        model: Model,
        settings: WorkerSettings | None = None,
        observer: Observer = NULL_OBSERVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._heartbeat = clock()
        self._model = model
        self._settings = settings or WorkerSettings()
        self._observer = observer
        self._clock = clock
        self._ledger = Ledger()
        self._changed = self._ledger.changed
        self._state: State = "new"
        self._scheduler: Scheduler[SentenceTicket] = Scheduler(self._settings.budget)
        self._faults = Faults(name, self._ledger, observer)
        self._execution = Execution(name, model, self._ledger, self._faults, observer, clock)
        told = partial(observer.stage, name)
        self._preparation = Preparation(
            model, self._scheduler, self._ledger, self._faults, partial(told, "encode"), clock
        )
        self._forcing = Forcing(model, self._ledger, self._faults, partial(told, "force"), clock, self._settings.forced)
        self._beside = (self._preparation.thread, self._forcing.thread)
        self._pace = Pace()
        self._told = (0, 0, 0)  # what the observer last heard of rows, sentences and the queue
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)

    @property
    def state(self) -> State:
        """Give the stage of life the worker is in; only a running one accepts jobs."""
        return self._state

    @property
    def alive(self) -> bool:
        """Say whether the worker is at work: started, not stopped, not dead."""
        return self._state in ("running", "draining") and self._thread.is_alive()

    @property
    def heartbeat(self) -> float:
        """Give when the model last showed that it lives; at most IDLE_SECONDS ago unless a run hangs."""
        begun = (thread.begun for thread in self._beside)
        return min([self._heartbeat, *(moment for moment in begun if moment is not None)])

    @property
    def load(self) -> Load:
        """Give the present counts of waiting and running sentences and rows."""
        return Load(len(self._scheduler), len(self._forcing), self._execution.sentences, self._execution.rows)

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
            tickets = [SentenceTicket(job, now) for job in checked]
            self._scheduler.add(
                Waiting(
                    ticket,
                    ticket.job.search.beam_size,
                    len(ticket.job.source_ids),
                    ticket.job.deadline,
                    short=tokens <= SHORT_TOKENS,
                )
                for ticket in tickets
            )
            for ticket in tickets:
                self._ledger.open(ticket)
            self._preparation.thread.wake()
        self._observer.sentences_queued(self.name, len(tickets))
        return [ticket.future for ticket in tickets]

    def check_room(self, deadline: float | None = None) -> None:
        """Raise what submit_all would raise for the smallest request: worth asking before a text is worked on."""
        with self._changed:
            self._require_room(1, 1, deadline, self._clock())

    def submit_forced(self, job: ForcedJob) -> Future[ForcedResult]:
        """Queue the scoring of a given translation; raises and fails as submit_all."""
        check_forced(job, self._model.source_limit, self._model.target_limit)
        with self._changed:
            self._require_running()
            if len(self._forcing) >= self._settings.budget.queued_sentences:
                raise self._overloaded()
            ticket = ForcedTicket(job, self._clock())
            self._forcing.add(ticket)
            self._ledger.open(ticket)
        return ticket.future

    def cancel(self, future: Future[Any]) -> bool:
        """Give a job up, wherever it is; False when it is already resolved. The same as future.cancel()."""
        return future.cancel()

    def start(self) -> None:
        """Start the thread."""
        with self._changed:
            self._state = "running"
        for thread in (self._thread, *self._beside):
            thread.start()

    def stop(self, drain: float = 0.0) -> None:
        """Accept no more, give what is in hand `drain` seconds to finish, fail the rest with NotReady; blocks."""
        with self._changed:
            if self._state == "running":
                self._state = "draining"
            self._changed.wait_for(lambda: not len(self._ledger) or self._state != "draining", timeout=drain)
            if self._state != "dead":
                self._state = "stopped"
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        for thread in self._beside:
            thread.join(timeout=10.0)
        self._ledger.fail_all(NotReady(f"The model {self.name} has been stopped."))

    def retire(self) -> None:
        """Stop without waiting for anything; whoever still waits gets NotReady. May be called from any thread."""
        with self._changed:
            if self._state in ("new", "running", "draining"):
                self._state = "stopped"
            self._changed.notify_all()

    def _require_running(self) -> None:
        if self._state != "running":
            what = "has failed" if self._state == "dead" else "is not ready" if self._state == "new" else "is stopping"
            raise NotReady(f"The model {self.name} {what} and takes no work.")

    def _require_room(self, sentences: int, tokens: int, deadline: float | None, now: float) -> None:
        """Raise unless so much more may wait: there is a place, and it comes up early enough."""
        self._require_running()
        if not self._scheduler.has_room(sentences, tokens):
            raise self._overloaded()
        if deadline is not None and len(self._scheduler):
            wait = self._pace.seconds_for(self._scheduler.tokens)
            if wait is not None and wait > LONGEST_WAIT * (deadline - now):
                raise self._overloaded()

    def _overloaded(self) -> Overloaded:
        wait = self._pace.seconds_for(self._scheduler.tokens) or 0.0
        seconds = min(max(LATER * wait, LEAST_RETRY), MOST_RETRY)
        self._observer.rejected(self.name, Overloaded.code)
        return Overloaded(f"Too much is waiting for the model {self.name}; try again later.", retry_after=seconds)

    def _run(self) -> None:
        """Be the thread."""
        try:
            while self._wait_for_work():
                self._round()
        except BaseException:
            # Whatever it is, nobody above us in this thread could do better than to record it.
            _LOG.exception("The engine thread of %s ended unexpectedly", self.name)
        finally:
            with self._changed:
                if self._state != "stopped":
                    self._state = "dead"
                dead = self._state == "dead"
                for thread in self._beside:
                    thread.end()
                self._changed.notify_all()
            if not dead:
                _LOG.info("The engine thread of %s has ended", self.name)
            self._ledger.fail_all(
                EngineFailure(f"The model {self.name} has failed and takes no more work.")
                if dead
                else NotReady(f"The model {self.name} has been stopped.")
            )

    def _wait_for_work(self) -> bool:
        """Wait until there is something to do; False when there is nothing more ever."""
        with self._changed:
            while self._state in ("running", "draining") and not self._broken():
                self._heartbeat = self._clock()
                if self._execution.rows or self._scheduler.has_ready() or self._ledger.has_abandoned():
                    return True
                self._changed.wait(IDLE_SECONDS)
        return False

    def _broken(self) -> bool:
        """Say whether the model has failed too often, or a thread beside this one has ended."""
        return any(thread.died for thread in self._beside) or self._faults.in_a_row >= self._settings.failures

    def _round(self) -> None:
        """Drop whoever left, admit whoever may join, step once."""
        now = self._clock()
        self._let_go(now)
        with self._changed:
            before = self._scheduler.tokens
            plan = self._scheduler.plan(now, self._execution.rows)
            if plan.admitted:
                self._preparation.thread.wake()
            self._pace.round(now, before - self._scheduler.tokens, self._scheduler.tokens)
        for ticket in plan.expired:
            self._faults.late(ticket)
        self._execution.admit(plan.admitted)
        self._tell_load()
        self._execution.step()
        if not self._execution.rows:
            self._tell_load()

    def _tell_load(self) -> None:
        """Tell the observer how much is running and waiting, if that has changed."""
        load = (self._execution.rows, self._execution.sentences, len(self._scheduler))
        if load != self._told:
            self._told = load
            self._observer.rows_changed(self.name, *load)

    def _let_go(self, now: float) -> None:
        """Drop the sentences whose callers left or whose time is up."""
        self._execution.drop_late(now)
        if not self._ledger.has_abandoned():
            return
        left = self._ledger.take_abandoned()
        with self._changed:
            waiting = len(self._scheduler.discard(left))
        rows = self._execution.rows
        running = self._execution.drop(left)
        if waiting or running:
            self._observer.cancelled(self.name, waiting + running, rows - self._execution.rows)
