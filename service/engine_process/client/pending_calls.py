"""The calls to an engine process that have no answer yet."""

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from service.engine import EngineError


class PendingCalls:
    """Numbers calls and resolves each once; may be called from any thread, since whoever removes a call answers it."""

    def __init__(self, cancelled: Callable[[int, int], None]) -> None:
        """Start without calls; `cancelled` is called with the worker and the number of a cancelled call."""
        self._cancelled = cancelled
        self._numbers = itertools.count()
        self._calls: dict[int, tuple[int, Future[Any]]] = {}  # the worker of each, and its future

    def open(self, worker: int) -> tuple[int, Future[Any]]:
        """Return a number and a future for a call that will be sent; its cancellation is reported to `cancelled`."""
        number, future = next(self._numbers), Future[Any]()
        self._calls[number] = worker, future
        future.add_done_callback(partial(self._done, number))
        return number, future

    def resolve(self, number: int, result: object) -> None:
        """Answer a call with a result, unless it was cancelled."""
        _, future = self._calls.pop(number, (0, None))
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(result)

    def fail(self, number: int, error: EngineError) -> None:
        """Answer a call with an error, unless it was cancelled."""
        _, future = self._calls.pop(number, (0, None))
        if future is not None and future.set_running_or_notify_cancel():
            future.set_exception(error)

    def fail_all(self, error: EngineError, worker: int) -> None:
        """Fail all pending calls of a worker."""
        for number, (owner, _) in self._calls.copy().items():
            if owner == worker:
                self.fail(number, error)

    def _done(self, number: int, future: Future[Any]) -> None:
        if future.cancelled() and (call := self._calls.pop(number, None)):
            self._cancelled(call[0], number)
