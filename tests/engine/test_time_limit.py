"""A limit of time ends a wait, and leaves every other cancellation alone."""

import asyncio

import pytest

from service.engine.time_limit import TimeLimit


async def test_a_wait_ends_at_its_limit_and_the_task_and_an_outer_limit_go_on() -> None:
    with TimeLimit(30) as outer:
        with pytest.raises(TimeoutError), TimeLimit(0.01) as limit:
            await asyncio.sleep(30)
        await asyncio.sleep(0)  # the task is not cancelled any more
    assert limit.expired
    assert not outer.expired


@pytest.mark.parametrize("seconds", [30.0, 0.0])
async def test_the_cancellation_by_another_task_counts(seconds: float) -> None:
    async def waiting() -> None:
        with TimeLimit(seconds):
            await asyncio.sleep(30)

    task = asyncio.create_task(waiting())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_is_its_own() -> None:
    with pytest.raises(TimeoutError, match="the work's own"), TimeLimit(30) as limit:
        raise TimeoutError("the work's own")
    assert not limit.expired
