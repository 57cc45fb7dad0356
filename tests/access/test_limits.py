"""Rate limits in memory and in a real Redis."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from service.access import limits as module
from service.access.limits import RateLimits, parse_limits
from service.access.window_storage import WindowStorage
from tests.support.redis import RedisProcess, needs_redis, running_redis


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", pytest.param("redis", marks=needs_redis)])
def uri(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue("redis").uri)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the storage more time, so that a busy machine does not make it look dead."""
    monkeypatch.setattr(module, "STORAGE_TIMEOUT_SECONDS", 5.0)


@pytest.fixture
async def limits(uri: str) -> AsyncIterator[RateLimits]:
    limits = RateLimits(uri)
    yield limits
    await limits.close()


async def test_a_client_gets_its_calls_and_no_more(limits: RateLimits) -> None:
    rule = parse_limits("3/minute")
    answers = [await limits.count("client", rule) for _ in range(5)]
    assert answers[:3] == [None] * 3
    for exceeded in answers[3:]:
        assert exceeded is not None
        assert exceeded.limit == "3 requests in 1 minute"
        assert 50 <= exceeded.seconds <= 61
    costs = [await limits.count("other", rule, cost) is None for cost in (1, 2, 1)]
    assert costs == [True, True, False]


async def test_the_wait_is_what_it_says(limits: RateLimits) -> None:
    rule = parse_limits("1/2 second")
    assert await limits.count("waits", rule) is None
    exceeded = await limits.count("waits", rule)
    assert exceeded is not None
    await asyncio.sleep(exceeded.seconds)
    assert await limits.count("waits", rule) is None


@pytest.mark.parametrize("jump", [-3600, 3600], ids=["back", "forward"])
async def test_a_system_clock_that_is_set_changes_no_window(
    limits: RateLimits, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    rule, client = parse_limits("1/2 second"), f"set {jump}"
    assert await limits.count(client, rule) is None
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    exceeded = await limits.count(client, rule)
    assert exceeded is not None
    assert exceeded.seconds <= 2
    await asyncio.sleep(2.1)
    assert await limits.count(client, rule) is None


async def test_windows_that_are_over_leave_nothing_behind() -> None:
    now = 0.0
    storage = WindowStorage(lambda: now)
    for number in range(1000):
        assert await storage.incr(f"address {number}", 10 + number) == 1
    now = 509.5
    assert await storage.get("address 499") == 0
    assert await storage.get("address 500") == 1
    assert await storage.incr("address 500", 10) == 2
    now = 10_000.0
    assert await storage.get("address 500") == 0
    assert await storage.reset() == 0


async def test_all_limits_of_a_client_hold(limits: RateLimits) -> None:
    rule = parse_limits("100/minute;2/hour")
    assert [await limits.count("both", rule) for _ in range(2)] == [None, None]
    exceeded = await limits.count("both", rule)
    assert exceeded is not None
    assert exceeded.limit == "2 requests in 1 hour"


@needs_redis
async def test_calls_at_the_same_time_to_two_replicas_are_counted_together(redis: RedisProcess) -> None:
    replicas = [RateLimits(redis.uri), RateLimits(redis.uri)]
    rule = parse_limits("20/hour")
    answers = await asyncio.gather(*(replicas[number % 2].count("key:shared", rule) for number in range(60)))
    assert answers.count(None) == 20
    for replica in replicas:
        await replica.close()


@needs_redis
async def test_without_redis_a_process_counts_alone_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STORAGE_PAUSE_SECONDS", 0.2)
    failures: list[float] = []
    rule = parse_limits("2/hour")
    with running_redis(tmp_path) as server:
        limits = RateLimits(server.uri, lambda: failures.append(time.monotonic()))
        assert await limits.count("key:a", rule) is None
        server.stop()
        assert [await limits.count("key:a", rule) is None for _ in range(4)] == [True, True, False, False]
        assert 1 <= len(failures) <= 4
        server.start()
        await asyncio.sleep(0.3)
        assert [await limits.count("key:a", rule) is None for _ in range(3)] == [True, True, False]
        await limits.close()


def test_limits_are_checked() -> None:
    assert parse_limits("") == ()
    with pytest.raises(ValueError, match="couldn't parse"):
        parse_limits("many")
