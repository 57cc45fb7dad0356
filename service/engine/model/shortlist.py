"""Which target tokens a sentence's translation may need: the few hundred that its source tokens call for.

A list depends on its own sentence alone. The steps of a bundle with a shortlist score these tokens, and perhaps some
that its graph scores for every sentence, and no others, so log-probabilities from steps are among them; a forced pass
is over the whole vocabulary.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from service.engine.errors import BundleCorrupt
from service.engine.model.buffers import rounded_up
from service.engine.types import IntArray

LIST_STEP = 64  # lists are padded to a multiple of this, so that capacities change seldom


class Shortlist:
    """What a bundle's shortlist file says."""

    def __init__(self, always: IntArray, likely: IntArray, vocabulary: int, pad: int) -> None:
        self._pad = pad
        self._likely = likely  # [V, E]: what each source token calls for
        self._always = np.zeros(vocabulary, bool)
        self._always[always] = True

    def of(self, source: Sequence[int]) -> IntArray:
        """Return a sentence's own tokens, ascending, [O]; there may be none."""
        allowed = self._always.copy()
        allowed[self._likely[np.asarray(source)]] = True
        allowed[self._pad] = False
        return np.flatnonzero(allowed)

    def together(self, sources: Sequence[Sequence[int]]) -> tuple[IntArray, list[int]]:
        """Return the lists of several sentences side by side, [B, O] with padding at the end, and their lengths."""
        lists = [self.of(source) for source in sources]
        lengths = [len(each) for each in lists]
        padded = np.full((len(lists), rounded_up(max(lengths), LIST_STEP)), self._pad, np.int64)
        for row, each in zip(padded, lists, strict=True):
            row[: len(each)] = each
        return padded, lengths


def read_shortlist(path: Path, vocabulary: int, pad: int) -> Shortlist:
    """Read a shortlist file; raises BundleCorrupt."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            always, likely = (arrays[name].astype(np.int64) for name in ("always", "likely"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BundleCorrupt(f"{path}: cannot be read as a shortlist ({error}).") from error
    if always.ndim != 1 or likely.ndim != 2 or len(likely) != vocabulary:
        raise BundleCorrupt(f"{path}: the arrays of the shortlist do not fit a vocabulary of {vocabulary}.")
    if (
        max(always.max(initial=0), likely.max(initial=0)) >= vocabulary
        or min(always.min(initial=0), likely.min(initial=0)) < 0
    ):
        raise BundleCorrupt(f"{path}: a token of the shortlist lies outside the vocabulary of {vocabulary}.")
    return Shortlist(always, likely, vocabulary, pad)
