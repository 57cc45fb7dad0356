"""All engine processes of a server: each loads every model, and they share the work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from types import TracebackType
from typing import Self

from service.bundle.load import Bundle
from service.engine import (
    EngineError,
    EngineEvent,
    EngineFailure,
    EngineSettings,
    EventListener,
    LoadChanged,
    LoadedWorker,
    Placement,
    SentenceWorker,
)
from service.engine_process.client.connection import LogStyle
from service.engine_process.client.pool import WorkerPool
from service.engine_process.client.supervisor import EngineProcess

PROVIDERS_SECONDS = 60.0  # the process is still starting


class EngineCluster:
    """Starts the processes, opens bundles in all of them (`open` is a WorkerFactory), and ends them at the exit."""

    def __init__(
        self, size: int, log_style: LogStyle | None = None, on_restart: Callable[[str], None] = lambda _what: None
    ) -> None:
        """Manage `size` processes; `on_restart` is called at every restart: see EngineProcess."""
        self._size, self._log_style, self._on_restart = size, log_style or LogStyle(), on_restart
        self._processes: list[EngineProcess] = []

    def __enter__(self) -> Self:
        """Start the processes."""
        self._processes = [EngineProcess(self._log_style, self._on_restart) for _ in range(self._size)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes; pending calls fail."""
        for process in self._processes:
            process.close()

    @property
    def process_ids(self) -> list[int]:
        """Return the ids of the current processes; one that ends is replaced."""
        return [process.process_id for process in self._processes]

    @property
    def alive(self) -> bool:
        """Return whether models can be opened: one of the processes has not been given up."""
        return not all(process.given_up for process in self._processes)

    def providers(self) -> tuple[str, ...]:
        """Return the providers of ONNX Runtime in the processes."""
        return self._processes[0].providers(PROVIDERS_SECONDS)

    def receive_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Receive the messages of the processes on an event loop from now on; it must run until the exit."""
        for process in self._processes:
            process.receive_on(loop)

    def open(self, bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[SentenceWorker]:
        """Load a bundle in every process at the same time.

        Raise BundleCorrupt, BundleIncompatible or DeviceUnavailable, and EngineFailure if a process ends or a
        bundle takes longer than it may.
        """
        processes = [process for process in self._processes if not process.given_up]
        if not processes:
            raise EngineFailure("There is no engine process.")
        listeners = _sum_of_loads(on_event, len(processes))
        opening = [
            (process, *process.open(bundle, settings, listener))
            for process, listener in zip(processes, listeners, strict=True)
        ]
        wait([placement for _, _, placement in opening], settings.load_seconds)
        try:
            placements = [_placement(bundle, settings, placement) for _, _, placement in opening]
        except EngineError:
            for process, worker, _ in opening:  # otherwise the processes that have loaded it would keep it
                process.abandon(worker)
            raise
        workers = [worker for _, worker, _ in opening]
        return LoadedWorker(workers[0] if len(workers) == 1 else WorkerPool(workers), placements[0])


def _placement(bundle: Bundle, settings: EngineSettings, placement: Future[Placement]) -> Placement:
    if not placement.done():
        raise EngineFailure(f"{bundle.folder}: it was not loaded within {settings.load_seconds:g} seconds.")
    return placement.result()


def _sum_of_loads(on_event: EventListener, parts: int) -> list[EventListener]:
    """Return a listener for each of several workers of one model; the given one gets the sum of their loads."""
    lock = threading.Lock()
    loads = [(0, 0, 0)] * parts  # rows, sentences and queue of each

    def hear(part: int, event: EngineEvent) -> None:
        if not isinstance(event, LoadChanged):
            on_event(event)
            return
        with lock:
            loads[part] = (event.rows, event.sentences, event.queued)
            on_event(LoadChanged(event.model, *map(sum, zip(*loads, strict=True))))

    return [partial(hear, part) for part in range(parts)]
