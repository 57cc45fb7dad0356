"""Counts the cycles of all hypotheses of a batch and forbids tokens that would prolong one too far.

The rule itself is in `service.bundle.repetition`; training uses it too.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.bundle.repetition import LEAST_RUN, MAX_PERIOD, run_limits
from service.engine.jobs import IntArray
from service.engine.model.buffers import grow

_NOTHING = -1  # the value of the positions before the first token: equal to no id

_ENDLESS = np.iinfo(np.int32).max  # a limit that no translation reaches


class RepetitionGuard:
    """The last tokens and running cycles of B sentences with K beams; arrays are [B, K, MAX_PERIOD]."""

    def __init__(self, beam_size: int) -> None:
        self._recent = np.empty((0, beam_size, MAX_PERIOD), np.int64)  # [..., p - 1]: the token p places back
        self._runs = np.empty((0, beam_size, MAX_PERIOD), np.int32)
        self._last = np.empty((0, MAX_PERIOD), np.int32)  # the run of each period at which it may not go on
        self._slack = 0  # no run can reach its last sooner than in so many steps, because it grows by one in a step

    def reset(self, index: int, source_ids: Sequence[int] | None) -> None:
        """Reset sentence `index`, with the limits of its source; None: it may repeat itself without end."""
        self._recent = grow(self._recent, index + 1)
        self._runs = grow(self._runs, index + 1)
        self._last = grow(self._last, index + 1)
        self._recent[index] = _NOTHING
        self._runs[index] = 0
        self._last[index] = _ENDLESS if source_ids is None else run_limits(source_ids) - 1
        self._slack = min(self._slack, LEAST_RUN - 1)

    def forbidden(self, ids: IntArray) -> npt.NDArray[np.bool_] | None:
        """Return which of the candidates [B, K, C] would prolong a cycle too far; None if there is none."""
        if self._slack > 0:
            return None
        size = len(ids)
        left = self._last[:size, None, :] - self._runs[:size]
        self._slack = int(left.min())
        if self._slack > 0:
            return None
        near = left <= 0
        same = ids[:, :, :, None] == self._recent[:size, :, None, :]
        prolonging: npt.NDArray[np.bool_] = (same & near[:, :, None, :]).any(axis=-1)
        return prolonging

    def advance(self, parents: IntArray, tokens: IntArray) -> None:
        """Append its token to every row [B, K], which continues the row in slot `parents` of its sentence."""
        self._slack -= 1
        size, beam_size = tokens.shape
        recent, runs = self._recent[:size], self._runs[:size]
        if beam_size > 1:
            rows = (parents + np.arange(0, size * beam_size, beam_size)[:, None]).ravel()
            recent = recent.reshape(-1, MAX_PERIOD).take(rows, axis=0).reshape(recent.shape)
            runs = runs.reshape(-1, MAX_PERIOD).take(rows, axis=0).reshape(runs.shape)
        same = recent == tokens[:, :, None]
        np.add(runs, 1, out=self._runs[:size])
        self._runs[:size] *= same
        self._recent[:size, :, 1:] = recent[:, :, :-1]
        self._recent[:size, :, 0] = tokens

    def move(self, holes: IntArray, movers: IntArray) -> None:
        """Move the sentences `movers` to the positions `holes`."""
        for array in (self._recent, self._runs, self._last):
            array[holes] = array[movers]
