"""The records of a beam search: finished hypotheses and live ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.jobs import FinishReason, FloatArray, IntArray


class Finished(NamedTuple):
    """A finished hypothesis: its last token was chosen at `step`, after the hypothesis in slot `parent`."""

    score: float
    step: int
    parent: int
    token: int
    logprob: float
    reason: FinishReason
    whole: bool = True  # whether it holds all values of its sentence


class BeamCandidates(NamedTuple):
    """The K live hypotheses of each sentence, [B, K] each, best first or by slot."""

    parents: IntArray
    tokens: IntArray
    token_logprobs: FloatArray
    scores: npt.NDArray[np.float64]

    def of(self, index: int) -> BeamCandidates:
        """Return those of one sentence, [K] each."""
        return BeamCandidates(self.parents[index], self.tokens[index], self.token_logprobs[index], self.scores[index])

    def taken(self, at: IntArray) -> BeamCandidates:
        """Return copies of the entries at these positions of the flattened arrays."""
        return BeamCandidates(
            self.parents.take(at), self.tokens.take(at), self.token_logprobs.take(at), self.scores.take(at)
        )


def best_live(best: BeamCandidates, living: npt.NDArray[np.bool_], beam_size: int) -> BeamCandidates:
    """Return the best K live ones, in order; if there are fewer, the others score -inf."""
    first = living[:, :beam_size]
    if np.count_nonzero(first) == first.size:
        slots = np.s_[:, :beam_size]
        return BeamCandidates(best.parents[slots], best.tokens[slots], best.token_logprobs[slots], best.scores[slots])
    rows = np.arange(len(living))[:, None]
    chosen = (~living).argsort(axis=1, kind="stable")[:, :beam_size]
    candidates = best.taken(chosen + rows * living.shape[1])
    return candidates._replace(scores=np.where(living[rows, chosen], candidates.scores, -np.inf))
