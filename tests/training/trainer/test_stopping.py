"""When patience ends and what that means for the rate: pure functions."""

from training.recipe import OptimisationConfig
from training.trainer.schedule import last_update, rate_factor, sampled_pieces
from training.trainer.stopping import Validations

CONFIG = OptimisationConfig(warmup_updates=100, max_updates=1000, cooldown_updates=200, sampled_pieces=50)


def looked(*scores: float, patience: int = 2) -> Validations:
    validations = Validations()
    for number, score in enumerate(scores, start=1):
        validations = validations.after(10 * number, score, patience)
    return validations


def test_patience_counts_looks_without_a_better_score() -> None:
    assert looked(1, 2, 1, 3, 2).ended_at is None
    assert looked(1, 2, 1, 2).ended_at == 40


def test_what_the_cooldown_finds_neither_revives_nor_moves_the_end() -> None:
    cooled = looked(2, 1, 1, 5, 4, 4, 4)
    assert (cooled.ended_at, cooled.best) == (30, 5)


def test_more_patience_revives_a_run_and_less_ends_it() -> None:
    assert looked(2, 1, 1).resumed(35, patience=3).ended_at is None
    assert looked(2, 1).resumed(25, patience=1).ended_at == 25
    assert looked(2, 1, 1).resumed(35, patience=2).ended_at == 30


def test_the_cooldown_begins_where_patience_ends() -> None:
    last = last_update(CONFIG, 400)
    assert last == 600
    assert rate_factor(399, CONFIG, last) == rate_factor(399, CONFIG)
    assert rate_factor(500, CONFIG, last) == 0.5 * rate_factor(500, CONFIG)
    assert rate_factor(600, CONFIG, last) == 0
    assert [sampled_pieces(update, CONFIG, last) for update in (399, 400)] == [50, 0]


def test_patience_never_makes_a_run_longer() -> None:
    assert last_update(CONFIG, 900) == 1000
    assert last_update(CONFIG.model_copy(update={"cooldown_updates": 0}), 400) == 400
