"""The stages in threads of their own: the encoder runs ahead of decoding, and scoring runs in parallel with both.

ONNX Runtime releases the interpreter's lock, so the runs of several threads overlap. A running sentence never waits for
an encoder run; a scoring run reads nothing of the running batches and takes as long as several decoder steps.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from service.engine.attention.selection import selected_scores
from service.engine.errors import EngineError
from service.engine.events import EventListener, StageDone
from service.engine.jobs import ScoringResult
from service.engine.model.interface import Model
from service.engine.scheduling.pending import PendingSentence, QueuedScoring
from service.engine.scheduling.requests import RequestTable

Item = TypeVar("Item")


class Stage(ABC, Generic[Item]):
    """Works on items as they arrive, several at once."""

    def __init__(
        self, name: str, model: Model, table: RequestTable, on_event: EventListener, clock: Callable[[], float]
    ) -> None:
        self._name, self._model, self._table, self._on_event, self._clock = name, model, table, on_event, clock
        self.began: float | None = None  # the start time of the current run, if there is one

    def turn(self) -> bool:
        """Wait for items and work on them; return False at the end."""
        if not (items := self._take()):
            return False
        self.began = self._clock()
        self._work(items, self.began)
        self.began = None
        return True

    @abstractmethod
    def _take(self) -> list[Item]:
        """Wait for the next items; none at the end."""

    @abstractmethod
    def _work(self, taken: list[Item], began: float) -> None:
        """Work on items, from this time on."""


class EncoderStage(Stage[PendingSentence]):
    """Runs the encoder over queued sentences, oldest first, several at once; they stay in the queue meanwhile."""

    def _take(self) -> list[PendingSentence]:
        return self._table.take_to_encode()

    def _work(self, taken: list[PendingSentence], began: float) -> None:
        """Encode sentences together; one that is cancelled meanwhile is no longer queued."""
        try:
            encoded = self._model.encode([request.job.source_ids for request in taken], _needed(taken))
        except Exception:
            # The running sentences are unaffected, and so are later ones in the queue.
            self._table.run_failed("encoder", taken)
            return
        self._table.run_succeeded("encoder")
        seconds = self._clock() - began
        for at, request in enumerate(taken):
            request.memory, request.encode_seconds = (encoded, at), seconds
        self._table.encoded(taken)
        self._on_event(StageDone(self._name, "encode", seconds))


def _needed(requests: list[PendingSentence]) -> list[tuple[int, ...]] | None:
    """Return the tokens of the values of each sentence; None if no sentence has values."""
    if all(request.job.values is None for request in requests):
        return None
    return [() if request.job.values is None else request.job.values.tokens for request in requests]


class ScoringStage(Stage[QueuedScoring]):
    """Scores translations in the order of arrival, several at once."""

    def _take(self) -> list[QueuedScoring]:
        return self._table.take_to_score()

    def _work(self, taken: list[QueuedScoring], began: float) -> None:
        """Score translations together and deliver the results."""
        wanted: list[QueuedScoring] = []
        for scoring in taken:
            if scoring.job.deadline is not None and scoring.job.deadline <= began:
                self._table.expire(scoring.request)
            elif not scoring.request.future.cancelled():
                wanted.append(scoring)
        if not wanted:
            return
        explained = [scoring for scoring in wanted if _wants_scores(scoring)]
        plain = [scoring for scoring in wanted if not _wants_scores(scoring)] if explained else wanted
        if plain:
            self._score_together(plain, began)
        for scoring in explained:
            self._explain(scoring)

    def _score_together(self, scorings: list[QueuedScoring], began: float) -> None:
        try:
            results = self._model.score_batch([(each.job.source_ids, each.job.target_ids) for each in scorings])
        except Exception:
            self._table.run_failed("scoring", [scoring.request for scoring in scorings])
            return
        self._table.run_succeeded("scoring")
        self._on_event(StageDone(self._name, "score", self._clock() - began))
        for scoring, result in zip(scorings, results, strict=True):
            self._deliver(scoring, result)

    def _explain(self, scoring: QueuedScoring) -> None:
        """Score one translation with the scores behind its attention weights."""
        job, began = scoring.job, self._clock()
        assert job.wanted is not None
        try:
            result = self._model.explain(job.source_ids, job.target_ids, job.wanted)
        except EngineError as error:
            self._table.fail(scoring.request, error)
            return
        except Exception:
            self._table.run_failed("scoring", [scoring.request])
            return
        self._table.run_succeeded("scoring")
        self._on_event(StageDone(self._name, "score", self._clock() - began))
        self._deliver(scoring, result)

    def _deliver(self, scoring: QueuedScoring, result: ScoringResult) -> None:
        try:
            scores = selected_scores(result, scoring.job.wanted)
        except EngineError as error:
            self._table.fail(scoring.request, error)
            return
        if scoring.translation is None:
            self._table.resolve(scoring.request, scores)
            return
        seconds = self._clock() - scoring.queued
        self._table.resolve(scoring.request, replace(scoring.translation, scores=scores, score_seconds=seconds))


def _wants_scores(scoring: QueuedScoring) -> bool:
    return scoring.job.wanted is not None and scoring.job.wanted.stage == "scores"
