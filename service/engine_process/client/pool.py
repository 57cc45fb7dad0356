"""Presents several workers of one model as one: the one with the least work gets the next sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from service.engine import (
    QueueStatus,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
    SentenceWorker,
    WorkerState,
)

Result = TypeVar("Result")

# The state of a pool is the first of these that one of its workers is in: running ones work without the others.
STATES = (
    WorkerState.RUNNING,
    WorkerState.DRAINING,
    WorkerState.NEW,
    WorkerState.RESTARTING,
    WorkerState.STOPPED,
    WorkerState.DEAD,
)
SILENT_SECONDS = 3.0  # without a heartbeat, after which other workers are preferred


class WorkerPool:
    """Satisfies service.engine.SentenceWorker; a request's sentences may be translated by different workers."""

    def __init__(self, workers: Sequence[SentenceWorker]) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._tokens = [0] * len(workers)  # of the pending jobs of each worker

    @property
    def state(self) -> WorkerState:
        """Return the state; it is running while one of the workers is."""
        return min((worker.state for worker in self._workers), key=STATES.index)

    @property
    def alive(self) -> bool:
        """Return whether one of the workers is working."""
        return any(worker.alive for worker in self._workers)

    @property
    def heartbeat(self) -> float:
        """Return the latest heartbeat of the workers."""
        at_work = [worker.heartbeat for worker in self._workers if worker.alive]
        return max(at_work or [worker.heartbeat for worker in self._workers])

    @property
    def queue_status(self) -> QueueStatus:
        """Return the shortest queue."""
        every = [self._workers[index].queue_status for index in self._available_workers()]
        seconds = [each.seconds for each in every if each.seconds is not None]
        return QueueStatus(all(each.full for each in every), min(seconds) if len(seconds) == len(every) else None)

    def start(self) -> None:
        """Start all workers."""
        for worker in self._workers:
            worker.start()

    def stop(self, drain: float = 0.0) -> None:
        """Stop all workers at the same time, with the same time to finish; this blocks."""
        with ThreadPoolExecutor(len(self._workers)) as threads:
            list(threads.map(lambda worker: worker.stop(drain), self._workers))

    def close(self) -> None:
        """Close all workers at the same time; this blocks."""
        with ThreadPoolExecutor(len(self._workers)) as threads:
            list(threads.map(lambda worker: worker.close(), self._workers))

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
        running = [index for index, worker in enumerate(self._workers) if worker.state is WorkerState.RUNNING]
        now = time.monotonic()
        lively = [index for index in running if now - self._workers[index].heartbeat < SILENT_SECONDS]
        return lively or running or list(range(len(self._workers)))

    def _counted(self, future: Future[Result], chosen: int, tokens: int) -> Future[Result]:
        """Count a job as pending until it is resolved."""
        self._count(chosen, tokens)
        future.add_done_callback(lambda _: self._count(chosen, -tokens))
        return future

    def _count(self, chosen: int, tokens: int) -> None:
        with self._lock:
            self._tokens[chosen] += tokens
