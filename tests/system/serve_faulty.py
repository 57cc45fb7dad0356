"""The real server over real bundles whose engine can be harmed: `python -m tests.system.serve_faulty SECONDS`.

The fault comes before a step of the decoder. SIGUSR1: one step fails. SIGUSR2: the thread is killed.
SIGRTMIN: the step never ends. SIGRTMIN + 1: three steps fail. SECONDS: how long an engine may hang, twice.
"""

import signal
import sys
import time

from service.engine.model.decoder_state import CpuDecoderState
from service.engine.model.interface import Candidates, Rows
from service.engine.translation import served_model
from service.server import uvicorn_server as server
from service.server.main import serve_models
from service.settings import load_settings

THREE_FAILURES = signal.SIGRTMIN + 1
TIMES = {signal.SIGUSR1: 1, signal.SIGUSR2: 1, signal.SIGRTMIN: 1, THREE_FAILURES: 3}
trouble: list[int] = []
step = CpuDecoderState.step


def troubled_step(state: CpuDecoderState, rows: Rows) -> Candidates:
    """Do what the last signal asked for; step, if it asked for nothing."""
    kind = trouble.pop() if trouble else None
    if kind in (signal.SIGUSR1, THREE_FAILURES):
        raise RuntimeError("my secret reason")
    if kind == signal.SIGUSR2:
        raise SystemExit("the thread ends")
    time.sleep(3600 if kind else 0.002)  # the short pause is there so that there is always somebody in the batch
    return step(state, rows)


def main(stalled_seconds: float) -> int:
    CpuDecoderState.step = troubled_step  # type: ignore[method-assign,assignment]
    served_model.STALLED_SECONDS = stalled_seconds
    server.STALLED_SECONDS = stalled_seconds
    for number in TIMES:
        signal.signal(number, lambda kind, _: trouble.extend([kind] * TIMES[kind]))
    return serve_models(load_settings(engine_processes=0))  # which could not be reached from here


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
