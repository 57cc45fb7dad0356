"""Ends the renderer process if it stands still during a job, or computes for too long."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.logs import get_logger

CHECK_SECONDS = 0.5
MOST_IDLE = 6  # checks in a row without a sign of work
TICKS = os.sysconf("SC_CLK_TCK")  # a second: the unit of processor time in /proc
WORKS = frozenset("RD")  # runs or waits for a processor; waits for a disk
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Activity:
    """What a process does: whether a thread of it works at this moment, and the processor time that it has had."""

    works: bool
    seconds: float


def activity_of(process: int) -> Activity | None:
    """Return the activity of a process; None if there is none, and on a system without /proc."""
    works, ticks = None, 0
    for stat in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            works = works or fields[0] in WORKS
            ticks += int(fields[11]) + int(fields[12])
    return None if works is None else Activity(works, ticks / TICKS)


@contextmanager
def watched(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill a process that stands still for some checks inside of this context, or uses so many processor seconds.

    Time by the clock does not count: on a busy machine a process of low priority waits for its turns, and then a thread
    of it is ready to run.
    """
    over = threading.Event()
    threading.Thread(target=_watch, args=(process, seconds, over), name="renderer-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch(process: subprocess.Popen[bytes], seconds: float, over: threading.Event) -> None:
    begun = last = activity_of(process.pid)
    checks = idle = 0
    while not over.wait(CHECK_SECONDS):
        checks += 1
        now = activity_of(process.pid)
        if now is None or last is None or begun is None:  # no such file: only the clock is left
            idle, used = 0, checks * CHECK_SECONDS
        else:
            idle = 0 if now.works or now.seconds > last.seconds else idle + 1
            used = now.seconds - begun.seconds
        if idle >= MOST_IDLE or used >= seconds:
            log.error("the process that draws figures stands still or takes too long; it is ended", process=process.pid)
            process.kill()
            return
        last = now
