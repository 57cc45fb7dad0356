"""A lexicon between subwords, learned from training pairs: IBM model 1 (Brown et al., 1993)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from training.data.batching import epoch_entries
from training.data.dataset import EncodedPairs

_ROUNDS = 5
_LINKS = 40_000_000
_LONGEST = 60


def sample_pairs(
    corpora: Sequence[EncodedPairs], weights: Sequence[float]
) -> tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.int64]]]:
    """Return short pairs, without their end tokens, until they have enough possible links."""
    entries = epoch_entries([len(pairs) for pairs in corpora], weights, 0, 0)
    entries = entries[np.random.default_rng(0).permutation(len(entries))]
    sources, targets, links = [], [], 0
    for corpus, pair in entries.tolist():
        source, target = (side[pair][:-1].astype(np.int64) for side in (corpora[corpus].source, corpora[corpus].target))
        if 0 < len(source) <= _LONGEST and 0 < len(target) <= _LONGEST:
            sources.append(source)
            targets.append(target)
            links += len(source) * len(target)
        if links > _LINKS:
            break
    return sources, targets


def train_lexicon(
    sources: Sequence[npt.NDArray[np.int64]], targets: Sequence[npt.NDArray[np.int64]], vocabulary: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return p(target token | source token) of all tokens that occur together, as three arrays sorted by source.

    Tokens have 16 bits, so a pair of them has 32.
    """
    # Target-major within a pair, so that the links of one target token are adjacent.
    pairs = zip(sources, targets, strict=True)
    keys = np.concatenate([(s[None, :] * vocabulary + t[:, None]).ravel().astype(np.uint32) for s, t in pairs])
    widths = np.concatenate([np.full(len(t), len(s)) for s, t in zip(sources, targets, strict=True)])
    first = np.concatenate([[0], np.cumsum(widths)[:-1]])
    known, place = np.unique(keys, return_inverse=True)
    source, target = np.divmod(known.astype(np.int64), vocabulary)
    weight = np.ones(len(known))
    for _ in range(_ROUNDS):
        share = weight[place]
        share /= np.repeat(np.add.reduceat(share, first), widths)
        counts = np.bincount(place, share, minlength=len(known))
        weight = counts / np.bincount(source, counts, minlength=vocabulary)[source]
    return source, target, weight
