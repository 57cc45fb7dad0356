"""Divides the waiting sentences of a model among its decode threads."""

import math
from typing import Generic

from service.engine.scheduling.admission import ThroughputEstimator
from service.engine.scheduling.scheduler import Owner, Plan, Scheduler


def share_of(number: int, rows: int, threads: int, first_rows: int) -> int:
    """Return the rows that a decode thread should run, of all that are running or ready.

    Each thread gets an equal part, but at least `first_rows`, if there are so many: later threads get what is left.
    """
    share = 0
    for place in range(number + 1):
        rows -= share
        share = max(min(rows, first_rows), math.ceil(rows / (threads - place)))
    return share


class Division(Generic[Owner]):
    """Divides the waiting sentences among the decode threads of one model, and measures the speed of the queue."""

    def __init__(self, scheduler: Scheduler[Owner], threads: int, first_rows: int = 0) -> None:
        self.throughput = ThroughputEstimator()
        self._scheduler, self._first_rows = scheduler, first_rows
        self._running = [(0, 0)] * threads  # rows and sentences of each

    @property
    def rows(self) -> int:
        """Return the number of running rows."""
        return sum(rows for rows, _ in self._running)

    @property
    def sentences(self) -> int:
        """Return the number of running sentences."""
        return sum(sentences for _, sentences in self._running)

    def plan(self, number: int, now: float, rows: int, sentences: int) -> Plan[Owner]:
        """Return the sentences that join a thread with this load: at most its share of running and ready ones."""
        self.note(number, rows, sentences)
        before, size = self._scheduler.tokens, len(self._running)
        share = self._share(number) if size > 1 else None
        plan = self._scheduler.plan(now, rows, self._scheduler.budget.rows // size, share)
        self.throughput.round(now, before - self._scheduler.tokens, self._scheduler.tokens)
        self.note(number, rows + plan.rows, sentences + len(plan.admitted))
        return plan

    def has_work(self, number: int) -> bool:
        """Return whether an idle thread may take a sentence: one is ready, and the threads before it have enough."""
        return self._scheduler.has_ready() and (number == 0 or self._share(number) > 0)

    def is_settled(self, number: int, rows: int, sentences: int) -> bool:
        """Return whether this is the load that was noted last, and the empty queue is no longer measured."""
        return self._running[number] == (rows, sentences) and not self.throughput.is_measuring

    def note(self, number: int, rows: int, sentences: int) -> None:
        """Record the load of a thread."""
        self._running[number] = (rows, sentences)

    def _share(self, number: int) -> int:
        rows = self.rows + self._scheduler.ready_rows
        return share_of(number, rows, len(self._running), self._first_rows)
