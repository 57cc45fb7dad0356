"""A worker without a model: it translates a sentence as the sentence itself, word for word; a translator over it."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np

from service.bundle.manifest import Manifest, parse_manifest
from service.engine.attention.selection import check_size, selected_scores
from service.engine.errors import EngineError
from service.engine.events import EventListener, ignore_event
from service.engine.jobs import (
    FinishReason,
    FloatArray,
    Hypothesis,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
)
from service.engine.model_info import ModelInfo
from service.engine.scheduling.interface import SentenceWorker
from service.engine.translation.pair_model import pair_of_worker
from service.engine.translation.translator import Translator
from tests.support.fake_engine import IdleWorker, opened
from tests.support.manifests import manifest_document
from tests.support.vocabulary import small_tokenizers

LAYERS, HEADS = 2, 4


@dataclass
class MirrorWorker(IdleWorker):
    """Answers at once, or never while `held`; the n-th alternative lacks the last n tokens before </s>."""

    held: bool = False
    error: EngineError | None = None
    has_self_attention: bool = True
    jobs: list[SentenceJob] = field(default_factory=list)
    forced: list[ScoringRequest] = field(default_factory=list)
    futures: list[Future[SentenceResult]] = field(default_factory=list)
    stopped_with: float | None = None

    def stop(self, drain: float = 0.0) -> None:
        super().stop(drain)
        self.stopped_with = drain

    def check_room(self, deadline: float | None = None) -> None:
        if self.error:
            raise self.error

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        if self.error:
            raise self.error
        self.jobs.extend(jobs)
        futures = [self._answer(job) for job in jobs]
        self.futures.extend(futures)
        return futures

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        self.forced.append(job)
        future: Future[ScoringResult] = Future()
        every = forced_result(len(job.source_ids), len(job.target_ids), self.has_self_attention)
        future.set_result(selected_scores(every, job.wanted))
        return future

    def _answer(self, job: SentenceJob) -> Future[SentenceResult]:
        future: Future[SentenceResult] = Future()
        if not self.held:
            best = [mirrored(job, shorter) for shorter in range(job.search.n_best)]
            try:
                future.set_result(SentenceResult(tuple(best), 0.0, 0.0, scores=self._scores(job, best[0])))
            except EngineError as error:
                future.set_exception(error)
        return future

    def _scores(self, job: SentenceJob, best: Hypothesis) -> ScoringResult | None:
        if job.score is None:
            return None
        closed = best.ids if best.finish_reason == "eos" else (*best.ids, job.source_ids[-1])
        check_size(job.score.limit, len(job.source_ids), len(closed))
        self.forced.append(ScoringRequest(job.source_ids, closed, job.deadline, job.score))
        return selected_scores(forced_result(len(job.source_ids), len(closed), self.has_self_attention), job.score)


def mirrored(job: SentenceJob, shorter: int = 0) -> Hypothesis:
    """Give the source as hypothesis, cut to the maximum length, each token with log-probability -0.5."""
    selected_scores = job.source_ids[: max(len(job.source_ids) - 1 - shorter, 1)]
    ids = (*selected_scores, job.source_ids[-1]) if selected_scores[-1] != job.source_ids[-1] else selected_scores
    reason: FinishReason = "eos"
    if len(ids) > job.search.max_length:
        ids, reason = ids[: job.search.max_length], "length"
    logprobs = (-0.5,) * len(ids)
    return Hypothesis(ids, logprobs, sum(logprobs) / len(ids) ** job.search.length_penalty, reason)


def forced_result(source: int, target: int, has_self_attention: bool = True) -> ScoringResult:
    """Give weights of which head 0 of the last layer looks at the token of the same place, the others evenly."""
    return ScoringResult(
        np.full(target, -0.5, dtype=np.float32),
        np.arange(1, target + 1, dtype=np.int64),
        attention(target, source),
        attention(source, source) if has_self_attention else None,
        causal(target) if has_self_attention else None,
    )


def attention(rows: int, columns: int) -> FloatArray:
    weights = np.full((LAYERS, HEADS, rows, columns), 1 / columns, dtype=np.float32)
    weights[-1, 0] = 0.2 / columns
    for row in range(rows):
        weights[-1, 0, row, min(row, columns - 1)] += 0.8
    return weights


def causal(size: int) -> FloatArray:
    weights = np.tril(np.ones((LAYERS, HEADS, size, size), dtype=np.float32))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


def translator_of(worker: SentenceWorker, limit: int = 256, wrap_tokens: int | None = None) -> Translator:
    """Return a translator whose sentences go to this worker."""
    limits = {"source_tokens": limit, "target_tokens": limit}
    manifest = parse_manifest(manifest_document(limits=limits))
    info = ModelInfo(
        *("transformer-en-fr", "1", "transformer", "en", "fr", "sha256:0", "int8", "cpu", "cpu", "none"),
        *(limit, limit, manifest.raw["attention"], manifest.card),
    )
    decoding = replace(manifest.decoding, wrap_tokens=wrap_tokens or limit)
    return served_by(worker, replace(manifest, decoding=decoding), info)


def served_by(
    worker: SentenceWorker, manifest: Manifest, info: ModelInfo, on_event: EventListener = ignore_event
) -> Translator:
    """Return a translator of this model whose sentences go to this worker; it is not warmed up."""
    return Translator(opened(pair_of_worker(manifest, info, small_tokenizers(), worker, on_event)))
