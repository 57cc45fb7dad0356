"""The translations that wait for scoring."""

from collections import deque
from typing import Generic, NamedTuple

from service.engine.scheduling.admission import ThroughputEstimator
from service.engine.scheduling.scheduler import Owner


class BatchLimits(NamedTuple):
    """The limits of one scoring run."""

    jobs: int
    tokens: int  # of both sides together; a single job may have more


SCORING_LIMITS = BatchLimits(jobs=16, tokens=2048)


class ScoringQueue(Generic[Owner]):
    """The translations that wait for scoring, in the order of arrival."""

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._queue: deque[tuple[Owner, int]] = deque()  # with the tokens of each
        self._tokens = 0  # of all of them
        self._throughput = ThroughputEstimator()

    def __len__(self) -> int:
        """Return the number of waiting translations."""
        return len(self._queue)

    @property
    def seconds(self) -> float | None:
        """Return the time that the queue takes; None if it is empty, or if the time is not known."""
        return self._throughput.seconds_for(self._tokens) if self._queue else None

    def add(self, entry: Owner, tokens: int) -> None:
        """Add a translation at the end of the queue; its tokens are those of both sides."""
        self._queue.append((entry, tokens))
        self._tokens += tokens

    def take(self, now: float) -> list[Owner]:
        """Remove and return the translations to score next, together."""
        taken: list[Owner] = []
        tokens = 0
        while self._queue and len(taken) < self._limits.jobs:
            if taken and tokens + self._queue[0][1] > self._limits.tokens:
                break
            entry, own = self._queue.popleft()
            taken.append(entry)
            tokens += own
        self._tokens -= tokens
        self._throughput.round(now, tokens, self._tokens)
        return taken
