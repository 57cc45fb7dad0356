"""Which models are open: shared openings, the least recently used idle one goes, and waits end with a clear error."""

import asyncio
import time
from collections.abc import Callable

import pytest

from service.engine.errors import DeadlineExceeded, EngineFailure, ModelNotOpened, NotReady, Overloaded
from service.engine.lazy import open_models
from service.engine.lazy.open_models import ManagedModel, OpenModels

SIZE = 100


class House:
    """Made-up models of one size, the log of what happens to them, and the memory that they take."""

    def __init__(self, room: int | None) -> None:
        self.log: list[str] = []
        self.memory = self.most = 0
        self.extra = 0  # memory that translations take
        self.faults: dict[str, Exception] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.models = OpenModels(None if room is None else room * SIZE, lambda: self.memory + self.extra)
        self.named = {name: self._model(name) for name in "abcdefghij"}

    def _model(self, name: str) -> ManagedModel:
        async def opened() -> None:
            self.log.append(f"open {name}")
            await self.gate.wait()
            if name in self.faults:
                raise self.faults[name]
            self.memory += SIZE
            self.most = max(self.most, self.memory)

        async def closed() -> None:
            self.log.append(f"close {name}")
            await asyncio.sleep(0)
            self.memory -= SIZE

        return ManagedModel(name, SIZE, opened, closed)

    async def request(self, name: str, held: asyncio.Event | None = None, seconds: float | None = 5.0) -> str:
        deadline = None if seconds is None else time.monotonic() + seconds
        async with self.models.using(self.named[name], deadline):
            assert self.named[name].state == "open"
            if held is not None:
                await held.wait()
            return name

    def hold(self, name: str) -> tuple[asyncio.Task[str], asyncio.Event]:
        held = asyncio.Event()
        return asyncio.create_task(self.request(name, held)), held

    def state(self, name: str) -> str:
        return self.named[name].state


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


async def test_ten_models_answer_with_room_for_three() -> None:
    house = House(room=3)
    for _ in range(2):
        assert [await house.request(name) for name in "abcdefghij"] == list("abcdefghij")
    assert await asyncio.gather(*(house.request(name) for name in "abcdefghij" * 5)) == list("abcdefghij" * 5)
    assert house.most <= 3 * SIZE


async def test_without_a_limit_models_stay_open() -> None:
    house = House(room=None)
    for name in "abcdefghij" * 2:
        await house.request(name)
    assert house.log == [f"open {name}" for name in "abcdefghij"]


async def test_requests_for_a_closed_model_share_one_opening_while_others_are_served() -> None:
    house = House(room=3)
    await house.request("a")
    house.gate.clear()
    waiting = [asyncio.create_task(house.request("b")) for _ in range(20)]
    await until(lambda: house.state("b") == "opening")
    assert await house.request("a") == "a"
    assert not any(task.done() for task in waiting)
    house.gate.set()
    assert await asyncio.gather(*waiting) == ["b"] * 20
    assert house.log == ["open a", "open b"]


async def test_the_least_recently_used_idle_model_is_closed() -> None:
    house = House(room=3)
    for name in "abca":
        await house.request(name)
    await house.request("d")
    assert house.log[3:] == ["close b", "open d"]
    task, held = house.hold("c")  # the oldest now, but in use
    await until(lambda: house.named["c"].users == 1)
    await house.request("e")
    assert house.log[5:] == ["close a", "open e"]
    held.set()
    await task


async def test_a_request_waits_for_a_busy_model_to_become_idle() -> None:
    house = House(room=1)
    running, held = house.hold("a")
    await until(lambda: house.named["a"].users == 1)
    waiting = asyncio.create_task(house.request("b"))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    assert house.log == ["open a"]
    held.set()
    assert await waiting == "b"
    assert await running == "a"
    assert house.log == ["open a", "close a", "open b"]


async def test_a_wait_for_room_ends_with_half_of_the_time_and_leaves_nothing_behind() -> None:
    house = House(room=1)
    running, held = house.hold("a")
    await until(lambda: house.named["a"].users == 1)
    with pytest.raises(Overloaded, match="all open models are in use"):
        await house.request("b", seconds=0.05)
    held.set()
    await running
    await asyncio.sleep(0.01)
    assert house.log == ["open a"]  # b is not wanted any more


