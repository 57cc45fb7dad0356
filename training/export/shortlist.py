"""Which target tokens a sentence's translation may need: learned from the training pairs, written next to the graphs.

A step that scores a few hundred tokens in place of the whole vocabulary is much cheaper. What a source token calls for
is found by IBM model 1 (Brown et al., 1993); Jean et al. (arXiv 1412.2007) did the same with word alignments.
Tokens that most sentences ask for are always allowed, and so is every token of the source itself (names, numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from service.bundle.shortlist import write_shortlist
from service.bundle.vocabulary import BOS, EOS, PAD
from training.alignment.lexicon import sample_pairs, train_lexicon
from training.data.dataset import EncodedPairs

_COUNTED = 20_000
"""Sentences over which is counted how many ask for a token."""

Tokens = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How long the lists are."""

    always: int = 1024
    """Target tokens that every sentence may use: those that most sentences ask for."""
    each: int = 64
    """Most that a source token calls for in addition."""
    least: float = 0.001
    """Probability below which it calls for nothing."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """What may be produced."""

    always: Tokens
    """[A], ascending."""
    likely: Tokens
    """[V, E]: what each source token calls for; padding where there is less."""

    def write(self, path: Path) -> None:
        """Write one .npz with what makes a sentence's own list: nothing that steps score for every sentence."""
        own = np.where(np.isin(self.likely, self.always), PAD, self.likely).astype(np.uint16)
        write_shortlist(path, own)


def learn_shortlist(
    corpora: Sequence[EncodedPairs], weights: Sequence[float], vocabulary: int, sizes: Sizes | None = None
) -> Shortlist:
    """Learn from a sample of the pairs, mixed as in training; always the same for the same corpora."""
    sizes = sizes or Sizes()
    sources, targets = sample_pairs(corpora, weights)
    source, target, probability = train_lexicon(sources, targets, vocabulary)
    needed = (target != PAD) & (source != target) & (probability >= sizes.least)
    source, target, probability = source[needed], target[needed], probability[needed]
    asked = _asked_for(sources, targets, source, target, vocabulary)
    frequent = np.argsort(-asked, kind="stable")[: min(sizes.always, int((asked > 0).sum()))]
    rest = ~np.isin(target, frequent)
    source, target, probability = source[rest], target[rest], probability[rest]
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    likely = np.full((vocabulary, sizes.each), PAD, np.uint16)
    likely[:, 0] = np.arange(vocabulary)
    rank = np.arange(len(source)) - np.searchsorted(source, source) + 1
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
    """Return how many sentences use a token or hold a source token that calls for it, [V].

    ``source``, ascending, calls for ``target``. Tokens that all lists would hold are cheaper to
    score for every sentence, and what no source token calls for (the inside of rare words) is missed least this way.
    """
    bounds = np.searchsorted(source, np.arange(vocabulary + 1))
    asked = np.zeros(vocabulary, np.int64)
    for words, translation in zip(sources[:_COUNTED], targets[:_COUNTED], strict=True):
        lists = [target[bounds[word] : bounds[word + 1]] for word in np.unique(words)]
        asked[np.unique(np.concatenate([translation, *lists]))] += 1
    asked[[PAD, BOS]] = 0
    asked[EOS] = len(sources) + 1
    return asked
