"""The service with a planted fault: mounted into a container, it serves until /tmp/fault says how to fail.

segfault   the process dies inside a run of a graph, as it would by an error in ONNX Runtime
exit       the engine thread ends
error      every run of a graph fails, for good
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime

from translucent_mt.command_line import main  # in a checkout and in an image

FAULT = Path("/tmp/fault")


def with_fault(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of ONNX Runtime's session that fails on request."""

    def faulty(*arguments: Any, **options: Any) -> Any:
        fault = FAULT.read_text("utf-8").strip() if FAULT.exists() else ""
        if fault == "segfault":
            FAULT.unlink()  # or the next process would find it where /tmp outlives a restart
            ctypes.string_at(0)
        if fault == "exit":
            FAULT.unlink()
            raise SystemExit
        if fault == "error":
            raise RuntimeError("a planted fault")
        return run(*arguments, **options)

    return faulty


if __name__ == "__main__":
    os.environ["TRANSLUCENT_ENGINE_PROCESSES"] = "0"  # in others the fault would not be planted
    os.environ["TRANSLUCENT_CACHE_MB"] = "0"  # the cache would answer in the place of the faulty engine
    for name in ("run", "run_with_iobinding"):
        setattr(onnxruntime.InferenceSession, name, with_fault(getattr(onnxruntime.InferenceSession, name)))
    main()
