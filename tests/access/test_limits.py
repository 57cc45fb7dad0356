"""Rate limits."""

import asyncio
import time

import pytest

from service.access.limits import RateLimits, parse_limits
from service.access.window_storage import WindowStorage


@pytest.fixture
def limits() -> RateLimits:
    return RateLimits()


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


def test_limits_are_checked() -> None:
    assert parse_limits("") == ()
    with pytest.raises(ValueError, match="couldn't parse"):
        parse_limits("many")
