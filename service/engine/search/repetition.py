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


def last_runs(source_ids: Sequence[int]) -> list[int]:
    """Return the run of each period, from 1 on, at which it may not go on in the translation of a source."""
    runs: list[int] = (run_limits(source_ids) - 1).tolist()
    return runs


def too_long(ids: list[int], last: list[int]) -> tuple[list[int], int]:
    """Return the tokens that would prolong a cycle of one hypothesis too far, and after how many more any could."""
    token, slack, repeated = ids[-1], last[0], []
    recent = ids[-2 : -MAX_PERIOD - 2 : -1]
    if token not in recent:
        return [], slack
    for period, earlier in enumerate(recent, 1):
        run, most = 0, min(last[period - 1], len(ids) - period)
        while earlier == token and run < most and ids[-1 - run] == ids[-1 - run - period]:
            run += 1
        slack = min(slack, last[period - 1] - run)
        if run == last[period - 1]:
            repeated.append(ids[-period])
    return repeated, slack


class RepetitionGuard:
    """The last tokens and running cycles of B sentences with K beams; along axis 0, entry -p belongs to period p."""

    def __init__(self, beam_size: int) -> None:
        self._tokens = np.empty((4 * MAX_PERIOD, 0, beam_size), np.int64)  # one entry a step, up to `_end`
        self._end = MAX_PERIOD
        self._runs = np.empty((MAX_PERIOD, 0, beam_size), np.int32)
        self._last = np.empty((MAX_PERIOD, 0), np.int32)  # the run of each period at which it may not go on
        self._slack = 0  # no run can reach its last sooner than in so many steps, because it grows by one in a step

    def reset(self, index: int, source_ids: Sequence[int] | None) -> None:
        """Reset sentence `index`, with the limits of its source; None: it may repeat itself without end."""
        self._tokens, self._runs, self._last = (
            grow(array, index + 1, axis=1) for array in (self._tokens, self._runs, self._last)
        )
        self._tokens[:, index] = _NOTHING
        self._runs[:, index] = 0
        self._last[:, index] = _ENDLESS if source_ids is None else run_limits(source_ids)[::-1] - 1
        self._slack = min(self._slack, LEAST_RUN - 1)

    def is_idle(self, size: int) -> bool:
        """Return whether no token of the first sentences could prolong a cycle too far."""
        if self._slack <= 0:
            self._slack = int(self._left(size).min())
        return self._slack > 0

    def forbidden(self, ids: IntArray) -> npt.NDArray[np.bool_] | None:
        """Return which of the candidates [B, K, C] would prolong a cycle too far; None if there is none."""
        if self.is_idle(len(ids)):
            return None
        left = self._left(len(ids))
        same = ids == self._recent(len(ids))[..., None]
        prolonging: npt.NDArray[np.bool_] = (same & (left <= 0)[..., None]).any(axis=0)
        return prolonging

    def advance(self, parents: IntArray, tokens: IntArray) -> None:
        """Append its token to every row [B, K], which continues the row in slot `parents` of its sentence."""
        self._slack -= 1
        size, beam_size = tokens.shape
        recent, runs = self._recent(size), self._runs[:, :size]
        if beam_size > 1:
            rows = (parents + np.arange(0, size * beam_size, beam_size)[:, None]).ravel()
            for array in (recent, runs):
                array[:] = array.reshape(MAX_PERIOD, -1).take(rows, axis=1).reshape(array.shape)
        runs += 1
        runs *= recent == tokens
        if self._end == len(self._tokens):
            self._tokens[:MAX_PERIOD] = self._tokens[-MAX_PERIOD:]
            self._end = MAX_PERIOD
        self._tokens[self._end, :size] = tokens
        self._end += 1

    def move(self, holes: IntArray, movers: IntArray) -> None:
        """Move the sentences `movers` to the positions `holes`."""
        for array in (self._tokens, self._runs, self._last):
            array[:, holes] = array[:, movers]

    def _left(self, size: int) -> IntArray:
        """Return how often each cycle of the first sentences may still go on, [MAX_PERIOD, B, K]."""
        left: IntArray = self._last[:, :size, None] - self._runs[:, :size]
        return left

    def _recent(self, size: int) -> IntArray:
        """Return the last tokens of the first sentences, [MAX_PERIOD, B, K]."""
        return self._tokens[self._end - MAX_PERIOD : self._end, :size]
