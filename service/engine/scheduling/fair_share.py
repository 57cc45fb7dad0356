"""What the decoding threads of one model share: the queue, how fast it moves, and how much each of them has in hand."""

from __future__ import annotations

import math

from service.engine.events import Observer
from service.engine.scheduling.requests import SentenceTicket
from service.engine.scheduling.scheduler import Plan, Scheduler
from service.engine.scheduling.throughput import ThroughputEstimator


class FairShare:
    """Divides the waiting sentences among decode threads; callers hold the request table's lock."""

    def __init__(self, name: str, scheduler: Scheduler[SentenceTicket], observer: Observer, size: int) -> None:
        self.scheduler, self.throughput = scheduler, ThroughputEstimator()
        self._name, self._observer = name, observer
        self._running = [(0, 0)] * size  # rows and sentences of each decoder
        self._told = (0, 0, 0)  # what the observer last heard of rows, sentences and the queue

    @property
    def rows(self) -> int:
        """Return the number of rows that run."""
        return sum(rows for rows, _ in self._running)

    @property
    def sentences(self) -> int:
        """Return the number of sentences that run."""
        return sum(sentences for _, sentences in self._running)

    def plan(self, number: int, now: float, rows: int, sentences: int) -> Plan[SentenceTicket]:
        """Return who joins a decoder that has so much in hand: at most its fair share of all that runs and is ready."""
        self._running[number] = (rows, sentences)
        before, size = self.scheduler.tokens, len(self._running)
        fair = math.ceil((self.rows + self.scheduler.ready_rows()) / size) if size > 1 else None
        plan = self.scheduler.plan(now, rows, self.scheduler.budget.rows // size, fair)
        self.throughput.round(now, before - self.scheduler.tokens, self.scheduler.tokens)
        joining = sum(request.job.search.beam_size for request in plan.admitted)
        self.report(number, rows + joining, sentences + len(plan.admitted))
        return plan

    def report(self, number: int, rows: int, sentences: int) -> None:
        """Note what a decoder has in hand, and tell the observer how much runs and waits if that has changed."""
        self._running[number] = (rows, sentences)
        load = (self.rows, self.sentences, len(self.scheduler))
        if load != self._told:
            self._told = load
            self._observer.rows_changed(self._name, *load)
