"""The interface of a worker for translators, and the wait of a call for its results on the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

from service.engine.events import StageDone
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.scheduling.admission import WorkerStatus
from service.engine.thread_pools import if_many

Result = TypeVar("Result")


class SentenceWorker(Protocol):
    """A worker, in this process or another: see service.engine.scheduling.worker.Worker."""

    @property
    def status(self) -> WorkerStatus:
        """Return the state of the worker and of its queue."""

    def stop(self, drain: float = 0.0) -> None:
        """Let running requests finish within `drain` seconds, fail the others, and free the model; this blocks."""

    def retire(self) -> None:
        """Stop without a wait; no result is needed any more."""

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error that submit_all would raise for the smallest request."""

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Queue all sentences, or none; a cancelled future frees its rows."""

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Queue the scoring of a given translation."""


async def run_sentences(
    worker: SentenceWorker, hypotheses: int, jobs: Callable[[], Sequence[SentenceJob]]
) -> list[SentenceResult]:
    """Make and translate sentences; cancellation, or the failure of one, cancels the others."""
    return await _finish(await if_many(hypotheses, lambda: worker.submit_all(jobs())))


async def run_scoring(worker: SentenceWorker, jobs: Sequence[ScoringRequest]) -> list[ScoringResult]:
    """Score all given translations; cancellation, or the failure of one, cancels the others."""
    futures: list[Future[ScoringResult]] = []
    try:
        futures.extend(worker.submit_scoring(job) for job in jobs)
    except BaseException:
        _give_up(futures)
        raise
    return await _finish(futures)


def sentence_stages(
    began: float, sources: Sequence[Sequence[int]], results: Sequence[SentenceResult], model: str | None = None
) -> list[StageDone]:
    """Return the stages queue, encode, decode and score of a call that began at `began` (time.monotonic).

    Each stage lasts from the first sentence that enters it to the last that leaves it, so the stages of a call with
    many sentences overlap.
    """
    waited = [result.queue_seconds for result in results]
    encoded = [result.queue_seconds + result.encode_seconds for result in results]
    finished = [result.queue_seconds + result.compute_seconds for result in results]
    source = {"sentences": len(results), "source_tokens": sum(map(len, sources))}
    target = {"sentences": len(results), "target_tokens": sum(len(result.hypotheses[0].ids) for result in results)}
    stages = [
        ("queue", 0.0, max(waited), source),
        ("encode", min(waited), max(encoded), source),
        ("decode", min(encoded), max(finished), target),
    ]
    if any(result.scores is not None for result in results):
        scored = max(end + result.score_seconds for end, result in zip(finished, results, strict=True))
        stages.append(("score", min(finished), scored, {"sentences": len(results)}))
    return [
        StageDone(model, stage, began + start, began + end, figures, measured=False)
        for stage, start, end, figures in stages
    ]


async def _finish(futures: Sequence[Future[Result]]) -> list[Result]:
    try:
        if not all(future.done() for future in futures):  # from the cache: no turn of the event loop is needed
            await asyncio.gather(*map(asyncio.wrap_future, futures))
        return [future.result() for future in futures]
    except BaseException:
        _give_up(futures)
        raise


def _give_up(futures: Sequence[Future[Result]]) -> None:
    for future in futures:
        future.cancel()
