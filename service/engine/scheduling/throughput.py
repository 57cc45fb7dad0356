"""How fast the queue moves: learnt while somebody waits, because only a full batch shows what a model can do."""

from __future__ import annotations

import math

MEMORY_SECONDS = 10.0  # after which a measurement counts a third
LEAST_SECONDS = 0.5  # of waiting seen, before anything is said


class ThroughputEstimator:
    """Tokens that leave the queue while it is not empty, over the time that takes; told the time, reads no clock."""

    def __init__(self) -> None:
        self._tokens = self._seconds = 0.0
        self._since: float | None = None  # when the queue was last seen with somebody left in it

    def round(self, now: float, left: int, waiting: int) -> None:
        """Learn that so many tokens have left the queue just now and so many still wait."""
        if self._since is not None:
            seconds = max(now - self._since, 0.0)
            share = math.exp(-seconds / MEMORY_SECONDS)
            self._tokens = share * self._tokens + left
            self._seconds = share * self._seconds + seconds
        self._since = now if waiting else None

    def seconds_for(self, tokens: int) -> float | None:
        """Return how long so many waiting tokens will take to leave the queue; None where that is not known yet."""
        if self._seconds < LEAST_SECONDS or self._tokens < 1:
            return None
        return tokens * self._seconds / self._tokens
