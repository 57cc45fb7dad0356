"""When requests come, and what their times amount to: pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence


def poisson(rate: float, seconds: float, seed: int) -> Iterator[float]:
    """Moments from 0 to ``seconds`` at which ``rate`` requests a second arrive independently of each other."""
    chance = random.Random(seed)
    moment = chance.expovariate(rate)
    while moment < seconds:
        yield moment
        moment += chance.expovariate(rate)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of the values do not exceed; infinite where there are none."""
    if not values:
        return float("inf")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def verdict(tries: Sequence[bool]) -> bool | None:
    """What two of at most three tries agree on; None: one more is needed. One bad moment must not decide."""
    for answer in (True, False):
        if sum(each is answer for each in tries) >= 2:
            return answer
    return None


def climbs_on(rungs: Sequence[bool]) -> bool:
    """Whether to try the next rate after these: not after two in a row that were not held."""
    return len(rungs) < 2 or any(rungs[-2:])
