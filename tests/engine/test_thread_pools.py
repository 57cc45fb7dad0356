"""Pools of threads have limits and do no work for disconnected clients; a limit of time ends a wait."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from service.engine.errors import Overloaded
from service.engine.thread_pools import BoundedPool, in_daemon_thread
from tests.support.polling import PATIENCE


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Return an event that work waits for; it ends with the test."""
    event = threading.Event()
    yield event
    event.set()


async def test_more_than_may_wait_is_refused_and_takes_no_place_nor_that_of_other_work(go_on: threading.Event) -> None:
    threads, other = BoundedPool("tests", 1, 1), BoundedPool("other", 1, 1)
    running = [asyncio.create_task(threads.run(lambda: go_on.wait(10))) for _ in range(2)]
    await asyncio.sleep(0.05)
    with pytest.raises(Overloaded, match="queue is full"):
        await threads.run(lambda: None)
    assert await asyncio.wait_for(other.run(lambda: "at once"), PATIENCE) == "at once"
    go_on.set()
    assert await asyncio.gather(*running) == [True, True]
    assert await threads.run(lambda: 7) == 7


def test_texts_get_as_many_threads_as_the_container_has_cores() -> None:
    program = (
        "import os\n"
        "os.cpu_count = lambda: 64\n"
        "from service.engine import own_cores, thread_pools\n"
        "print(thread_pools.TEXT_POOL.size == max(2, own_cores()))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "True\n"


async def test_what_has_not_begun_is_not_done_for_somebody_who_has_left(go_on: threading.Event) -> None:
    done = threading.Event()
    threads = BoundedPool("tests", 1, 8)
    running = asyncio.create_task(threads.run(lambda: go_on.wait(10)))
    leaver = asyncio.create_task(threads.run(done.set))
    await asyncio.sleep(0.05)
    leaver.cancel()
    await asyncio.wait([leaver])
    go_on.set()
    await running
    assert await threads.run(lambda: "next") == "next"
    assert not done.is_set()


async def test_context_and_errors_go_along() -> None:
    name = contextvars.ContextVar("name", default="nobody")
    name.set("caller")
    assert await BoundedPool("tests", 1, 1).run(name.get) == "caller"
    assert await in_daemon_thread(name.get, "test") == "caller"

    def fails() -> None:
        raise ValueError("reason")

    for work in (BoundedPool("tests", 1, 1).run(fails), in_daemon_thread(fails, "test")):
        with pytest.raises(ValueError, match="reason"):
            await work


async def test_whoever_waits_for_a_thread_that_hangs_may_leave(go_on: threading.Event) -> None:
    waiting = asyncio.create_task(in_daemon_thread(lambda: go_on.wait(60), "hanging"))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.wait([waiting], timeout=5)
    assert waiting.cancelled()
