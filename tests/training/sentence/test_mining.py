"""Margin scoring (Artetxe and Schwenk 2019)."""

from typing import Any

import numpy as np
import pytest

from training.sentence.mining import Floats, mine


def unit(values: Any) -> Floats:
    array = np.asarray(values, np.float32)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def test_pairs_hidden_among_others_are_found_first() -> None:
    random = np.random.default_rng(1)
    source, target = random.normal(size=(60, 16)), random.normal(size=(80, 16))
    order = random.permutation(80)[:20]
    target[order] = source[:20] + random.normal(size=(20, 16)) * 0.1
    found = mine(unit(source), unit(target))
    assert {(pair.source, pair.target) for pair in found[:20]} == set(enumerate(order.tolist()))
    assert found[19].score > found[20].score
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)


def test_the_score_is_the_cosine_over_the_mean_of_both_neighbourhoods() -> None:
    source = unit([[1, 0], [0.6, 0.8]])
    target = unit([[0.8, 0.6], [0, 1]])
    cosines = source @ target.T  # [[0.8, 0], [0.96, 0.8]]
    found = mine(source, target, neighbours=2)
    margins = 2 * cosines / (cosines.mean(axis=1)[:, None] + cosines.mean(axis=0))
    scores = {(pair.source, pair.target): pair.score for pair in found}
    for (row, column), score in scores.items():
        assert score == pytest.approx(margins[row, column], rel=1e-5)
    # By cosine alone, source 1 would take target 0; the margin gives each its own.
    assert set(scores) == {(0, 0), (1, 1)}


def test_no_row_is_in_two_pairs() -> None:
    random = np.random.default_rng(2)
    found = mine(unit(random.normal(size=(30, 4))), unit(random.normal(size=(7, 4))))
    assert len({pair.source for pair in found}) == len(found) == len({pair.target for pair in found}) <= 7


def test_an_empty_side_has_no_pairs() -> None:
    assert mine(np.zeros((0, 4), np.float32), unit([[1, 0, 0, 0]])) == []
