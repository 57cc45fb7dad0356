"""The jobs that an engine process has been given and has not answered yet."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.engine import EngineError, TokenListener


@dataclass(frozen=True, slots=True, eq=False)
class PendingCall:
    """A job: its worker, its future, and the listener for its tokens."""

    worker: int
    future: Future[Any]
    listener: TokenListener | None = None


class PendingCalls:
    """Numbers jobs and resolves each once; safe to use from any thread."""

    def __init__(self, left: Callable[[int, int], None]) -> None:
        """Begin with none; `left` is called with the worker and the number of a job whose caller has left."""
        self._left = left
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._jobs: dict[int, PendingCall] = {}

    def open(self, worker: int, listener: TokenListener | None = None) -> tuple[int, Future[Any]]:
        """Return a number and a future to a job that is about to be sent."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            self._jobs[number] = PendingCall(worker, future, listener)
        return number, future

    def watched(self, number: int, future: Future[Any]) -> Future[Any]:
        """Return the future of a job that has been sent; from now on `left` hears of it when it is cancelled."""
        future.add_done_callback(partial(self._done, number))
        return future

    def listener(self, number: int) -> TokenListener | None:
        """Return the listener for a job's tokens, if there is one."""
        pending = self._jobs.get(number)
        return None if pending is None else pending.listener

    def resolve(self, number: int, result: object) -> None:
        """Hand a result over, unless the caller has left."""
        if future := self._close(number):
            future.set_result(result)

    def fail(self, number: int, error: EngineError) -> None:
        """Hand an error over, unless the caller has left."""
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
            self._left(pending.worker, number)
