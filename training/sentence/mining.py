"""Finds translations of each other in two lists of sentences: margin scoring (Artetxe and Schwenk 2019, 1811.01136)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Neighbours = tuple[Floats, npt.NDArray[np.int64]]

NEIGHBOURS = 4
"""k of the paper."""


@dataclass(frozen=True, slots=True)
class MinedPair:
    """Two sentences, by their positions, and the ratio of their cosine to that of their neighbours."""

    source: int
    target: int
    score: float


def mine(source: Floats, target: Floats, neighbours: int = NEIGHBOURS) -> list[MinedPair]:
    """Return pairs of rows, the best score first; each row is in one pair at most.

    The score is the paper's ratio margin: cos(x, y) divided by the mean cosine of x and y to their `neighbours` nearest
    sentences of the other side. It is 1 for a pair that is not closer than its neighbours. Candidates are the best
    pair of each row in both directions (the paper's "max"). source [n, D] and target [m, D] hold vectors of length 1.
    """
    if not len(source) or not len(target):
        return []
    forward = _nearest(source, target, min(neighbours, len(target)))
    backward = _nearest(target, source, min(neighbours, len(source)))
    best = {(row, place): score for row, place, score in _best(forward, backward)}
    best |= {(row, place): score for place, row, score in _best(backward, forward)}
    return _without_rivals(best)


def _nearest(queries: Floats, answers: Floats, neighbours: int) -> Neighbours:
    """Return the cosines of the nearest answers to each query [n, k], the largest first, and their places [n, k]."""
    import faiss  # starts a pool of threads, which no other command needs

    index = faiss.IndexFlatIP(answers.shape[1])
    index.add(np.ascontiguousarray(answers, np.float32))
    cosines, places = index.search(np.ascontiguousarray(queries, np.float32), neighbours)
    return cosines, places


def _best(found: Neighbours, of_others: Neighbours) -> Iterator[tuple[int, int, float]]:
    """Yield each row with the neighbour of the largest margin."""
    cosines, places = found
    margins = 2 * cosines / np.maximum(cosines.mean(axis=1)[:, None] + of_others[0].mean(axis=1)[places], 1e-6)
    columns = margins.argmax(axis=1)
    rows = np.arange(len(columns))
    yield from zip(rows.tolist(), places[rows, columns].tolist(), margins[rows, columns].tolist(), strict=True)


def _without_rivals(scores: dict[tuple[int, int], float]) -> list[MinedPair]:
    """Return the pairs in the order of their scores, without those of which a row already has a better partner."""
    sources: set[int] = set()
    targets: set[int] = set()
    kept = []
    for (source, target), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            kept.append(MinedPair(source, target, float(score)))
    return kept