async def test_a_slow_opening_ends_with_the_deadline_and_is_not_wasted() -> None:
    house = House(room=1)
    house.gate.clear()
    with pytest.raises(DeadlineExceeded):
        await house.request("a", seconds=0.05)
    house.gate.set()
    await until(lambda: house.state("a") == "open")
    assert await house.request("a") == "a"
    assert house.log == ["open a"]


async def test_busy_models_cannot_keep_another_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "TURN_SECONDS", 0.05)
    house = House(room=1)
    served = {"a": 0, "b": 0}
    end = time.monotonic() + 10

    async def client(name: str) -> None:
        while min(served.values()) <= 5 and time.monotonic() < end:
            async with house.models.using(house.named[name], time.monotonic() + 5):
                served[name] += 1
                await asyncio.sleep(0.01)

    await asyncio.gather(*(client(name) for name in "aaab"))
    assert served["a"] > 5
    assert served["b"] > 5
    assert house.most == SIZE


async def test_a_failed_opening_gives_one_error_and_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "RETRY_SECONDS", 0.05)
    house = House(room=3)
    house.faults["a"] = EngineFailure("/models/a: the file is damaged.")
    found = await asyncio.gather(*(house.request("a") for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [ModelNotOpened] * 3
    assert "/models" not in str(found[0])
    with pytest.raises(ModelNotOpened) as refused:
        await house.request("a")
    assert 0 < refused.value.retry_after <= 0.05
    assert house.log == ["open a"]
    del house.faults["a"]
    await asyncio.sleep(0.06)
    assert await house.request("a") == "a"


@pytest.mark.parametrize("used", [False, True])
async def test_a_dead_model_is_closed_after_its_requests_and_opened_again(used: bool) -> None:
    house = House(room=3)
    running, held = house.hold("a")
    await until(lambda: house.named["a"].users == 1)
    if not used:
        held.set()
        await running
    house.named["a"].failed = lambda: house.log == ["open a"]
    waiting = asyncio.create_task(house.request("a"))
    await asyncio.sleep(0.01)
    held.set()
    assert [await running, await waiting] == ["a", "a"]
    assert house.log == ["open a", "close a", "open a"]


async def test_cancelled_requests_do_not_end_the_opening_of_others() -> None:
    house = House(room=3)
    house.gate.clear()
    first, second = (asyncio.create_task(house.request("a")) for _ in range(2))
    await until(lambda: house.state("a") == "opening")
    first.cancel()
    house.gate.set()
    assert await second == "a"
    assert house.named["a"].waiting == house.named["a"].users == 0


async def test_memory_above_the_limit_closes_idle_models_but_never_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "CHECK_SECONDS", 0.0)
    house = House(room=3)
    for name in "abc":
        await house.request(name)
    house.extra = 10 * SIZE  # what translations took
    await house.request("c")
    await until(lambda: house.memory == SIZE)
    await house.request("c")
    assert house.log == ["open a", "open b", "open c", "close a", "close b"]


async def test_a_replaced_model_is_closed_after_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "RETIRE_SECONDS", 0.01)
    house = House(room=3)
    running, held = house.hold("a")
    await until(lambda: house.named["a"].users == 1)
    house.models.retire(house.named["a"])
    await asyncio.sleep(0.03)
    assert house.state("a") == "open"
    held.set()
    await running
    await until(lambda: house.state("a") == "closed")


async def test_a_model_that_is_retired_while_it_opens_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "RETIRE_SECONDS", 0.01)
    house = House(room=3)
    house.gate.clear()
    waiting = asyncio.create_task(house.request("a"))
    await until(lambda: house.state("a") == "opening")
    waiting.cancel()
    house.models.retire(house.named["a"])
    await asyncio.sleep(0.03)
    house.gate.set()
    await until(lambda: house.log == ["open a", "close a"])


async def test_a_pinned_model_stays_open() -> None:
    house = House(room=2)
    await house.request("a")
    with house.models.pinning(house.named["a"]):
        await house.request("b")
        await house.request("c")
    assert house.log == ["open a", "open b", "close b", "open c"]


async def test_nothing_is_opened_after_the_stop() -> None:
    house = House(room=1)
    running, held = house.hold("a")
    await until(lambda: house.named["a"].users == 1)
    waiting = asyncio.create_task(house.request("b"))
    await asyncio.sleep(0.01)
    await house.models.stop()
    with pytest.raises(NotReady, match="stopping"):
        await waiting
    held.set()
    assert await running == "a"
