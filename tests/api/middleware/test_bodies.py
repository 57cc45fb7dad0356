"""Bodies share memory; large requests begin one by one, after everything that arrives with them."""

import asyncio
from contextlib import ExitStack

import pytest

from service.api.errors import ApiError
from service.api.middleware import bodies as module
from service.api.middleware.bodies import LARGE, Bodies, LargeBodyQueue
from tests.support.polling import PATIENCE


@pytest.fixture
def order() -> list[str]:
    return []


async def begin(own: LargeBodyQueue, order: list[str], name: str, size: int) -> None:
    own.arrived()
    await own.take(size)
    order.append(name)


async def test_a_large_request_lets_later_small_ones_pass(order: list[str]) -> None:
    own = LargeBodyQueue()
    waiting = asyncio.create_task(begin(own, order, "large", LARGE))
    for number in range(5):
        await asyncio.sleep(0)
        await begin(own, order, f"small {number}", LARGE - 1)
    await waiting
    assert order == [*(f"small {number}" for number in range(5)), "large"]


async def test_only_one_large_request_begins_in_a_round(order: list[str]) -> None:
    own = LargeBodyQueue()
    tasks = [asyncio.create_task(begin(own, order, str(number), LARGE)) for number in range(8)]
    most = 0
    while not all(task.done() for task in tasks):
        before = len(order)
        await asyncio.sleep(0)
        most = max(most, len(order) - before)
    assert most == 1
    assert order == [str(number) for number in range(8)]


async def test_a_large_request_begins_at_last_where_others_arrive_all_the_time(
    order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.01)
    own = LargeBodyQueue()
    waiting = asyncio.create_task(begin(own, order, "large", LARGE))
    async with asyncio.timeout(PATIENCE):
        while not waiting.done():
            own.arrived()
            await asyncio.sleep(0)
    assert order == ["large"]


async def test_a_large_request_begins_after_a_few_rounds_without_an_arrival(order: list[str]) -> None:
    """The event loop is busy as long as it waits."""
    waiting = asyncio.create_task(begin(LargeBodyQueue(), order, "large", LARGE))
    rounds = 0
    while not waiting.done():
        await asyncio.sleep(0)
        rounds += 1
    assert rounds <= module.QUIET_ROUNDS + 4


async def test_a_client_that_leaves_costs_no_turn(order: list[str]) -> None:
    own = LargeBodyQueue()
    first, second = (asyncio.create_task(begin(own, order, name, LARGE)) for name in ("first", "second"))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert order == ["second"]
    await begin(own, order, "third", LARGE)
    assert order == ["second", "third"]


def test_an_address_gets_a_quarter_and_all_of_them_the_whole() -> None:
    bodies = Bodies(limit=400, largest=50)
    with ExitStack() as held:
        reserve = {name: held.enter_context(bodies.holding(name)) for name in "abcde"}
        with bodies.holding("a") as early:
            assert early(60) == 60
            assert reserve["a"](40) == 40
            with pytest.raises(ApiError):
                reserve["a"](1)
            for other in "bcd":
                reserve[other](100)
            with pytest.raises(ApiError):
                reserve["e"](1)
        reserve["e"](60)
        assert bodies.held == 400
    assert bodies.held == 0
