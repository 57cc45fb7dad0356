"""A worker that answers sentences from the cache, and lets equal sentences in flight share one decode.

It stands in front of the worker of a model, in the process that handles text: a hit costs no message to an engine
process. The rules:

1. A finished sentence is answered at once. Its times are zero.
2. Equal sentences in flight share one decode. Each has a future of its own: it is cancelled alone, and the decode is
   cancelled with its last sharer.
3. A sentence of a short request does not wait for the decode of a long request, which waits longer in the engine's
   queue. It is decoded by itself, and the decode that ends first answers all.
4. If a decode reaches the deadline of the request that began it, it begins again for sharers that have more time.
5. A stream is answered from finished streams, whose results have the weights of their steps, but does not join a
   decode in flight: it would miss the first tokens. A finished stream also answers the same greedy translation.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from service.bundle.load import Bundle
from service.engine.cache.results import ResultCache, ResultKey, key_of
from service.engine.errors import DeadlineExceeded
from service.engine.events import EventListener, SentencesLookedUp, ignore_event
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.loader import EngineSettings, LoadedWorker, WorkerFactory
from service.engine.model.device import Placement
from service.engine.scheduling.admission import WorkerStatus
from service.engine.scheduling.interface import SentenceWorker
from service.engine.scheduling.scheduler import SHORT_TOKENS


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
class _Sharer:
    """One caller of a decode."""

    job: SentenceJob
    joined: float
    future: Future[SentenceResult] = field(default_factory=Future)

    @property
    def deadline(self) -> float:
        """Return the time until which the caller waits."""
        return float("inf") if self.job.deadline is None else self.job.deadline


@dataclass(slots=True, eq=False)
class _SharedDecode:
    """A sentence that is being translated, for all of its sharers."""

    key: ResultKey
    began: float
    short: bool  # whether it was submitted as part of a short request
    open: bool = False  # whether others may join
    over: bool = False
    sharers: list[_Sharer] = field(default_factory=list)
    attempts: list[Future[SentenceResult]] = field(default_factory=list)  # decodes; the first to end counts


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
        self._closed = False

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
        """Stop without a wait; the results of a replaced model are dropped, those of a closed one are kept."""
        if not self._closed:
            self._results.forget(self._scope)
        self._worker.retire()

    def close(self) -> None:
        """Stop at once and free the model's memory; this blocks. The results are kept for when it is opened again."""
        self._closed = True
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
        kept = [None if job.fresh else self._results.find(key) for job, key in zip(jobs, keys, strict=True)]
        short = sum(len(job.source_ids) for job, found in zip(jobs, kept, strict=True) if found is None) <= SHORT_TOKENS
        futures: list[Future[SentenceResult]] = []
        to_run: list[tuple[_SharedDecode, SentenceJob]] = []
        with self._lock:
            for job, key, found in zip(jobs, keys, kept, strict=True):
                if found is not None:
                    futures.append(_answered(found))
                    continue
                shared, runs = self._join(key, job, short)
                sharer = _Sharer(job, self._clock())
                shared.sharers.append(sharer)
                futures.append(sharer.future)
                sharer.future.add_done_callback(partial(self._left, shared, sharer))
                if runs:
                    to_run.append((shared, job))
        if to_run:
            self._run(to_run, futures)
        missing = sum(found is None for found in kept)
        self._on_event(SentencesLookedUp(self._name, len(jobs) - missing, missing - len(to_run), len(to_run)))
        return futures

    def _join(self, key: ResultKey, job: SentenceJob, short: bool) -> tuple[_SharedDecode, bool]:
        """Return the shared decode of a job, and whether the job has to be submitted for it."""
        alone = job.fresh or job.listener is not None
        shared = None if alone else self._decodes.get(key)
        if shared is None:
            shared = _SharedDecode(key, self._clock(), short, open=not alone)
            if shared.open:
                self._decodes[key] = shared
            return shared, True
        runs = short and not shared.short
        shared.short = shared.short or short
        return shared, runs

    def _run(
        self, to_run: Sequence[tuple[_SharedDecode, SentenceJob]], futures: Sequence[Future[SentenceResult]]
    ) -> None:
        """Submit the jobs of new shared decodes; if they are refused, the call ends without a trace."""
        try:
            attempts = self._worker.submit_all([job for _, job in to_run])
        except BaseException as error:
            for future in futures:
                future.cancel()
            for shared, _ in to_run:
                if not shared.attempts:  # a call in another thread may have joined it meanwhile
                    self._end(shared, error)
            raise
        for attempt, (shared, _) in zip(attempts, to_run, strict=True):
            self._watch(shared, attempt)

    def _watch(self, shared: _SharedDecode, attempt: Future[SentenceResult]) -> None:
        with self._lock:
            shared.attempts.append(attempt)
            useless = shared.over
        attempt.add_done_callback(partial(self._attempt_ended, shared))
        if useless:
            attempt.cancel()

    def _attempt_ended(self, shared: _SharedDecode, attempt: Future[SentenceResult]) -> None:
        """Answer the sharers of a decode, one of whose attempts has ended."""
        if attempt.cancelled():
            return
        error = attempt.exception()
        if error is None:
            self._end(shared, attempt.result())
            return
        with self._lock:
            shared.attempts.remove(attempt)
            if shared.over or shared.attempts:
                return
            last = max(shared.sharers, key=lambda sharer: sharer.deadline, default=None)
        if last is None or last.deadline <= self._clock() or not isinstance(error, DeadlineExceeded):
            self._end(shared, error)
            return
        try:  # for the sharers with more time; each of the others ends at its own deadline
            [again] = self._worker.submit_all([last.job])
        except Exception as refusal:
            self._end(shared, refusal)
        else:
            self._watch(shared, again)

    def _end(self, shared: _SharedDecode, outcome: SentenceResult | BaseException) -> None:
        """Give every sharer its answer, keep a result, and cancel the decodes that still run."""
        if isinstance(outcome, SentenceResult) and not (shared.over or any(each.job.fresh for each in shared.sharers)):
            self._results.put(shared.key, outcome)
        sharers, attempts = self._take(shared)
        for sharer in sharers:
            _resolve(sharer, outcome, shared.began)
        for attempt in attempts:
            attempt.cancel()

    def _take(self, shared: _SharedDecode) -> tuple[list[_Sharer], list[Future[SentenceResult]]]:
        """Close a shared decode and return its sharers and its attempts."""
        with self._lock:
            shared.over = True
            if self._decodes.get(shared.key) is shared:
                del self._decodes[shared.key]
            sharers, shared.sharers = shared.sharers, []
            return sharers, list(shared.attempts)

    def _left(self, shared: _SharedDecode, sharer: _Sharer, future: Future[SentenceResult]) -> None:
        """Remove a sharer that was cancelled; the last one takes the decode with it."""
        if not future.cancelled():
            return
        with self._lock:
            if shared.over or sharer not in shared.sharers:
                return
            shared.sharers.remove(sharer)
            if shared.sharers:
                return
        for attempt in self._take(shared)[1]:
            attempt.cancel()


def _answered(result: SentenceResult) -> Future[SentenceResult]:
    future: Future[SentenceResult] = Future()
    future.set_result(result)
    return future


def _resolve(sharer: _Sharer, outcome: SentenceResult | BaseException, began: float) -> None:
    if not sharer.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, SentenceResult):
        sharer.future.set_result(_as_seen(outcome, sharer.joined - began))
    else:
        sharer.future.set_exception(outcome)


def _as_seen(result: SentenceResult, missed: float) -> SentenceResult:
    """Return a result with the times that a sharer has seen, who joined this much later: first less of the queue."""
    if missed <= 0.0:
        return result
    queue = max(result.queue_seconds - missed, 0.0)
    left = max(result.compute_seconds - max(missed - result.queue_seconds, 0.0), 0.0)
    encode = max(result.encode_seconds - (result.compute_seconds - left), 0.0)
    return replace(result, queue_seconds=queue, compute_seconds=left, encode_seconds=encode)
