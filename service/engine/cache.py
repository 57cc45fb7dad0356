"""The exact cache: finished sentences in memory, within a limit of bytes, in front of the worker of a model (ADR 22).

A sentence's translation does not depend on the sentences beside it, so a kept result is what the model would give
again, to the byte. The cache is in the process that handles text: a hit costs no message to an engine process. Nothing
is written to a disk, and no key or result ever reaches a log.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy.typing as npt

from service.bundle.load import Bundle
from service.engine.events import EventListener, SentencesLookedUp, ignore_event
from service.engine.jobs import (
    ScoringRequest,
    ScoringResult,
    SearchOptions,
    SentenceJob,
    SentenceResult,
    WeightSelection,
)
from service.engine.loader import EngineSettings, LoadedWorker, WorkerFactory
from service.engine.scheduling.admission import WorkerStatus
from service.engine.scheduling.interface import SentenceWorker
from service.engine.values.constraints import ValueConstraints

ENTRY_BYTES = 1_000  # of a key, a result and their place in the table, without tokens and weights
HYPOTHESIS_BYTES = 200
TOKEN_BYTES = 40  # a number, and the reference to it
FORM_BYTES = 300  # of one form of a value
ARRAY_BYTES = 150  # of an array without numbers
# Whose results the cache keeps and finds: the hash of an API key, so that no client learns from the time of an answer
# what another one has sent; "": clients without a key, who share theirs.
result_owner: ContextVar[str] = ContextVar("result_owner", default="")
LARGEST_SHARE = 16  # a result that takes more than one part in so many is not kept


class ResultKey(NamedTuple):
    """All that a translation depends on, and whose it is; the deadline is not part of it."""

    scope: str  # the model as it runs: digest, device and precision
    owner: str
    source_ids: tuple[int, ...]
    search: SearchOptions
    score: WeightSelection | None
    values: ValueConstraints | None


def key_of(scope: str, job: SentenceJob) -> ResultKey:
    """Return the key of a job's result, for the owner who asks now."""
    return ResultKey(scope, result_owner.get(), job.source_ids, job.search, job.score, job.values)


class ResultCache:
    """The results of all models of a server, those used least recently first; may be called from any thread."""

    def __init__(self, limit: int) -> None:
        """Set the limit in bytes."""
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: OrderedDict[ResultKey, tuple[SentenceResult, int]] = OrderedDict()  # with their bytes
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: ResultKey) -> SentenceResult | None:
        """Return the result of a key, if it is kept, and count it as used."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: ResultKey, result: SentenceResult) -> None:
        """Keep a result without its times; its arrays can no longer be changed by anyone who holds it."""
        size = bytes_of(key, result)
        if size > self._limit // LARGEST_SHARE:
            return
        for array in _arrays(result):
            array.flags.writeable = False
        kept = replace(result, queue_seconds=0.0, compute_seconds=0.0, encode_seconds=0.0, score_seconds=0.0)
        with self._lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = kept, size
            self.bytes += size - before
            while self.bytes > self._limit:
                _, (_, gone) = self._entries.popitem(last=False)
                self.bytes -= gone


def bytes_of(key: ResultKey, result: SentenceResult) -> int:
    """Return about how many bytes of memory an entry takes."""
    tokens = len(key.source_ids) + sum(2 * len(hypothesis.ids) for hypothesis in result.hypotheses)
    size = ENTRY_BYTES + HYPOTHESIS_BYTES * len(result.hypotheses) + TOKEN_BYTES * tokens
    if key.values is not None:
        forms = [form for forms in key.values.forms for form in forms]
        size += FORM_BYTES * len(forms) + TOKEN_BYTES * sum(len(form.tokens) for form in forms)
    return size + sum(ARRAY_BYTES + array.nbytes for array in _arrays(result))


def _arrays(result: SentenceResult) -> list[npt.NDArray[Any]]:
    scores = result.scores
    if scores is None:
        return []
    every = (scores.encoder_attention, scores.decoder_attention, scores.selected)
    return [scores.logprobs, scores.ranks, scores.cross_attention, *(array for array in every if array is not None)]


def with_cache(open_worker: WorkerFactory, results: ResultCache) -> WorkerFactory:
    """Return a factory whose workers share these results."""

    def open_cached(bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[SentenceWorker]:
        worker, placement = open_worker(bundle, settings, on_event)
        scope = f"{bundle.digest} {placement.device} {placement.precision}"
        return LoadedWorker(CachedWorker(worker, results, scope, bundle.manifest.name, on_event), placement)

    return open_cached


class CachedWorker:
    """Satisfies SentenceWorker: answers finished sentences at once, and gives equal ones of a call to a worker once."""

    def __init__(
        self,
        worker: SentenceWorker,
        results: ResultCache,
        scope: str,
        name: str,
        on_event: EventListener = ignore_event,
    ) -> None:
        """Stand in front of a worker; `scope` separates its results from those of other models."""
        self._worker, self._results, self._scope = worker, results, scope
        self._name, self._on_event = name, on_event

    @property
    def status(self) -> WorkerStatus:
        """Return the state of the worker and of its queue."""
        return self._worker.status

    def stop(self, drain: float = 0.0) -> None:
        """Stop the worker; this blocks."""
        self._worker.stop(drain)

    def retire(self) -> None:
        """Stop without a wait; results are kept until others need their memory."""
        self._worker.retire()

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
        missing = {key: job for job, key, result in zip(jobs, keys, kept, strict=True) if result is None}
        futures = dict(zip(missing, self._worker.submit_all([*missing.values()]), strict=True)) if missing else {}
        for key, job in missing.items():
            if not job.fresh:
                futures[key].add_done_callback(partial(self._keep, key))
        hits = sum(result is not None for result in kept)
        self._on_event(SentencesLookedUp(self._name, hits, len(jobs) - hits - len(missing), len(missing)))
        return [futures[key] if result is None else _answered(result) for key, result in zip(keys, kept, strict=True)]

    def _keep(self, key: ResultKey, future: Future[SentenceResult]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._results.put(key, future.result())


def _answered(result: SentenceResult) -> Future[SentenceResult]:
    future: Future[SentenceResult] = Future()
    future.set_result(result)
    return future
