"""Padded batches of pairs as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import BOS, PAD
from training.data.dataset import Ids

Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PaddedPairs:
    """Padded ids of B pairs, S source and T target positions."""

    source: Array
    """[B, S]; each row ends with the end token."""
    source_lengths: Array
    """[B]."""
    target_in: Array
    """[B, T]: begin token, then the target without its end token."""
    target_out: Array
    """[B, T]: the target with its end token."""
    target_lengths: Array
    """[B]."""


def pad_pairs(sources: Sequence[Array | Ids], targets: Sequence[Array | Ids], step: int = 1) -> PaddedPairs:
    """Pad pairs, which end with the end token, into one batch; S is a multiple of ``step``."""
    target_out, target_lengths = pad(targets)
    target_in = np.full_like(target_out, PAD)
    target_in[:, 0] = BOS
    target_in[:, 1:] = target_out[:, :-1]
    source, source_lengths = pad(sources, step)
    return PaddedPairs(source, source_lengths, target_in, target_out, target_lengths)


def pad(sentences: Sequence[Array | Ids] | Sequence[Sequence[int]], step: int = 1) -> tuple[Array, Array]:
    """Return sentences as a padded array, whose length is a multiple of ``step``, and their own lengths."""
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    longest = int(lengths.max())
    padded = np.full((len(sentences), longest + -longest % step), PAD, np.int64)
    for row, sentence in enumerate(sentences):
        padded[row, : len(sentence)] = np.asarray(sentence)
    return padded, lengths
