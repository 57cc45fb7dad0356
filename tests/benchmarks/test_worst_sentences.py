"""The measurement of worst sentences: what it counts as found."""

from __future__ import annotations

import pytest

from benchmarks.worst_sentences import Judged, found_in


def test_a_quality_that_knows_the_order_finds_all() -> None:
    found = found_in([Judged(at / 20, 5.0 * at) for at in range(20)], 5)
    assert found[:3] == (1.0, 1.0, 1.0)
    assert found.lower == pytest.approx(47.5 - 10)


def test_a_quality_that_has_it_the_wrong_way_round_finds_none() -> None:
    found = found_in([Judged(1 - at / 20, 5.0 * at) for at in range(20)], 5)
    assert found[:3] == (0.0, 0.0, 0.0)
    assert found.lower < 0
