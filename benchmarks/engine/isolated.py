"""Engines in separate processes, so that memory is measured separately and engines do not disturb each other."""

import multiprocessing
import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine.engines import ENGINES, Ids, Setting
from benchmarks.machine import peak_megabytes, pin_to_cores


class EngineRun(NamedTuple):
    """The measurements and translations of one run over all sentences."""

    seconds: float
    processor_seconds: float
    found: list[Ids]
    megabytes: float
    """Peak memory of the process so far."""


class IsolatedEngine:
    """A process with one engine in it."""

    def __init__(self, kind: str, bundle: Path, precision: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, kind, bundle, precision), daemon=True)
        self._process.start()
        other.close()
        self._pipe.recv()

    def run(self, setting: Setting, sources: Sequence[Ids]) -> EngineRun:
        """Translate all sentences once."""
        self._pipe.send((setting, list(sources)))
        turn = self._pipe.recv()
        assert isinstance(turn, EngineRun)
        return turn

    def close(self) -> None:
        """Stop the process."""
        self._pipe.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.terminate()


def _serve(pipe: Connection, kind: str, bundle: Path, precision: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    engine = ENGINES[kind](bundle, precision)
    pipe.send("ready")
    present: Setting | None = None
    while True:
        try:
            setting, sources = pipe.recv()
        except EOFError:
            return
        if setting != present:
            engine.open(setting)
            pin_to_cores(cores[: setting.workers])  # our engine has more threads than workers
            engine.translate(sources[:8])  # warm
            present = setting
        begun, used = time.perf_counter(), time.process_time()
        found = engine.translate(sources)
        seconds, processor = time.perf_counter() - begun, time.process_time() - used
        pipe.send(EngineRun(seconds, processor, found, peak_megabytes()))
