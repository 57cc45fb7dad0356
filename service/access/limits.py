"""Rate limits by key or address, counted in this process or in Redis for all replicas together."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from limits import RateLimitItem, parse_many
from limits.aio.storage import RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter

from service.access.window_storage import WindowStorage
from service.logs import describe_exception, get_logger

log = get_logger(__name__)

Fits = Callable[[FixedWindowRateLimiter, RateLimitItem], Awaitable[bool]]

MEMORY = "memory://"
STORAGE_TIMEOUT_SECONDS = 0.25  # a limit must not cost more time than a translation
STORAGE_PAUSE_SECONDS = 5.0  # time until a storage that failed is tried again


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that is used up, and the time until it has room again."""

    limit: str  # in words: "10 requests in 1 minute"
    seconds: int


def parse_limits(text: str) -> tuple[RateLimitItem, ...]:
    """Return limits such as `10/second;300/minute`; raise ValueError."""
    return tuple(parse_many(text)) if text.strip() else ()


class RateLimits:
    """Counts the calls of each client; if the shared storage fails, this process counts alone until it is back.

    A window begins with a client's first call and lasts for its whole length, so that Retry-After is exact; the price
    is that a client may use up two windows in quick succession.
    """

    def __init__(self, uri: str = MEMORY, on_storage_failure: Callable[[], None] = lambda: None) -> None:
        self._alone = FixedWindowRateLimiter(WindowStorage())
        self._storage = None if uri == MEMORY else open_redis(uri)
        self._shared = None if self._storage is None else FixedWindowRateLimiter(self._storage)
        self._on_storage_failure = on_storage_failure
        self._paused_until = 0.0

    async def count(self, client: str, limits: Sequence[RateLimitItem], cost: int = 1) -> Exceeded | None:
        """Count a call of a client as `cost` calls; return None if all its limits have room for it."""
        return await self._first_exceeded(limits, lambda limiter, limit: limiter.hit(limit, client, cost=cost), client)

    async def full(self, client: str, limits: Sequence[RateLimitItem]) -> Exceeded | None:
        """Return None if all limits of a client have room for one more call; count nothing."""
        return await self._first_exceeded(limits, lambda limiter, limit: limiter.test(limit, client), client)

    async def _first_exceeded(self, limits: Sequence[RateLimitItem], fits: Fits, client: str) -> Exceeded | None:
        for limit in limits:
            seconds = await self._wait_for(limit, fits, client)
            if seconds is not None:
                unit = f"{limit.GRANULARITY.name}{'s' if limit.multiples > 1 else ''}"
                return Exceeded(f"{limit.amount} requests in {limit.multiples} {unit}", seconds)
        return None

    async def _wait_for(self, limit: RateLimitItem, fits: Fits, client: str) -> int | None:
        if self._shared is not None and time.monotonic() >= self._paused_until:
            try:
                async with asyncio.timeout(STORAGE_TIMEOUT_SECONDS):
                    return await _wait_in(self._shared, limit, fits, client)
            except Exception as error:
                # To refuse all calls, or none, would be worse than a count in this process alone.
                self._paused_until = time.monotonic() + STORAGE_PAUSE_SECONDS
                self._on_storage_failure()
                log.warning(
                    "the storage of rate limits does not answer; this process counts alone for now",
                    **describe_exception(error),
                )
        return await _wait_in(self._alone, limit, fits, client)

    async def close(self) -> None:
        """Close the connections to the storage."""
        if self._storage is not None:
            await self._storage.bridge.storage.aclose()  # type: ignore[attr-defined]


async def _wait_in(limiter: FixedWindowRateLimiter, limit: RateLimitItem, fits: Fits, client: str) -> int | None:
    """Return None if the call fits into the limit, else the seconds until it fits."""
    if await fits(limiter, limit):
        return None
    stats = await limiter.get_window_stats(limit, client)
    return min(max(1, math.ceil(stats.reset_time - time.time())), limit.get_expiry())


def open_redis(uri: str) -> RedisStorage:
    """Return the storage at a redis:// or rediss:// address; it connects at the first use."""
    return RedisStorage(
        f"async+{uri}",
        implementation="redispy",
        key_prefix="translucent",
        socket_timeout=STORAGE_TIMEOUT_SECONDS,
        socket_connect_timeout=STORAGE_TIMEOUT_SECONDS,
    )
