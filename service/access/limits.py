"""Rate limits by key or address, counted in this process."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from limits import RateLimitItem, parse_many
from limits.aio.strategies import FixedWindowRateLimiter

from service.access.window_storage import WindowStorage

Fits = Callable[[RateLimitItem], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that is used up, and the time until it has room again."""

    limit: str  # in words: "10 requests in 1 minute"
    seconds: int


def parse_limits(text: str) -> tuple[RateLimitItem, ...]:
    """Return limits such as `10/second;300/minute`; raise ValueError."""
    return tuple(parse_many(text)) if text.strip() else ()


class RateLimits:
    """Counts the calls of each client in this process; a proxy can count for several replicas.

    A window begins with a client's first call and lasts for its whole length, so that Retry-After is exact; the price
    is that a client may use up two windows in quick succession.
    """

    def __init__(self) -> None:
        self._limiter = FixedWindowRateLimiter(WindowStorage())

    async def count(self, client: str, limits: Sequence[RateLimitItem], cost: int = 1) -> Exceeded | None:
        """Count a call of a client as `cost` calls; return None if all its limits have room for it."""
        return await self._first_exceeded(limits, lambda limit: self._limiter.hit(limit, client, cost=cost), client)

    async def full(self, client: str, limits: Sequence[RateLimitItem]) -> Exceeded | None:
        """Return None if all limits of a client have room for one more call; count nothing."""
        return await self._first_exceeded(limits, lambda limit: self._limiter.test(limit, client), client)

    async def _first_exceeded(self, limits: Sequence[RateLimitItem], fits: Fits, client: str) -> Exceeded | None:
        for limit in limits:
            if not await fits(limit):
                stats = await self._limiter.get_window_stats(limit, client)
                seconds = min(max(1, math.ceil(stats.reset_time - time.time())), limit.get_expiry())
                unit = f"{limit.GRANULARITY.name}{'s' if limit.multiples > 1 else ''}"
                return Exceeded(f"{limit.amount} requests in {limit.multiples} {unit}", seconds)
        return None
