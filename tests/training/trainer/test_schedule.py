"""The learning rate rises, falls with the square root, and ends at zero."""

import pytest

from training.recipe import OptimisationConfig
from training.trainer.schedule import rate_factor, sampled_pieces

CONFIG = OptimisationConfig(warmup_updates=100, max_updates=1000, cooldown_updates=200)


def test_warm_up_is_linear_and_ends_at_the_peak() -> None:
    assert rate_factor(49, CONFIG) == pytest.approx(0.5)
    assert rate_factor(99, CONFIG) == pytest.approx(1.0)


def test_falls_with_the_inverse_square_root() -> None:
    assert rate_factor(399, CONFIG) == pytest.approx(0.5)


def test_cooldown_is_a_straight_line_to_zero() -> None:
    without = CONFIG.model_copy(update={"cooldown_updates": 0})

    assert rate_factor(799, CONFIG) == rate_factor(799, without)
    assert rate_factor(900, CONFIG) == pytest.approx(0.5 * rate_factor(900, without))
    assert rate_factor(1000, CONFIG) == 0.0


def test_the_softmax_is_whole_in_the_cooldown_and_where_asked() -> None:
    sampling = CONFIG.model_copy(update={"sampled_pieces": 50})
    shorter = sampling.model_copy(update={"whole_softmax_updates": 20})

    assert [sampled_pieces(update, sampling) for update in (799, 800, 999)] == [50, 0, 0]
    assert [sampled_pieces(update, shorter) for update in (800, 979, 980)] == [50, 50, 0]
