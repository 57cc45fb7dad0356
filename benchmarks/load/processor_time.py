"""Processor time of a server's processes, and of other programs; a measurement with much of theirs is repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.load.servers import process_tree

MOST = 0.1
"""The share of all cores from which a measurement counts as disturbed; the kernel alone takes 0.04."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """Seconds since some moment: of the clock, of all cores at work, and of the processor in each measured process."""

    clock: float
    busy: float
    processes: dict[int, float]  # by the process at the root of each tree
    client: float

    @classmethod
    def of(cls, roots: Sequence[int]) -> Self:
        """Return the usage of the machine, of these process trees, and of this process."""
        processes = {root: sum(process_times(root).values()) for root in roots}
        return cls(time.perf_counter(), busy_seconds(), processes, time.process_time())

    def others_since(self, before: Usage) -> float:
        """Return the share of all cores that other processes used since then."""
        own = sum(self.processes.values()) - sum(before.processes.values()) + self.client - before.client
        seconds = (self.clock - before.clock) * (os.cpu_count() or 1)
        return max(0.0, (self.busy - before.busy - own) / seconds)


def busy_seconds() -> float:
    """Return the seconds in which any core of the machine was at work, or taken away by the hypervisor."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / _TICKS


class Spent(NamedTuple):
    """The processor time of a server while it answered requests, in milliseconds a request."""

    http: float  # the process that answers HTTP, all its threads
    engine: float  # the engine processes, all their threads


def spent(http: int, before: Mapping[int, float], after: Mapping[int, float], requests: int) -> Spent:
    """Return the time between two measurements, divided by the requests; `http` is the process that answers HTTP."""
    times = {pid: 1000 * (seconds - before.get(pid, 0.0)) / requests for pid, seconds in after.items()}
    own = times.pop(http)
    return Spent(own, sum(times.values()))


def process_times(pid: int) -> dict[int, float]:
    """Return the processor time, in seconds, of a process and of each of its descendants."""
    return {
        process: sum(
            int((task / "schedstat").read_text(encoding="ascii").split()[0])
            for task in Path(f"/proc/{process}/task").iterdir()
        )
        / 1e9
        for process in process_tree(pid)
    }
