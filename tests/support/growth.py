"""How processor time grows with the size of an input: measured at two sizes, and cut off where it takes too long."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

TIMES = 4
LINEAR = 8.0  # for four times the size; a square takes sixteen times as long
TRIES = 4  # of what looks too slow: others use this machine, too


class _Late(BaseException):
    """The time is over; no program that is measured catches it."""


def _stop(*_: Any) -> None:
    raise _Late


def processor_seconds(work: Callable[[], object], longest: float) -> float:
    """Return the processor time of a piece of work, which is stopped after the longest time."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    begun = time.thread_time()  # not of the process, which is counted in ticks while a timer runs
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, longest)
        work()
    except _Late:
        return longest
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - begun


class Growth(NamedTuple):
    """The processor seconds of a size and of a quarter of it."""

    quarter: float
    whole: float


def too_fast_growth(
    work_of: Callable[[int], Callable[[], object]], size: int, *, negligible: float, longest: float
) -> Growth | None:
    """Return the times if they grow faster than the size or exceed the longest; `work_of` prepares work of a size."""
    quarter = whole = math.inf
    for _ in range(TRIES):
        whole = min(whole, processor_seconds(work_of(size), longest))
        if whole < negligible:
            return None
        quarter = min(quarter, processor_seconds(work_of(size // TIMES), longest))
        if whole < longest and whole < LINEAR * max(quarter, negligible / LINEAR):
            return None
    return Growth(quarter, whole)
