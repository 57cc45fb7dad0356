"""The target tokens that a sentence's translation may need: a few hundred, chosen by its source tokens.

A list depends only on its own sentence. The steps of a bundle with a shortlist score these tokens, perhaps some that
the graph scores for every sentence, and no others. So log-probabilities of steps are over these tokens; scoring is over
the whole vocabulary.
"""

from collections.abc import Sequence

import numpy as np

from service.bundle.shortlist import ShortlistArrays
from service.engine.jobs import IntArray
from service.engine.model.buffers import round_up

LIST_STEP = 64  # lists are padded to a multiple of this, so that capacities change seldom


class Shortlist:
    """Builds each sentence's list from a bundle's shortlist file."""

    def __init__(self, arrays: ShortlistArrays, pad: int, scored: IntArray) -> None:
        """`scored`: the tokens that a step scores for every sentence; twice in one step, they share a probability."""
        self._pad, self._scored = pad, scored
        self._likely = arrays.likely  # [V, E]: the likely target tokens of each source token
        self._always = np.zeros(len(arrays.likely), bool)
        self._always[arrays.always] = True

    def of(self, source: Sequence[int], needed: Sequence[int] = ()) -> IntArray:
        """Return a sentence's own tokens and the needed ones, ascending, [O]; the list may be empty."""
        allowed = self._always.copy()
        allowed[self._likely[np.asarray(source)]] = True
        if needed:
            allowed[np.asarray(needed)] = True
        allowed[self._scored] = allowed[self._pad] = False
        return np.flatnonzero(allowed)

    def together(
        self, sources: Sequence[Sequence[int]], needed: Sequence[Sequence[int]] | None = None
    ) -> tuple[IntArray, list[int]]:
        """Return the lists of several sentences side by side, [B, O] with padding at the end, and their lengths."""
        lists = [self.of(source, needed[at] if needed else ()) for at, source in enumerate(sources)]
        lengths = [len(ids) for ids in lists]
        padded = np.full((len(lists), round_up(max(lengths), LIST_STEP)), self._pad, np.int64)
        for row, ids in zip(padded, lists, strict=True):
            row[: len(ids)] = ids
        return padded, lengths
