"""Reads word alignments from cross-attention.

Weights are [T, S]: target tokens attend, source tokens are attended to. The weights of words are sums over the attended
subwords and means over the attending ones, so each row still sums to 1.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import AlignmentHead

FloatArray = npt.NDArray[np.float32]
Span = tuple[int, int]
Groups = list[list[int]]  # the token indices of each word
Links = tuple[tuple[int, int], ...]  # (source, target), 0-based


def merge(weights: FloatArray, rows: Groups, columns: Groups) -> FloatArray:
    """Return word weights of subword weights [..., R, C]: sums over columns, means over rows; 0 for empty groups."""
    attended = _membership(columns, weights.shape[-1])
    attending = _membership(rows, weights.shape[-2])
    sizes = np.maximum(attending.sum(axis=1, keepdims=True), 1)
    return np.asarray((attending / sizes) @ weights @ attended.T, dtype=np.float32)


def _membership(groups: Groups, size: int) -> FloatArray:
    member = np.zeros((len(groups), size), dtype=np.float32)
    for number, group in enumerate(groups):
        member[number, group] = 1
    return member


def alignment_weights(cross: FloatArray, align: AlignmentHead) -> FloatArray:
    """Return [T, S], the weights for alignment: those of the alignment head in [L, H, T, S], at its step.

    "consume" reads a token in the row of the step after it, which has that token as its input; the last token is
    never an input and keeps its own row.
    """
    weights: FloatArray = cross[align.layer, align.head]
    if align.step == "consume" and len(weights) > 1:
        weights = np.concatenate([weights[1:], weights[-1:]])
    return weights


def links(weights: FloatArray, sources: Groups, targets: Groups, threshold: float | None) -> Links:
    """Link each target group to the source group with the most weight, if that is at least `threshold`.

    Groups leave out special tokens: the weight on the end token is no link. A group without tokens gets no link.
    """
    weighted = weighted_links(weights, sources, targets)
    return tuple((source, target) for source, target, weight in weighted if threshold is None or weight >= threshold)


def weighted_links(weights: FloatArray, sources: Groups, targets: Groups) -> Iterator[tuple[int, int, float]]:
    """Yield (source, target, weight): the heaviest source group of each target group, in the order of targets."""
    if not any(sources):
        return
    merged = merge(weights, targets, sources)
    for target, group in enumerate(targets):
        if not group:
            continue
        source = int(np.argmax([value if sources[i] else -1.0 for i, value in enumerate(merged[target])]))
        yield source, target, merged[target, source]


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return links as "0-0 1-2", source–target, in order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def white_space_words(text: str) -> list[Span]:
    """Return the ranges of the words of a line, which white space separates."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def word_groups(starts: Iterable[int | None], words: Sequence[Span]) -> Groups:
    """Return the indices of the tokens of each word, from the start of each token; None belongs to no word.

    A token belongs to the word that it begins in; a token without text to the word that begins, or else ends, there.
    """
    groups: Groups = [[] for _ in words]
    current = 0
    for number, start in enumerate(starts):
        if start is None or not words:
            continue
        while current + 1 < len(words) and words[current + 1][0] <= start:
            current += 1
        groups[current].append(number)
    return groups
