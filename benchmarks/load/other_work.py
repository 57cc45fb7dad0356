"""The share of the processor that other programs use meanwhile; a measurement with much of it is repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.load.processor_time import process_times

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
