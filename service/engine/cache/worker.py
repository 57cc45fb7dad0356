"""A worker that answers sentences from the cache, and lets equal sentences in flight share one decode.

It stands in front of the worker of a model, in the process that handles text: a hit costs no message to an engine
process. The rules:

1. A finished sentence is answered at once. Its times are zero.
2. Equal sentences in flight share one decode. Each has a future of its own: it is cancelled alone, and the decode is
   cancelled with its last sharer.
3. A sentence joins no decode that may end too late for it: one of a long request, which waits longer in the engine's
   queue, if its own request is short, or one with less than half of its own time. It begins another one, which later
   sentences join.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from service.bundle.load import Bundle
from service.engine.cache.results import ResultCache, ResultKey, key_of
from service.engine.events import EventListener, SentencesLookedUp, ignore_event
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.loader import EngineSettings, LoadedWorker, WorkerFactory
from service.engine.model.device import Placement
from service.engine.scheduling.admission import WorkerStatus
from service.engine.scheduling.interface import SentenceWorker
from service.engine.scheduling.scheduler import SHORT_TOKENS

LEAST_TIME = 0.5  # the share of its own time that a sentence finds left in a decode that it joins


def with_cache(open_worker: WorkerFactory, results: ResultCache) -> WorkerFactory:
    """Return a factory whose workers share these results."""

    def open_cached(bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[SentenceWorker]:
        worker, placement = open_worker(bundle, settings, on_event)
        scope = scope_of(bundle.digest, placement)
        return LoadedWorker(CachedWorker(worker, results, scope, bundle.manifest.name, on_event), placement)

    return open_cached


def scope_of(digest: str, placement: Placement) -> str:
    """Return what the results of a model depend on beside the sentence: its files, device and precision."""
    return f"{digest} {placement.device} {placement.precision}"


@dataclass(slots=True, eq=False)
class _SharedDecode:
    """A sentence that is being translated, for all of its sharers."""

    key: ResultKey
    began: float
    deadline: float  # infinity: none
    short: bool  # whether it was submitted as part of a short request
    fresh: bool  # whether its result is not to be kept
    sharers: dict[Future[SentenceResult], float] = field(default_factory=dict)  # with the time at which each joined
    running: Future[SentenceResult] | None = None

    def ends_in_time(self, deadline: float, short: bool, now: float) -> bool:
        """Return whether a sentence with this deadline may wait for it; `short`: its request is short."""
        return self.short >= short and self.deadline - now >= LEAST_TIME * (deadline - now)


class CachedWorker:
    """Satisfies SentenceWorker; may be called from any thread."""

    def __init__(
        self,
        worker: SentenceWorker,
        results: ResultCache,
        scope: str,
        name: str,
        on_event: EventListener = ignore_event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Stand in front of a worker; `scope` separates its results from those of other models."""
        self._worker, self._results, self._scope = worker, results, scope
        self._name, self._on_event, self._clock = name, on_event, clock
        self._lock = threading.RLock()  # never held while the worker is called
        self._decodes: dict[ResultKey, _SharedDecode] = {}  # those that others may join

    @property
    def status(self) -> WorkerStatus:
        """Return the state of the worker and of its queue."""
        return self._worker.status

    def start(self) -> None:
        """Start the worker."""
        self._worker.start()

    def stop(self, drain: float = 0.0) -> None:
        """Stop the worker; this blocks."""
        self._worker.stop(drain)

    def retire(self) -> None:
        """Stop without a wait; results are kept until others need their memory."""
        self._worker.retire()

    def close(self) -> None:
        """Stop at once and free the model's memory; this blocks."""
        self._worker.close()

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error that submit_all would raise for the smallest request that is not answered from the cache."""
        self._worker.check_room(deadline)

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Queue the scoring of a given translation, which is not kept."""
        return self._worker.submit_scoring(job)

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Answer sentences from the cache, and queue the others, all or none."""
        keys = [key_of(self._scope, job) for job in jobs]
        kept = [None if job.fresh else self._results.get(key) for job, key in zip(jobs, keys, strict=True)]
        short = sum(len(job.source_ids) for job, found in zip(jobs, kept, strict=True) if found is None) <= SHORT_TOKENS
        futures: list[Future[SentenceResult]] = []
        to_run: list[tuple[_SharedDecode, SentenceJob]] = []
        with self._lock:
            for job, key, found in zip(jobs, keys, kept, strict=True):
                if found is not None:
                    futures.append(_answered(found))
                    continue
                now, future = self._clock(), Future[SentenceResult]()
                shared, runs = self._join(key, job, short, now)
                shared.sharers[future] = now
                futures.append(future)
                future.add_done_callback(partial(self._left, shared))
                if runs:
                    to_run.append((shared, job))
        if to_run:
            self._run(to_run, futures)
        missing = sum(found is None for found in kept)
        self._on_event(SentencesLookedUp(self._name, len(jobs) - missing, missing - len(to_run), len(to_run)))
        return futures

    def _join(self, key: ResultKey, job: SentenceJob, short: bool, now: float) -> tuple[_SharedDecode, bool]:
        """Return the decode that a job shares, and whether it has to be submitted for that."""
        deadline = float("inf") if job.deadline is None else job.deadline
        running = None if job.fresh else self._decodes.get(key)
        if running is not None and running.ends_in_time(deadline, short, now):
            return running, False
        shared = _SharedDecode(key, now, deadline, short, job.fresh)
        if not job.fresh:
            self._decodes[key] = shared
        return shared, True

    def _run(
        self, to_run: Sequence[tuple[_SharedDecode, SentenceJob]], futures: Sequence[Future[SentenceResult]]
    ) -> None:
        """Submit the jobs of new shared decodes; if they are refused, the call ends without a trace."""
        try:
            running = self._worker.submit_all([job for _, job in to_run])
        except BaseException as error:
            for future in futures:
                future.cancel()
            for shared, _ in to_run:
                self._end(shared, error)  # for a call in another thread that has joined it meanwhile
            raise
        for future, (shared, _) in zip(running, to_run, strict=True):
            shared.running = future
            future.add_done_callback(partial(self._ended, shared))

    def _ended(self, shared: _SharedDecode, future: Future[SentenceResult]) -> None:
        if not future.cancelled():
            self._end(shared, future.exception() or future.result())

    def _end(self, shared: _SharedDecode, outcome: SentenceResult | BaseException) -> None:
        """Give every sharer its answer, and keep a result."""
        if isinstance(outcome, SentenceResult) and not shared.fresh:
            self._results.put(shared.key, outcome)
        for future, joined in self._close(shared).items():
            _resolve(future, outcome, joined - shared.began)

    def _close(self, shared: _SharedDecode) -> dict[Future[SentenceResult], float]:
        """Close a shared decode and return its sharers."""
        with self._lock:
            if self._decodes.get(shared.key) is shared:
                del self._decodes[shared.key]
            sharers, shared.sharers = shared.sharers, {}
            return sharers

    def _left(self, shared: _SharedDecode, future: Future[SentenceResult]) -> None:
        """Remove a sharer that was cancelled; the last one takes the decode with it."""
        if not future.cancelled():
            return
        with self._lock:
            if shared.sharers.pop(future, None) is None or shared.sharers:
                return
            self._close(shared)
        if shared.running is not None:
            shared.running.cancel()


def _answered(result: SentenceResult) -> Future[SentenceResult]:
    future: Future[SentenceResult] = Future()
    future.set_result(result)
    return future


def _resolve(future: Future[SentenceResult], outcome: SentenceResult | BaseException, missed: float) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, SentenceResult):
        future.set_result(_as_seen(outcome, missed))
    else:
        future.set_exception(outcome)


def _as_seen(result: SentenceResult, missed: float) -> SentenceResult:
    """Return a result with the times that a sharer has seen, who joined this much later: first less of the queue."""
    if missed <= 0.0:
        return result
    queue = max(result.queue_seconds - missed, 0.0)
    left = max(result.compute_seconds - max(missed - result.queue_seconds, 0.0), 0.0)
    encode = max(result.encode_seconds - (result.compute_seconds - left), 0.0)
    return replace(result, queue_seconds=queue, compute_seconds=left, encode_seconds=encode)
