"""A model made of a rule instead of weights: deterministic, and strict about how it is used.

The probabilities of the next token depend on the source and on the whole prefix of the row. The lane keeps each row's
prefix as its state, as a real one keeps keys and values, so a row that is reordered or removed wrongly gets other
numbers. `fail` makes chosen calls raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from service.engine.jobs import AttentionScores, FloatArray, IntArray, ScoringResult, WeightSelection
from service.engine.model.interface import Advance, Candidates, Encoded, HostCandidates, Rows

PAD, BOS, EOS = 0, 1, 2
Rule = Callable[[tuple[int, ...], tuple[int, ...]], FloatArray]


def hashed_rule(vocabulary: int, temperature: float = 1.0) -> Rule:
    """Give a rule that draws log-probabilities [V] from a random state seeded by source and prefix."""

    def rule(source: tuple[int, ...], prefix: tuple[int, ...]) -> FloatArray:
        seed = [*source, 10_007, *prefix]
        logits = np.random.default_rng(seed).normal(size=vocabulary) / temperature
        return normalised(logits)

    return rule


def copying_rule(vocabulary: int) -> Rule:
    """Give a rule that copies the source, with a little doubt."""

    def rule(source: tuple[int, ...], prefix: tuple[int, ...]) -> FloatArray:
        logits = np.zeros(vocabulary)
        logits[source[min(len(prefix), len(source) - 1)]] = 6.0
        return normalised(logits)

    return rule


def normalised(logits: np.ndarray) -> FloatArray:
    """Turn logits [V] into log-probabilities in which pad and bos are impossible."""
    logits = np.array(logits, np.float64)
    logits[[PAD, BOS]] = -1e9
    result: FloatArray = (logits - np.logaddexp.reduce(logits)).astype(np.float32)
    return result


@dataclass
class ScriptedEncoded:
    """The sources themselves."""

    sources: list[tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass
class ScriptedLane:
    """Rows as a list of prefixes."""

    model: ScriptedModel
    beam_size: int
    candidates: int
    sources: list[tuple[int, ...]] = field(default_factory=list)
    prefixes: list[tuple[int, ...]] = field(default_factory=list)

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        assert isinstance(encoded, ScriptedEncoded)
        width, end = self.beam_size, len(self.sources)
        places = range(end, end + len(sentences)) if places is None else places
        for sentence, place in zip(sentences, places, strict=True):
            assert place <= len(self.sources), "a new place is the next one at the end"
            self.sources[place : place + 1] = [encoded.sources[sentence]]
            self.prefixes[place * width : (place + 1) * width] = [()] * width

    def set_candidates(self, candidates: int) -> None:
        self.candidates = candidates

    def step(self, rows: Rows) -> Candidates:
        tokens = rows.tokens
        self.model.called("step", len(self.prefixes))
        assert tokens.shape == (len(self.sources), self.beam_size)
        ids = np.zeros((*tokens.shape, self.candidates), np.int64)
        logprobs = np.full(ids.shape, -np.inf, np.float32)
        for row, token in enumerate(tokens.ravel().tolist()):
            sentence, slot = divmod(row, self.beam_size)
            prefix = self.prefixes[row]
            self.prefixes[row] = (*prefix, token)
            values = self.model.rule(self.sources[sentence], self.prefixes[row][1:])
            best = np.argsort(-values, kind="stable")[: self.candidates]
            ids[sentence, slot, : len(best)] = best
            logprobs[sentence, slot, : len(best)] = values[best]
        return HostCandidates(ids, logprobs)

    def reorder(self, advance: Advance) -> None:
        if (parents := advance.parents) is not None:
            assert (parents // self.beam_size == np.arange(len(parents)) // self.beam_size).all()
            self.prefixes = [self.prefixes[parent] for parent in parents.tolist()]

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        width = self.beam_size
        for hole, mover in zip(holes.tolist(), movers.tolist(), strict=True):
            self.sources[hole] = self.sources[mover]
            self.prefixes[hole * width : (hole + 1) * width] = self.prefixes[mover * width : (mover + 1) * width]
        del self.sources[len(self.sources) - len(removed) :]
        del self.prefixes[len(self.sources) * width :]


@dataclass
class ScriptedModel:
    """A model whose every next token follows from `rule`."""

    rule: Rule
    source_limit: int = 64
    target_limit: int = 64
    bos: int = BOS
    eos: int = EOS
    before: Callable[[str, int], None] | None = None  # told of every call with its rows, before it runs; may raise
    calls: list[tuple[str, int]] = field(default_factory=list)
    step_cost: int | None = 1024

    def called(self, what: str, rows: int) -> None:
        self.calls.append((what, rows))
        if self.before is not None:
            self.before(what, rows)

    def encode(
        self, sources: Sequence[Sequence[int]], needed: Sequence[Sequence[int]] | None = None
    ) -> ScriptedEncoded:
        self.called("encode", len(sources))
        return ScriptedEncoded([tuple(source) for source in sources])

    def decoder_state(self, beam_size: int, candidates: int) -> ScriptedLane:
        return ScriptedLane(self, beam_size, candidates)

    def score_batch(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[ScoringResult]:
        self.called("force", len(pairs))
        return [self._forced(tuple(source), tuple(target)) for source, target in pairs]

    def explain(self, source: Sequence[int], target: Sequence[int], selection: WeightSelection) -> ScoringResult:
        self.called("explain", 1)
        result = self._forced(tuple(source), tuple(target))
        return replace(result, scores=AttentionScores(np.log(result.cross_attention[0, 0]), "other", "softmax"))

    def close(self) -> None:
        self.called("close", 0)

    def _forced(self, source: tuple[int, ...], target: tuple[int, ...]) -> ScoringResult:
        rows = [self.rule(source, target[:step]) for step in range(len(target))]
        logprobs = np.array([row[token] for row, token in zip(rows, target, strict=True)], np.float32)
        ranks = np.array([1 + (row > row[token]).sum() for row, token in zip(rows, target, strict=True)], np.int64)
        weights = np.full((1, 1, len(target), len(source)), 1 / len(source), np.float32)
        return ScoringResult(logprobs, ranks, weights, None, None)
