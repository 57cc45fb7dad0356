"""The machine and the library versions of a measurement."""

import os
import platform
import resource
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

LIBRARIES = ("onnxruntime", "ctranslate2", "torch", "tokenizers", "numpy")


def processor() -> str:
    """Return the processor's name, the number of usable cores, and their 8-bit instruction sets."""
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
    """Return the versions of Python and of the measured libraries."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def heading() -> str:
    """Return date, machine and versions in one line."""
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {processor()}; {libraries}"


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pin_to_cores(cores: Iterable[int]) -> None:
    """Restrict all threads of this process, and the threads they start, to these cores."""
    chosen = list(cores)
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), chosen)
