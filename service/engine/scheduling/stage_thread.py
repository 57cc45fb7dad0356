"""A background thread for one stage.

ONNX Runtime releases the interpreter's lock, so the runs of several threads overlap.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from service.engine.scheduling.requests import RequestTable

Item = TypeVar("Item")

_LOG = logging.getLogger(__name__)


class StageThread(Generic[Item]):
    """Does what there is to do, several items at once, until it is told to end."""

    def __init__(
        self,
        name: str,
        table: RequestTable,
        clock: Callable[[], float],
        take: Callable[[], list[Item]],
        work: Callable[[list[Item], float], None],
    ) -> None:
        """Remember what to do: `take`, called with the lock held, says what is next; `work` is told when it began."""
        self.died = False
        self._name, self._clock = name, clock
        self._table = table
        self._wanted = threading.Condition(table.lock)
        self._take, self._work = take, work
        self._begun: float | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def begun(self) -> float | None:
        """Return when the work that is under way began, if any is."""
        return self._begun

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Look again for something to do; the caller holds the lock."""
        self._wanted.notify()

    def end(self) -> None:
        """Take nothing more; the caller holds the lock."""
        self._ended = True
        self._wanted.notify()

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended, if it was ever started."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        """Be the thread."""
        try:
            while items := self._next():
                self._begun = self._clock()
                self._work(items, self._begun)
                self._begun = None
        except BaseException:
            # Whatever it is, nobody above us in this thread could do better than to record it; the worker ends too.
            _LOG.exception("The thread %s ended unexpectedly", self._name)
            with self._table.changed:
                self.died = True
                self._table.changed.notify_all()

    def _next(self) -> list[Item]:
        """Wait for something to do; nothing when there will be nothing any more."""
        with self._wanted:
            while not self._ended:
                if items := self._take():
                    return items
                self._wanted.wait()
        return []
