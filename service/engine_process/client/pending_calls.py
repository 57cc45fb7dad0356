"""The calls to an engine process that have no answer yet."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.engine import EngineError


@dataclass(frozen=True, slots=True, eq=False)
class PendingCall:
    """A call: its worker and its future."""

    worker: int
    future: Future[Any]


class PendingCalls:
    """Numbers calls and resolves each once; thread-safe."""

    def __init__(self, cancelled: Callable[[int, int], None]) -> None:
        """Start without calls; `cancelled` is called with the worker and the number of a cancelled call."""
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._jobs: dict[int, PendingCall] = {}

    def open(self, worker: int) -> tuple[int, Future[Any]]:
        """Return a number and a future for a call that will be sent."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            self._jobs[number] = PendingCall(worker, future)
        return number, future

    def watch_cancellation(self, number: int, future: Future[Any]) -> Future[Any]:
        """Return the future of a call that has been sent; from now on its cancellation is reported to `cancelled`."""
        future.add_done_callback(partial(self._done, number))
        return future

    def resolve(self, number: int, result: object) -> None:
        """Answer a call with a result, unless it was cancelled."""
        if future := self._close(number):
            future.set_result(result)

    def fail(self, number: int, error: EngineError) -> None:
        """Answer a call with an error, unless it was cancelled."""
        if future := self._close(number):
            future.set_exception(error)

    def fail_all(self, error: EngineError, worker: int | None = None) -> None:
        """Fail all pending calls, or all of one worker."""
        for number, pending in self._jobs.copy().items():
            if worker in (None, pending.worker):
                self.fail(number, error)

    def _close(self, number: int) -> Future[Any] | None:
        with self._lock:
            pending = self._jobs.pop(number, None)
        if pending is None or not pending.future.set_running_or_notify_cancel():
            return None
        return pending.future

    def _done(self, number: int, future: Future[Any]) -> None:
        if not future.cancelled():
            return
        with self._lock:
            pending = self._jobs.pop(number, None)
        if pending is not None:
            self._cancelled(pending.worker, number)
