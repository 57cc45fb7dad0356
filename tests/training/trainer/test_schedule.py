"""The learning rate rises, falls with the square root, and ends at zero, also where patience has ended."""

import pytest

from training.recipe import OptimisationConfig
from training.trainer.schedule import last_update, rate_factor, sampled_pieces

CONFIG = OptimisationConfig(warmup_updates=100, max_updates=1000, cooldown_updates=200, sampled_pieces=50)


@pytest.mark.parametrize(("update", "factor"), [(49, 0.5), (99, 1.0), (399, 0.5), (900, 5 / 901**0.5), (1000, 0)])
def test_the_rate_warms_up_falls_with_the_root_and_cools_down_to_zero(update: int, factor: float) -> None:
    assert rate_factor(update, CONFIG) == pytest.approx(factor)


@pytest.mark.parametrize(("update", "factor"), [(49, 0.5), (99, 1.0), (799, 1.0), (900, 0.5), (1000, 0)])
def test_a_constant_rate_stays_at_its_peak_until_the_cooldown(update: int, factor: float) -> None:
    config = CONFIG.model_copy(update={"constant_rate": True})
    assert rate_factor(update, config) == pytest.approx(factor)


def test_the_softmax_is_whole_in_the_cooldown_or_the_last_updates_that_the_recipe_names() -> None:
    shorter = CONFIG.model_copy(update={"whole_softmax_updates": 20})
    assert [sampled_pieces(update, CONFIG) for update in (799, 800, 999)] == [50, 0, 0]
    assert [sampled_pieces(update, shorter) for update in (800, 979, 980)] == [50, 50, 0]


def test_the_cooldown_begins_where_patience_ends_and_never_makes_a_run_longer() -> None:
    last = last_update(CONFIG, 400)
    assert last == 600
    assert rate_factor(399, CONFIG, last) == rate_factor(399, CONFIG)
    assert rate_factor(500, CONFIG, last) == 0.5 * rate_factor(500, CONFIG)
    assert rate_factor(600, CONFIG, last) == 0
    assert [sampled_pieces(update, CONFIG, last) for update in (399, 400)] == [50, 0]
    assert last_update(CONFIG, 900) == 1000
    assert last_update(CONFIG.model_copy(update={"cooldown_updates": 0}), 400) == 400
