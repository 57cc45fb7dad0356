"""The stages in threads of their own: the encoder runs ahead of decoding, and scoring runs in parallel with both.

ONNX Runtime releases the interpreter's lock, so the runs of several threads overlap. A running sentence never waits for
an encoder run; a scoring run reads nothing of the running batches and takes as long as several decoder steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from service.engine.attention.selection import selected_scores
from service.engine.errors import InvalidOption
from service.engine.events import EventListener, StageDone
from service.engine.jobs import ScoringRequest, ScoringResult
from service.engine.model.interface import Model
from service.engine.scheduling.pending import PendingRequest, PendingSentence, Scoring
from service.engine.scheduling.requests import RequestTable

Score = Callable[[Sequence[tuple[Sequence[int], Sequence[int]]]], list[ScoringResult]]


class Stage:
    """Works on requests as they arrive, several at once."""

    work: Callable[[list[Any], float], None]  # works on requests, from this time on

    def __init__(
        self,
        name: str,
        model: Model,
        table: RequestTable,
        on_event: EventListener,
        clock: Callable[[], float],
        take: Callable[[], list[Any]],
    ) -> None:
        """Create a stage without a run; `take` waits for its next requests, and returns none at the end."""
        self._name, self._model, self._table, self._on_event, self._clock = name, model, table, on_event, clock
        self._take = take
        self.began: float | None = None  # the start time of the current run, if there is one

    def turn(self) -> bool:
        """Wait for requests and work on them; return False at the end."""
        if not (requests := self._take()):
            return False
        self.began = self._clock()
        self.work(requests, self.began)
        self.began = None
        return True


class EncoderStage(Stage):
    """Runs the encoder over queued sentences, oldest first, several at once; they stay in the queue meanwhile."""

    def work(self, taken: list[PendingSentence], began: float) -> None:
        """Encode sentences together; one that is cancelled meanwhile is no longer queued."""
        values = [request.job.values for request in taken]
        needed = [() if constraints is None else constraints.tokens for constraints in values] if any(values) else None
        try:
            encoded = self._model.encode([request.job.source_ids for request in taken], needed)
        except Exception:
            # The running sentences are unaffected, and so are later ones in the queue.
            self._table.run_failed("encoder", taken)
            return
        self._table.run_succeeded("encoder")
        ended = self._clock()
        for at, request in enumerate(taken):
            request.memory, request.encode_seconds = (encoded, at), ended - began
        self._table.encoded(taken)
        self._on_event(StageDone(self._name, "encode", began, ended))


class ScoringStage(Stage):
    """Scores translations in the order of arrival, several at once."""

    def work(self, taken: list[Scoring], began: float) -> None:
        """Score translations together, but each one alone whose answer has the scores behind its weights."""
        plain: list[Scoring] = []
        explained: list[Scoring] = []
        for request, job in taken:
            if job.deadline is not None and job.deadline <= began:
                self._table.expire(request)
            elif not request.future.cancelled():
                (explained if job.wanted is not None and job.wanted.stage == "scores" else plain).append((request, job))
        if plain:
            self._run(plain, self._model.score_batch)
        for explanation in explained:
            self._run([explanation], partial(self._explain, explanation[1]))

    def _explain(self, job: ScoringRequest, _pairs: object) -> list[ScoringResult]:
        assert job.wanted is not None
        return [self._model.explain(job.source_ids, job.target_ids, job.wanted)]

    def _run(self, taken: Sequence[Scoring], score: Score) -> None:
        began = self._clock()
        try:
            results = score([(job.source_ids, job.target_ids) for _, job in taken])
        except InvalidOption as error:  # there are no scores to explain
            for request, _ in taken:
                self._table.fail(request, error)
            return
        except Exception:
            self._table.run_failed("scoring", [request for request, _ in taken])
            return
        self._table.run_succeeded("scoring")
        self._on_event(StageDone(self._name, "score", began, self._clock()))
        for (request, job), result in zip(taken, results, strict=True):
            self._deliver(request, job, result)

    def _deliver(self, request: PendingRequest, job: ScoringRequest, result: ScoringResult) -> None:
        try:
            scores = selected_scores(result, job.wanted)
        except InvalidOption as error:
            self._table.fail(request, error)
            return
        if isinstance(request, PendingSentence):
            assert request.translation is not None, "it is scored after its translation"
            seconds = self._clock() - request.translated
            self._table.resolve(request, replace(request.translation, scores=scores, score_seconds=seconds))
        else:
            self._table.resolve(request, scores)
