"""Arrival times of requests, and statistics of their latencies."""

import math
import random
from collections.abc import Iterator, Sequence


def poisson(rate: float, seconds: float, seed: int) -> Iterator[float]:
    """Yield moments from 0 to ``seconds`` at which ``rate`` requests a second arrive independently of each other."""
    chance = random.Random(seed)
    moment = chance.expovariate(rate)
    while moment < seconds:
        yield moment
        moment += chance.expovariate(rate)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of the values do not exceed; infinity if there are none."""
    if not values:
        return float("inf")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def verdict(tries: Sequence[bool]) -> bool | None:
    """Return the result of the majority of at most three tries; None if one more is needed."""
    for answer in (True, False):
        if sum(each is answer for each in tries) >= 2:
            return answer
    return None


def should_raise_rate(held_rates: Sequence[bool]) -> bool:
    """Return whether to try the next rate: not after two rates in a row that were not sustained."""
    return len(held_rates) < 2 or any(held_rates[-2:])


def fine_rates(held: float, step: float, fine: float = 1.05) -> Iterator[float]:
    """Yield rates above the highest one that was held, in small steps, below the next one that was tried."""
    rate = held * fine
    while held < rate < 0.99 * held * step:
        yield rate
        rate *= fine
