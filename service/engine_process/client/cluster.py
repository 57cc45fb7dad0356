"""All engine processes of a server: each loads every model, and they share the work."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from service.bundle.load import Bundle
from service.engine import (
    EngineError,
    EngineEvent,
    EngineFailure,
    EngineSettings,
    EventListener,
    LoadChanged,
    LoadedWorker,
    QueueStatus,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
    SentenceWorker,
    WorkerState,
    WorkerStatus,
)
from service.engine_process.client.connection import LogStyle
from service.engine_process.client.engine_process import EngineProcess
from service.engine_process.client.lifecycle import ProcessState

Result = TypeVar("Result")

# The state of a pool is the first of these that one of its workers is in: running ones work without the others.
STATES = (
    WorkerState.RUNNING,
    WorkerState.DRAINING,
    WorkerState.RESTARTING,
    WorkerState.STOPPED,
    WorkerState.DEAD,
)
SILENT_SECONDS = 3.0  # without a heartbeat, after which other workers are preferred
PROVIDERS_SECONDS = 60.0  # the process is still starting


class WorkerPool:
    """Presents several workers of one model as one: the one with the least work gets the next sentence.

    It satisfies SentenceWorker; a request's sentences may be translated by different workers.
    """

    def __init__(self, workers: Sequence[SentenceWorker]) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._tokens = [0] * len(workers)  # of the pending jobs of each worker

    @property
    def status(self) -> WorkerStatus:
        """Return the best state of the workers, the latest heartbeat of those at work, and the shortest queue."""
        every = [worker.status for worker in self._workers]
        working = [each for each in every if each.alive]
        queues = [self._workers[index].status.queue for index in self._available_workers()]
        seconds = [each.seconds for each in queues if each.seconds is not None]
        return WorkerStatus(
            min((each.state for each in every), key=STATES.index),
            bool(working),
            max(each.heartbeat for each in working or every),
            QueueStatus(all(each.full for each in queues), min(seconds) if len(seconds) == len(queues) else None),
        )

    def stop(self, drain: float = 0.0) -> None:
        """Stop all workers at the same time, with the same time to finish; this blocks."""
        with ThreadPoolExecutor(len(self._workers)) as threads:
            list(threads.map(lambda worker: worker.stop(drain), self._workers))

    def retire(self) -> None:
        """Stop all workers without a wait."""
        for worker in self._workers:
            worker.retire()

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error of the worker that would get the smallest request."""
        self._workers[self._next()].check_room(deadline)

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Divide the sentences of a request; each worker accepts all of its share, or all of it fails."""
        futures: dict[int, Future[SentenceResult]] = {}
        try:
            for chosen, share in self._shares([len(job.source_ids) for job in jobs]).items():
                given = self._workers[chosen].submit_all([jobs[index] for index in share])
                for index, future in zip(share, given, strict=True):
                    futures[index] = self._counted(future, chosen, len(jobs[index].source_ids))
        except BaseException:
            for future in futures.values():
                future.cancel()
            raise
        return [futures[index] for index in range(len(jobs))]

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Send a given translation to one of the workers for scoring."""
        chosen = self._next()
        return self._counted(self._workers[chosen].submit_scoring(job), chosen, len(job.source_ids))

    def _shares(self, lengths: Sequence[int]) -> dict[int, list[int]]:
        """Return the sentences of each worker, by the tokens of each sentence: each goes to the least busy worker."""
        takers, tokens = self._available_workers(), self._tokens.copy()
        shares: dict[int, list[int]] = {}
        for index, length in enumerate(lengths):
            chosen = min(takers, key=tokens.__getitem__)
            tokens[chosen] += length
            shares.setdefault(chosen, []).append(index)
        return shares

    def _next(self) -> int:
        """Return the worker that gets the next sentence."""
        return min(self._available_workers(), key=self._tokens.__getitem__)

    def _available_workers(self) -> list[int]:
        """Return the workers that may get work: running ones with a recent heartbeat, or the best that there are."""
        every, now = [worker.status for worker in self._workers], time.monotonic()
        running = [index for index, each in enumerate(every) if each.state is WorkerState.RUNNING]
        lively = [index for index in running if now - every[index].heartbeat < SILENT_SECONDS]
        return lively or running or list(range(len(self._workers)))

    def _counted(self, future: Future[Result], chosen: int, tokens: int) -> Future[Result]:
        """Count a job as pending until it is resolved."""
        self._count(chosen, tokens)
        future.add_done_callback(lambda _: self._count(chosen, -tokens))
        return future

    def _count(self, chosen: int, tokens: int) -> None:
        with self._lock:
            self._tokens[chosen] += tokens


class EngineCluster:
    """Starts the processes, opens bundles in all of them (`open` is a WorkerFactory), and ends them at the exit."""

    def __init__(
        self,
        size: int,
        loop: asyncio.AbstractEventLoop,
        log_style: LogStyle | None = None,
        on_restart: Callable[[str], None] = lambda _what: None,
        gpus: Sequence[str] = (),
    ) -> None:
        """Manage `size` processes, each with one of several `gpus` in turn; `loop`, `on_restart`: see EngineProcess."""
        self._loop = loop
        self._size, self._log_style, self._on_restart = size, log_style or LogStyle(), on_restart
        self._gpus = gpus if len(gpus) > 1 else [None]
        self._processes: list[EngineProcess] = []

    def __enter__(self) -> Self:
        """Start the processes."""
        self._processes = [
            EngineProcess(self._loop, self._log_style, self._on_restart, self._gpus[number % len(self._gpus)])
            for number in range(self._size)
        ]
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
        return any(process.state is not ProcessState.GIVEN_UP for process in self._processes)

    def providers(self) -> tuple[str, ...]:
        """Return the providers of ONNX Runtime in the processes."""
        return self._processes[0].providers(PROVIDERS_SECONDS)

    def open(self, bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[SentenceWorker]:
        """Load a bundle in every process at the same time; raise the errors of `load_worker`, or EngineFailure."""
        processes = [process for process in self._processes if process.state is not ProcessState.GIVEN_UP]
        if not processes:
            raise EngineFailure("There is no engine process.")
        listeners = _sum_of_loads(on_event, len(processes))
        opening = [
            process.open(bundle, settings, listener) for process, listener in zip(processes, listeners, strict=True)
        ]
        loading = wait([placement for _, placement in opening], settings.load_seconds).not_done
        try:
            if loading:
                raise EngineFailure(f"{bundle.folder}: it was not loaded within {settings.load_seconds:g} seconds.")
            placements = [placement.result() for _, placement in opening]
        except EngineError:
            for worker, placement in opening:  # otherwise the processes that have loaded it would keep it
                placement.cancel()
                worker.retire()
            raise
        workers = [worker for worker, _ in opening]
        return LoadedWorker(workers[0] if len(workers) == 1 else WorkerPool(workers), placements[0])


def _sum_of_loads(on_event: EventListener, parts: int) -> list[EventListener]:
    """Return a listener for each of the workers of one model; the given one gets the sum of their loads."""
    if parts == 1:
        return [on_event]
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
