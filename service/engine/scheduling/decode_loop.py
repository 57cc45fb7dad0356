"""One decoding thread of a worker: between two steps it drops whoever left or is too late and lets others join."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from service.engine.scheduling.context import Context
from service.engine.scheduling.decode_step import DecodeStep
from service.engine.scheduling.fair_share import FairShare

IDLE_SECONDS = 1.0  # how often an idle decoder shows that it lives
_LOG = logging.getLogger(__name__)


class DecodeLoop:
    """Steps batches of its own, as long as `goes_on` says so.

    `joined` is called when somebody has left the queue, both with the lock held; `ended` when the thread ends for good.
    """

    def __init__(
        self,
        context: Context,
        fair_share: FairShare,
        number: int,
        goes_on: Callable[[], bool],
        joined: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.heartbeat = context.clock()
        self._name, self._number = context.name, number
        self._decode_step, self._fair_share = DecodeStep(context, number), fair_share
        self._faults, self._observer, self._clock = context.faults, context.observer, context.clock
        self._changed, self._departures = context.table.changed, context.table.departures()
        self._goes_on, self._joined, self._ended = goes_on, joined, ended
        self._thread = threading.Thread(target=self._run, name=f"engine-{self._name}-{number}", daemon=True)

    @property
    def alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended, if it was ever started."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        """Be the thread."""
        try:
            while self._wait_for_work():
                self._round()
        except BaseException:
            # Whatever it is, nobody above us in this thread could do better than to record it.
            _LOG.exception("The engine thread %d of %s ended unexpectedly", self._number, self._name)
        finally:
            self._ended()

    def _wait_for_work(self) -> bool:
        """Wait until there is something to do; False when there is nothing more ever."""
        with self._changed:
            while self._goes_on():
                self.heartbeat = self._clock()
                if self._decode_step.rows or self._fair_share.scheduler.has_ready() or self._departures:
                    return True
                self._changed.wait(IDLE_SECONDS)
        return False

    def _round(self) -> None:
        """Drop whoever left, admit whoever may join, step once."""
        now = self._clock()
        self._let_go(now)
        with self._changed:
            plan = self._fair_share.plan(self._number, now, self._decode_step.rows, self._decode_step.sentences)
            if plan.admitted:
                self._joined()
        for request in plan.expired:
            self._faults.late(request)
        self._decode_step.admit(plan.admitted)
        self._decode_step.step()
        if not self._decode_step.rows:
            with self._changed:
                self._fair_share.report(self._number, 0, 0)

    def _let_go(self, now: float) -> None:
        """Drop the sentences whose callers left or whose time is up."""
        self._decode_step.drop_late(now)
        if not self._departures:
            return
        with self._changed:
            left = self._departures.copy()
            self._departures.clear()
            waiting = len(self._fair_share.scheduler.discard(left))
        rows = self._decode_step.rows
        running = self._decode_step.drop(left)
        if waiting or running:
            self._observer.cancelled(self._name, waiting + running, rows - self._decode_step.rows)
