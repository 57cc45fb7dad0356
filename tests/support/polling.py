"""Waiting for what happens elsewhere: in another thread, process or container."""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which a test takes what has not happened for what never will: a busy machine is slow."""


def wait_until(
    holds: Callable[[], bool],
    seconds: float = PATIENCE,
    otherwise: Callable[[], str] | None = None,
    pause: float = 0.01,
) -> float:
    """Return after how many seconds a condition held; fail with the text of `otherwise` if it never does."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds, _failure(seconds, otherwise)
        time.sleep(pause)
    return time.monotonic() - began


async def wait_until_async(holds: Callable[[], bool], seconds: float = PATIENCE, pause: float = 0.02) -> None:
    """Wait for a condition while the event loop runs; fail if it never holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, _failure(seconds, None)
        await asyncio.sleep(pause)


def _failure(seconds: float, otherwise: Callable[[], str] | None) -> str:
    return otherwise() if otherwise else f"did not happen in {seconds:g} seconds"
