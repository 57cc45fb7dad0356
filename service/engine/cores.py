"""The processor cores that this process may use."""

import os
from pathlib import Path

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def own_cores(quota: Path = CPU_QUOTA) -> int:
    """Return the cores that this process may use, by affinity and by the limit of its container (cgroup 2).

    These are all cores of the machine where a system cannot tell, such as macOS.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        share, period = map(int, quota.read_text(encoding="ascii").split())
    except (OSError, ValueError):  # no such limit: the file is missing or says "max"
        return cores
    return max(1, min(cores, -(-share // period)))
