"""A limit of time for a wait: `asyncio.timeout` with a third of its calls, for the waits of every request."""

from __future__ import annotations

import asyncio
from types import TracebackType


class TimeLimit:
    """Cancels the task inside it after so many seconds, and turns that into TimeoutError; `with TimeLimit(2.5):`.

    A cancellation by anyone else passes through, as with `asyncio.timeout`.
    """

    __slots__ = ("_before", "_seconds", "_task", "_timer", "expired")

    def __init__(self, seconds: float) -> None:
        self.expired = False
        self._seconds = seconds

    def __enter__(self) -> TimeLimit:
        """Start the clock."""
        task = asyncio.current_task()
        assert task is not None, "a wait is in a task"
        self._task, self._before = task, task.cancelling()
        self._timer = task.get_loop().call_later(max(self._seconds, 0.0), self._expire)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Stop the clock; raise TimeoutError if it had run out and nobody else cancelled the task."""
        self._timer.cancel()
        if self.expired and self._task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()
