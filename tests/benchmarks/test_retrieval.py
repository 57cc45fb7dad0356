"""The scores by which translations are looked for among sentence embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval import distinct_pairs, inverted_softmax, ratio_margin, retrieval, sinkhorn, top1
from service.embedding.mining import Floats, mine


def cosines(*rows: list[float]) -> Floats:
    return np.array(rows, np.float32)


HUB = cosines([0.8, 0.85], [0.1, 0.9])
"""Both queries are nearest to answer 1; answer 0 is near to query 0 alone."""


def test_both_corrections_find_the_answer_behind_a_hub() -> None:
    assert top1(HUB) == 0.5
    assert top1(ratio_margin(HUB, neighbours=2)) == 1
    assert top1(inverted_softmax(HUB, 20)) == 1


def test_the_inverted_softmax_spreads_one_over_the_queries() -> None:
    found = inverted_softmax(HUB, 20)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-6)
    assert found[0, 0] == pytest.approx(1 / (1 + np.exp(20 * (0.1 - 0.8))), rel=1e-5)


def test_sinkhorn_gives_every_query_and_every_answer_one_partner() -> None:
    found = sinkhorn(HUB, 5, rounds=50)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert top1(found) == 1
    np.testing.assert_allclose(sinkhorn(HUB, 20, rounds=0), inverted_softmax(HUB, 20), rtol=1e-6)


def test_the_ratio_margin_is_the_score_of_align_corpus() -> None:
    random = np.random.default_rng(1)
    first, second = (random.normal(size=(6, 4)).astype(np.float32) for _ in range(2))
    first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second))
    margins = ratio_margin(first @ second.T, neighbours=3)
    for pair in mine(first, second, neighbours=3):
        if margins[pair.source, pair.target] > 0:
            assert pair.score == pytest.approx(margins[pair.source, pair.target], rel=1e-4)


def test_each_direction_counts_its_own_queries() -> None:
    first = cosines([1, 0], [0, 1])
    second = cosines([0.6, 0.8], [0, 1])
    assert retrieval(first, second, 20)["cosine"] == 1
    assert retrieval(second, first, 20)["cosine"] == 0.5


def test_a_sentence_that_occurs_twice_has_one_pair(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("Go.\tVa !\ngo.\tMarche.\nRun!\tCours !\nLeave!\tva !\n", encoding="utf-8")
    pairs = distinct_pairs(path)
    assert pairs == distinct_pairs(path)
    assert ("Run!", "Cours !") in pairs
    assert len({first.lower() for first, _ in pairs}) == len(pairs) == len({second.lower() for _, second in pairs})
