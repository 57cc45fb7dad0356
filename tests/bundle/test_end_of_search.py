"""When a search ends: the scores that a live hypothesis must still be able to reach, and must have now."""

import math

import pytest

from service.bundle.end_of_search import lookahead_tokens, score_to_go_on, score_to_win
from service.bundle.manifest import EarlyStopping

FOUR = [-3.0, -1.0, -4.0, -2.0]


def test_the_score_to_win_is_that_of_the_worst_of_the_wanted_hypotheses() -> None:
    assert [score_to_win(FOUR, n_best) for n_best in (1, 2, 4, 5)] == [-1, -2, -4, -math.inf]
    assert score_to_win([], 1) == -math.inf


@pytest.mark.parametrize(("ending", "score"), [(None, -1), (False, -4), (True, math.inf), ("never", -math.inf)])
def test_the_rules_differ_once_as_many_are_finished_as_the_beam_is_wide(
    ending: EarlyStopping | None, score: float
) -> None:
    assert score_to_go_on(FOUR, 1, 4, ending) == score
    assert score_to_go_on(FOUR[:3], 1, 4, ending) == -math.inf  # the search goes on
    assert score_to_go_on([-5.0, -0.5, *FOUR[:3]], 1, 4, False) == -4  # the worst of the best four


def test_only_our_own_rule_gives_up_hypotheses_that_could_still_win() -> None:
    assert lookahead_tokens(None, 100) == 2
    assert [lookahead_tokens(ending, 100) for ending in (False, True, "never")] == [100, 100, 100]
