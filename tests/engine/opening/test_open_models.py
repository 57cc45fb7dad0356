"""Which models are open: shared openings, the least recently used idle one goes, and waits end with a clear error."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager

import pytest

from service.engine.errors import DeadlineExceeded, NotReady, Overloaded
from service.engine.opening import open_models
from service.engine.opening.open_models import ManagedModel, OpenModels
from tests.support.polling import PATIENCE, wait_until_async

SIZE = 100


class House:
    """Made-up models of one size, the log of what happens to them, and the memory that they take."""

    def __init__(self, room: int) -> None:
        self.log: list[str] = []
        self.memory = self.most = 0
        self.extra = 0  # memory that translations take
        self.gate = asyncio.Event()
        self.gate.set()
        self.models = OpenModels(room * SIZE, lambda: self.memory + self.extra)
        self.named = {name: self._model(name) for name in "abcdefghij"}

    def _model(self, name: str) -> ManagedModel:
        async def opened() -> None:
            self.log.append(f"open {name}")
            await self.gate.wait()
            self.memory += SIZE
            self.most = max(self.most, self.memory)

        async def closed() -> None:
            self.log.append(f"close {name}")
            await asyncio.sleep(0)
            self.memory -= SIZE

        return ManagedModel(name, SIZE, opened, closed)

    def using(self, name: str, seconds: float = 5.0) -> AbstractAsyncContextManager[None]:
        return self.models.using(self.named[name], time.monotonic() + seconds)

    async def request(self, name: str, seconds: float = 5.0) -> str:
        async with self.using(name, seconds):
            assert self.named[name].state == "open"
            return name

    async def reaches(self, name: str, state: str) -> None:
        await wait_until_async(lambda: self.named[name].state == state)


async def test_ten_models_answer_with_room_for_three() -> None:
    house = House(room=3)
    for _ in range(2):
        assert [await house.request(name) for name in "abcdefghij"] == list("abcdefghij")
    assert await asyncio.gather(*(house.request(name) for name in "abcdefghij" * 5)) == list("abcdefghij" * 5)
    assert house.most <= 3 * SIZE


async def test_requests_for_a_closed_model_share_one_opening_while_others_are_served() -> None:
    house = House(room=3)
    await house.request("a")
    house.gate.clear()
    leaver, *waiting = [asyncio.create_task(house.request("b")) for _ in range(20)]
    await house.reaches("b", "opening")
    leaver.cancel()
    assert await house.request("a") == "a"
    assert not any(task.done() for task in waiting)
    house.gate.set()
    assert await asyncio.gather(*waiting) == ["b"] * 19
    assert house.log == ["open a", "open b"]
    assert house.named["b"].waiting == house.named["b"].users == 0


async def test_the_least_recently_used_idle_model_is_closed() -> None:
    house = House(room=3)
    for name in "abca":
        await house.request(name)
    await house.request("d")
    assert house.log[3:] == ["close b", "open d"]
    async with house.using("c"):  # the oldest now, but in use
        await house.request("e")
    assert house.log[5:] == ["close a", "open e"]


async def test_a_request_waits_for_a_busy_model_to_become_idle() -> None:
    house = House(room=1)
    async with house.using("a"):
        waiting = asyncio.create_task(house.request("b"))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        assert house.log == ["open a"]
    assert await waiting == "b"
    assert house.log == ["open a", "close a", "open b"]


async def test_a_wait_for_room_ends_with_half_of_the_time_and_leaves_nothing_behind() -> None:
    house = House(room=1)
    async with house.using("a"):
        with pytest.raises(Overloaded, match="all open models are in use"):  # at its end it would be DeadlineExceeded
            await house.request("b", seconds=2.0)
    await asyncio.sleep(0.01)
    assert house.log == ["open a"]  # b is not wanted any more


async def test_a_slow_opening_ends_with_the_deadline_and_is_not_wasted() -> None:
    house = House(room=1)
    house.gate.clear()
    with pytest.raises(DeadlineExceeded):
        await house.request("a", seconds=0.05)
    house.gate.set()
    await house.reaches("a", "open")
    assert await house.request("a") == "a"
    assert house.log == ["open a"]


async def test_only_so_many_requests_wait_for_an_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "MOST_WAITING", 1)
    house = House(room=1)
    house.gate.clear()
    waiting = asyncio.ensure_future(house.request("a"))
    await house.reaches("a", "opening")
    with pytest.raises(Overloaded, match="to be opened"):
        await house.request("a")
    house.gate.set()
    assert await waiting == "a"


async def test_busy_models_cannot_keep_another_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "TURN_SECONDS", 0.05)
    house = House(room=1)
    served = {"a": 0, "b": 0}
    end = time.monotonic() + PATIENCE

    async def client(name: str) -> None:
        while min(served.values()) <= 5 and time.monotonic() < end:
            async with house.using(name):
                served[name] += 1
                await asyncio.sleep(0.01)

    await asyncio.gather(*(client(name) for name in "aaab"))
    assert served["a"] > 5
    assert served["b"] > 5
    assert house.most == SIZE


async def test_a_dead_model_is_closed_after_its_requests_and_opened_again() -> None:
    house = House(room=3)
    async with house.using("a"):
        house.named["a"].failed = lambda: house.log == ["open a"]
        waiting = asyncio.create_task(house.request("a"))
        await asyncio.sleep(0.01)
        assert house.log == ["open a"]
    assert await waiting == "a"
    assert house.log == ["open a", "close a", "open a"]
    house.named["a"].failed = lambda: len(house.log) == 3  # while no request uses it
    assert await house.request("a") == "a"
    assert house.log[3:] == ["close a", "open a"]


async def test_memory_above_the_limit_closes_idle_models_but_never_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "CHECK_SECONDS", 0.0)
    house = House(room=3)
    for name in "abc":
        await house.request(name)
    house.extra = 10 * SIZE  # what translations took
    await house.request("c")
    await wait_until_async(lambda: house.memory == SIZE)
    await house.request("c")
    assert house.log == ["open a", "open b", "open c", "close a", "close b"]


async def test_a_model_that_is_retired_while_it_opens_is_closed() -> None:
    house = House(room=3)
    house.gate.clear()
    waiting = asyncio.create_task(house.request("a"))
    await house.reaches("a", "opening")
    waiting.cancel()
    house.models.retire(house.named["a"])
    await asyncio.sleep(0.03)
    house.gate.set()
    await wait_until_async(lambda: house.log == ["open a", "close a"])


async def test_nothing_is_opened_after_the_stop_and_what_runs_may_finish() -> None:
    house = House(room=1)
    async with house.using("a"):
        waiting = asyncio.create_task(house.request("b"))
        await asyncio.sleep(0.01)
        await house.models.stop()
        with pytest.raises(NotReady, match="stopping"):
            await waiting
    assert house.log == ["open a"]
