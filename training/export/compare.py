"""Measures the difference between the attention of two networks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import AlignmentHead
from training.data.batching import Batch

Array = npt.NDArray[Any]


class HeadDistance(NamedTuple):
    """The head of one kind of attention with the largest difference from the reference."""

    layer: int
    head: int
    distance: float
    """The total variation, as the mean over rows and then over sentences: 0 is equal, 1 is disjoint."""


def row_lengths(kind: str, source: int, target: int) -> tuple[int, int]:
    """Return how many queries and keys a sentence pair has in one kind of attention."""
    queries = source if kind == "encoder_attention" else target
    keys = target if kind == "decoder_attention" else source
    return queries, keys


def sentence_lengths(batch: Batch) -> list[tuple[int, int]]:
    """Return the number of source and target tokens of each row, including end tokens."""
    return list(zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True))


def total_variations(kind: str, ours: Array, theirs: Array, batch: Batch) -> Array:
    """Return the total variation (half of the summed differences) of each sentence, the mean over its rows: [B, L, H].

    ``ours``, ``theirs``: weights [B, L, H, queries, keys]; padding is left out.
    """
    distances = []
    for row, (source, target) in enumerate(sentence_lengths(batch)):
        queries, keys = row_lengths(kind, source, target)
        differences = np.abs(ours[row, ..., :queries, :keys] - theirs[row, ..., :queries, :keys])
        distances.append(differences.sum(-1).mean(-1) / 2)
    return np.stack(distances)


def worst_head(distances: Array) -> HeadDistance:
    """Return the head with the largest mean distance; distances [sentences, L, H]."""
    means = distances.mean(0)
    layer, head = np.unravel_index(int(means.argmax()), means.shape)
    return HeadDistance(int(layer), int(head), float(means[layer, head]))


def same_links(ours: Array, theirs: Array, batch: Batch, read: AlignmentHead) -> Array:
    """Return for each target token that ``theirs`` links whether ``ours`` links it to the same source token, bool.

    Both are cross-attention [B, L, H, T, S]; the row of the end token, which has no link, is left out.
    """
    agree = []
    for row, (source, target) in enumerate(sentence_lengths(batch)):
        own, expected = (w[row, read.layer, read.head, : target - 1, :source] for w in (ours, theirs))
        linked = expected.max(-1, initial=0.0) >= (read.threshold or 0.0)
        agree.append((own.argmax(-1) == expected.argmax(-1))[linked])
    return np.concatenate(agree)
