"""What the figures were measured on, with and by whom."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

LIBRARIES = ("onnxruntime", "ctranslate2", "torch", "tokenizers", "numpy")


def processor() -> str:
    """The processor's name, how many cores this process may use, and which 8-bit instructions they have."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    fields = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    known = [
        flag
        for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8")
        if flag in named.get("flags", "").split()
    ]
    return f"{named.get('model name', platform.processor())}, {len(os.sched_getaffinity(0))} cores, {' '.join(known)}"


def versions() -> dict[str, str]:
    """Python's version and those of the libraries that are measured."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def heading() -> str:
    """Date, machine and versions in one line."""
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {processor()}; {libraries}"


def peak_megabytes() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def keep_to(cores: Iterable[int]) -> None:
    """Let every thread of this process, and so every thread they start, run on these cores only."""
    chosen = list(cores)
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), chosen)
