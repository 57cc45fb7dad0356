"""Learns from training pairs which target tokens the translation of a sentence may need.

A step that scores a few hundred tokens instead of the whole vocabulary is much cheaper. The likely target tokens of a
source token come from IBM model 1 (Brown et al., 1993); Jean et al. (arXiv 1412.2007) used word alignments. Tokens
that most sentences need are always scored, and so is every token of the source itself (names, numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from service.bundle.shortlist import write_shortlist
from service.bundle.vocabulary import BOS, EOS, PAD
from training.data.dataset import EncodedPairs, epoch_entries

_COUNTED = 20_000
"""The number of sentences in which the need for each token is counted."""

Tokens = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class ListSizes:
    """The sizes of the lists."""

    always: int = 1024
    """The number of target tokens that every sentence may use: those that most sentences need."""
    each: int = 64
    """The most likely target tokens of a source token, in addition."""
    least: float = 0.001
    """The least probability of a likely target token."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The tokens that a translation may contain."""

    always: Tokens
    """[A], ascending."""
    likely: Tokens
    """[V, E]: the likely target tokens of each source token, with padding for shorter lists."""

    def allowed(self, source: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return whether a step scores each token for a sentence, [V], as in the service."""
        result = np.zeros(len(self.likely), bool)
        result[self.likely[np.asarray(source)]] = True
        result[self.always] = True
        result[PAD] = False
        return result

    def write(self, path: Path) -> None:
        """Write one .npz with the tokens of sentences' own lists, without those that steps score for every sentence."""
        rest = np.where(np.isin(self.likely, self.always), PAD, self.likely).astype(np.uint16)
        write_shortlist(path, rest)


@dataclass(frozen=True, slots=True)
class TargetTokens:
    """The tokens of the target, where they are not those of the source under the same ids."""

    copies: Tokens
    """[V, C]: the target tokens that spell each source token, with padding for fewer."""
    producible: npt.NDArray[np.bool_]
    """[V]: whether a translation may contain the token."""

    @staticmethod
    def joint(vocabulary: int) -> TargetTokens:
        """Return those of a vocabulary that both sides share: each token spells itself."""
        return TargetTokens(np.arange(vocabulary, dtype=np.uint16)[:, None], np.ones(vocabulary, bool))


def learn_shortlist(
    corpora: Sequence[EncodedPairs],
    weights: Sequence[float],
    vocabulary: int,
    sizes: ListSizes | None = None,
    tokens: TargetTokens | None = None,
) -> Shortlist:
    """Learn from a sample of the pairs in the mix of training; the same corpora give the same shortlist.

    ``tokens``: the tokens of the target; None: both sides share the vocabulary.
    """
    sizes, tokens = sizes or ListSizes(), tokens or TargetTokens.joint(vocabulary)
    sources, targets = sample_pairs(corpora, weights)
    source, target, probability = train_lexicon(sources, targets, vocabulary)
    needed = tokens.producible[target] & (target != PAD) & (probability >= sizes.least)
    needed &= (tokens.copies[source] != target[:, None]).all(1)  # copies are in the list anyway
    source, target, probability = source[needed], target[needed], probability[needed]
    asked = _asked_for(sources, targets, source, target, vocabulary)
    asked[~tokens.producible] = 0
    frequent = np.argsort(-asked, kind="stable")[: min(sizes.always, int((asked > 0).sum()))]
    rest = ~np.isin(target, frequent)
    source, target, probability = source[rest], target[rest], probability[rest]
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    likely = np.full((vocabulary, sizes.each), PAD, np.uint16)
    copied = tokens.copies.shape[1]
    likely[:, :copied] = tokens.copies
    rank = np.arange(len(source)) - np.searchsorted(source, source) + copied
    kept = rank < sizes.each
    likely[source[kept], rank[kept]] = target[kept]
    return Shortlist(np.sort(frequent).astype(np.uint16), likely)


def _asked_for(
    sources: Sequence[npt.NDArray[np.int64]],
    targets: Sequence[npt.NDArray[np.int64]],
    source: npt.NDArray[np.int64],
    target: npt.NDArray[np.int64],
    vocabulary: int,
) -> npt.NDArray[np.int64]:
    """Return the number of sentences that use a token or have a source token for which it is likely, [V].

    ``target`` has the likely tokens of ``source``, which is ascending. Tokens of nearly all lists are cheaper to score
    for every sentence, and tokens that are likely for no source token (inside rare words) are then seldom missing.
    """
    bounds = np.searchsorted(source, np.arange(vocabulary + 1))
    asked = np.zeros(vocabulary, np.int64)
    for words, translation in zip(sources[:_COUNTED], targets[:_COUNTED], strict=True):
        lists = [target[bounds[word] : bounds[word + 1]] for word in np.unique(words)]
        asked[np.unique(np.concatenate([translation, *lists]))] += 1
    asked[[PAD, BOS]] = 0
    asked[EOS] = len(sources) + 1
    return asked


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
    distinct, place = np.unique(keys, return_inverse=True)
    source, target = np.divmod(distinct.astype(np.int64), vocabulary)
    weight = np.ones(len(distinct))
    for _ in range(_ROUNDS):
        share = weight[place]
        share /= np.repeat(np.add.reduceat(share, first), widths)
        counts = np.bincount(place, share, minlength=len(distinct))
        weight = counts / np.bincount(source, counts, minlength=vocabulary)[source]
    return source, target, weight
