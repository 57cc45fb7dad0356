"""Counts calls in the memory of one process by a clock that nobody can set; storages of `limits` use time.time.

Its own storage in memory refuses a client for an hour more after the system's clock was set back by one.
"""

import heapq
import time
from collections.abc import Callable

from limits.aio.storage import Storage


class WindowStorage(Storage):
    """The windows that are not over, each with its count; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._ends: dict[str, float] = {}
        self._next: list[tuple[float, str]] = []  # the same, the first end first

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return the errors of the storage: none of its own."""
        return ValueError

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count calls, in a window of `expiry` seconds that begins with the first one; return their sum."""
        self._forget_past()
        if key not in self._ends:
            self._ends[key] = self._clock() + expiry
            heapq.heappush(self._next, (self._ends[key], key))
        self._counts[key] = self._counts.get(key, 0) + amount
        return self._counts[key]

    async def get(self, key: str) -> int:
        """Return the calls in the present window."""
        self._forget_past()
        return self._counts.get(key, 0)

    async def get_expiry(self, key: str) -> float:
        """Return the end of the present window as a time of time.time, which the library expects."""
        now = self._clock()
        return time.time() + max(0.0, self._ends.get(key, now) - now)

    async def check(self) -> bool:
        """Return whether the storage works."""
        return True

    async def clear(self, key: str) -> None:
        """End the window of a key."""
        self._counts.pop(key, None)
        self._ends.pop(key, None)

    async def reset(self) -> int:
        """End all windows; return their number."""
        windows = len(self._ends)
        self._counts.clear()
        self._ends.clear()
        self._next.clear()
        return windows

    def _forget_past(self) -> None:
        now = self._clock()
        while self._next and self._next[0][0] <= now:
            end, key = heapq.heappop(self._next)
            if self._ends.get(key) == end:  # not cleared meanwhile
                del self._ends[key], self._counts[key]
