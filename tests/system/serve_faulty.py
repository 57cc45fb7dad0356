"""The real server over real bundles whose engine can be harmed: `python -m tests.system.serve_faulty SECONDS`.

The fault comes in where every model does, through `load_model`: the model given to the engine is the
real one with a lane that looks for trouble before each step. SIGUSR1: one step fails. SIGUSR2: the thread is killed.
SIGRTMIN: the step never ends. SIGRTMIN + 1: three steps fail.
SECONDS: how long an engine may hang, twice.
"""

import signal
import sys
import time
from typing import Any

from service.bundle.load import Bundle
from service.engine.jobs import IntArray
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings
from service.engine.model.interface import Candidates, DecoderState
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.translation import translator
from service.server import uvicorn_server as server
from service.server.main import serve_models
from service.settings import load_settings

THREE_FAILURES = signal.SIGRTMIN + 1
trouble: list[int] = []


def meet_trouble() -> None:
    """Do what the last signal asked for."""
    if not trouble:
        time.sleep(0.002)  # so that there is always somebody in the batch
        return
    kind = trouble.pop()
    if kind in (signal.SIGUSR1, THREE_FAILURES):
        raise RuntimeError("my secret reason")
    if kind == signal.SIGUSR2:
        raise SystemExit("the thread ends")
    time.sleep(3600)


class TroubledLane:
    """A lane whose step may meet trouble."""

    def __init__(self, decoder_state: DecoderState) -> None:
        self._decoder_state = decoder_state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder_state, name)

    def step(self, tokens: IntArray) -> Candidates:
        """Step, unless there is trouble."""
        meet_trouble()
        return self._decoder_state.step(tokens)


class TroubledModel:
    """A model with such lanes."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def decoder_state(self, beam_size: int, candidates: int) -> TroubledLane:
        """Give a lane."""
        return TroubledLane(self._model.decoder_state(beam_size, candidates))


def load_troubled(bundle: Bundle, settings: ModelSettings) -> TroubledModel:
    """Load the real model and put the lanes around it."""
    return TroubledModel(load_model(bundle, settings))


def main(stalled_seconds: float) -> int:
    onnx_model.load_model = load_troubled  # type: ignore[assignment]
    translator.STALLED_SECONDS = stalled_seconds
    server.STALLED_SECONDS = stalled_seconds
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN, THREE_FAILURES):
        signal.signal(number, lambda kind, _: trouble.extend([kind] * (3 if kind == THREE_FAILURES else 1)))
    return serve_models(load_settings(engine_processes=0))  # which could not be reached from here


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
