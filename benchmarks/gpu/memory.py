"""The memory that a process has on the GPUs of a machine, as the driver's own program says."""

import subprocess
from collections.abc import Callable, Sequence

QUERY = ("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")


def run(command: Sequence[str]) -> str:
    """Return what a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


def gpu_name(ask: Callable[[Sequence[str]], str] = run) -> str:
    """Return the names of the GPUs and their driver; raise OSError or CalledProcessError where there are none."""
    return "; ".join(ask(("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")).splitlines())


def gpu_megabytes(processes: Sequence[int], ask: Callable[[Sequence[str]], str] = run) -> float:
    """Return the GPU memory of processes; in a container, whose numbers differ, that of all processes on the GPUs."""
    rows = [line.split(",") for line in ask(QUERY).splitlines() if line.strip()]
    used = {int(pid): float(megabytes) for pid, megabytes in rows if megabytes.strip().replace(".", "").isdigit()}
    own = [megabytes for pid, megabytes in used.items() if pid in processes]
    return sum(own) if own else sum(used.values())
