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


def next_rate(held: float, failed: float | None, first: float) -> float:
    """The next rate to try: by 1.4 upwards until one fails, then half-way (by ratio) between held and failed."""
    if failed is not None:
        return math.sqrt(max(held, first / 4) * failed)
    return first if held == 0 else held * 1.4
