"""The records of a beam search: hypotheses that have ended, and those that live on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.engine.types import FinishReason, FloatArray, IntArray


class Finished(NamedTuple):
    """A hypothesis that has ended: its last token was chosen at `step` after the hypothesis in slot `parent`."""

    score: float
    step: int
    parent: int
    token: int
    logprob: float
    reason: FinishReason


class Survivors(NamedTuple):
    """The K hypotheses of each sentence that live on, [B, K] each, best first or by slot."""

    parents: IntArray
    tokens: IntArray
    gains: FloatArray
    scores: npt.NDArray[np.float64]

    def taken(self, rows: IntArray, places: IntArray) -> Survivors:
        """Pick, for every sentence, the entries at `places`."""
        at = (rows, places)
        return Survivors(self.parents[at], self.tokens[at], self.gains[at], self.scores[at])


def first_living(best: Survivors, living: npt.NDArray[np.bool_], beam_size: int) -> Survivors:
    """Pick the best K that live on, in order; where there are fewer, the rest score -inf."""
    if living[:, :beam_size].all():
        first = np.s_[:, :beam_size]
        return Survivors(best.parents[first], best.tokens[first], best.gains[first], best.scores[first])
    rows = np.arange(len(living))[:, None]
    chosen = np.argsort(~living, axis=1, kind="stable")[:, :beam_size]
    survivors = best.taken(rows, chosen)
    return survivors._replace(scores=np.where(living[rows, chosen], survivors.scores, -np.inf))
