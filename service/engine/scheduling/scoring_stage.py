"""Scores given translations in its own thread, so that no running sentence waits for it.

A forced run reads nothing of the running batches, takes as long as several decoder steps, and the first one opens the
graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from service.engine.attention.selection import kept
from service.engine.errors import EngineError
from service.engine.model.interface import Model
from service.engine.scheduling.faults import Faults
from service.engine.scheduling.requests import ForcedTicket, RequestTable
from service.engine.scheduling.stage_thread import StageThread
from service.engine.scheduling.throughput import ThroughputEstimator


class BatchLimits(NamedTuple):
    """How much is scored in one run."""

    jobs: int
    tokens: int  # of both sides; a single job may have more


class ScoringStage:
    """Takes forced jobs in the order they came, several at once."""

    def __init__(
        self,
        model: Model,
        table: RequestTable,
        faults: Faults,
        finished: Callable[[float], None],
        clock: Callable[[], float],
        most: BatchLimits,
    ) -> None:
        self.thread = StageThread("scoring", table, clock, self._take, self._force)
        self._model, self._table, self._faults = model, table, faults
        self._finished = finished  # told how many seconds a run took
        self._clock, self._most = clock, most
        self._waiting: deque[ForcedTicket] = deque()
        self._tokens = 0  # of those that wait
        self._throughput = ThroughputEstimator()

    @property
    def seconds(self) -> float | None:
        """Return how long those that wait will take; None where nobody waits or that is not known."""
        return self._throughput.seconds_for(self._tokens) if self._waiting else None

    def __len__(self) -> int:
        """Return the number of jobs that wait."""
        return len(self._waiting)

    def add(self, request: ForcedTicket) -> None:
        """Queue a job; the caller holds the lock."""
        self._waiting.append(request)
        self._tokens += _tokens(request)
        self.thread.wake()

    def _take(self) -> list[ForcedTicket]:
        taken: list[ForcedTicket] = []
        tokens = 0
        while self._waiting and len(taken) < self._most.jobs:
            tokens += _tokens(self._waiting[0])
            if taken and tokens > self._most.tokens:
                break
            taken.append(self._waiting.popleft())
        left = sum(map(_tokens, taken))
        self._tokens -= left
        self._throughput.round(self._clock(), left, self._tokens)
        return taken

    def _force(self, requests: list[ForcedTicket], begun: float) -> None:
        """Score given translations together and hand the results over."""
        wanted: list[ForcedTicket] = []
        for request in requests:
            if request.job.deadline is not None and request.job.deadline <= begun:
                self._faults.late(request)
            elif not request.future.cancelled():
                wanted.append(request)
        if not wanted:
            return
        try:
            results = self._model.score_batch([(request.job.source_ids, request.job.target_ids) for request in wanted])
        except Exception:
            self._faults.failed("forced", wanted)
            return
        self._faults.worked("forced")
        self._finished(self._clock() - begun)
        for request, result in zip(wanted, results, strict=True):
            try:
                self._table.resolve(request, kept(result, request.job.wanted))
            except EngineError as error:
                self._table.fail(request, error)


def _tokens(request: ForcedTicket) -> int:
    return len(request.job.source_ids) + len(request.job.target_ids)
