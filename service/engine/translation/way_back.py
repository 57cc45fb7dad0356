"""Chooses a translation by the way back: how likely a model of the other direction finds the source, given it.

A search is good at what is likely and may leave out what is hard; a translation that lost a part of its source seldom
leads back to it. So of eight hypotheses the best by both is taken (docs/adr/0029-two-models-that-decide-together.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.engine.jobs import MAX_BEAM_SIZE, Hypothesis, ScoringRequest, SentenceResult, WeightSelection
from service.engine.scheduling.interface import run_scoring
from service.engine.text.reading import Reading
from service.engine.translation.pair_model import PairModel
from service.engine.types import BackScores, TranslationOptions

WEIGHT = 0.2  # of the way back: nats a token of the source, beside nats a token of the translation
AT_ONCE = 256  # pairs that are scored together


def widened(options: TranslationOptions) -> TranslationOptions:
    """Return the options of a search that finds as many hypotheses as possible."""
    return replace(options, beam_size=MAX_BEAM_SIZE, alternatives=MAX_BEAM_SIZE - 1)


@dataclass(frozen=True, slots=True)
class WayBack:
    """Puts the best hypothesis of each sentence first, and scores it if weights are wanted."""

    pair: PairModel
    back: BackScores
    deadline: float | None
    wanted: WeightSelection | None

    async def choose(self, readings: Sequence[Reading], results: Sequence[SentenceResult]) -> list[SentenceResult]:
        """Return the results of searches in the order of both scores."""
        candidates = [self._candidates(*both) for both in zip(readings, results, strict=True)]
        pairs = [(text, reading.text) for reading, group in zip(readings, candidates, strict=True) for _, text in group]
        scores: list[float] = []
        for at in range(0, len(pairs), AT_ONCE):
            scores += await self.back(pairs[at : at + AT_ONCE], self.deadline)
        left = iter(scores)
        chosen = [
            _with_best_first(result, [(candidate, next(left)) for candidate, _ in group])
            for result, group in zip(results, candidates, strict=True)
        ]
        return chosen if self.wanted is None else await self._scored(readings, chosen)

    def _candidates(self, reading: Reading, result: SentenceResult) -> list[tuple[Hypothesis, str]]:
        """Return the hypotheses that may be chosen, with their texts: those that hold all values, if any does."""
        target = self.pair.tokenizers.target
        texts = [(hypothesis, reading.translated(hypothesis.ids, target)) for hypothesis in result.hypotheses]
        written = [(hypothesis, text) for hypothesis, text in texts if text.strip()]
        whole = [(hypothesis, text) for hypothesis, text in written if reading.keeps_values(hypothesis.ids, target)]
        return whole or written

    async def _scored(self, readings: Sequence[Reading], results: Sequence[SentenceResult]) -> list[SentenceResult]:
        closed = self.pair.tokenizers.target.closed
        requests = [
            ScoringRequest(reading.ids, closed(result.hypotheses[0].ids), self.deadline, self.wanted)
            for reading, result in zip(readings, results, strict=True)
        ]
        scored = await run_scoring(self.pair.worker, requests)
        return [replace(result, scores=scores) for result, scores in zip(results, scored, strict=True)]


def _with_best_first(result: SentenceResult, scored: Sequence[tuple[Hypothesis, float]]) -> SentenceResult:
    if not scored:
        return result
    best, _ = max(scored, key=lambda candidate: candidate[0].score + WEIGHT * candidate[1])  # the first of equal ones
    return replace(
        result, hypotheses=(best, *(hypothesis for hypothesis in result.hypotheses if hypothesis is not best))
    )
