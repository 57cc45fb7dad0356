"""The repetition guard alone: what it lets pass and where it stops."""

import numpy as np
import pytest

from service.bundle.repetition import FURTHER, LEAST_RUN, MAX_PERIOD, longest_run
from service.engine.search.repetition import RepetitionGuard

FOREVER = 300


def allowed_copies(period: int, source: tuple[int, ...] | None) -> int:
    """Count the tokens of a cycle that may follow its first copy."""
    guard = RepetitionGuard(1)
    guard.reset(0, source)
    for count in range(FOREVER):
        token = np.array([[[3 + count % period]]])
        forbidden = guard.forbidden(token)
        if forbidden is not None and forbidden.all():
            return count - period
        guard.advance(np.array([[0]]), token[:, :, 0])
    return FOREVER


@pytest.mark.parametrize("period", range(1, MAX_PERIOD + 1))
def test_a_cycle_of_any_period_is_stopped(period: int) -> None:
    assert allowed_copies(period, (5, 6, 2)) == period + FURTHER - 1


def test_longer_cycles_are_no_business_of_the_guard() -> None:
    assert allowed_copies(MAX_PERIOD + 1, (5, 6, 2)) == FOREVER


def test_without_a_limit_every_cycle_goes_on() -> None:
    assert [allowed_copies(period, None) for period in (1, MAX_PERIOD)] == [FOREVER, FOREVER]


def test_a_source_that_repeats_itself_raises_the_limit() -> None:
    assert allowed_copies(1, (*[7] * 30, 2)) == 2 * 29 - 1


def test_a_token_that_breaks_the_cycle_is_free() -> None:
    guard = RepetitionGuard(1)
    guard.reset(0, (5, 2))
    for _ in range(LEAST_RUN):
        guard.advance(np.array([[0]]), np.array([[9]]))
    forbidden = guard.forbidden(np.array([[[9, 4, 2]]]))
    assert forbidden is not None
    assert forbidden.tolist() == [[[True, False, False]]]


def test_counts_follow_the_hypothesis_when_slots_change() -> None:
    guard = RepetitionGuard(2)
    guard.reset(0, (5, 2))
    for _ in range(LEAST_RUN):
        guard.advance(np.array([[0, 1]]), np.array([[9, int(np.random.default_rng(1).integers(3, 9))]]))
    guard.advance(np.array([[1, 0]]), np.array([[4, 9]]))
    forbidden = guard.forbidden(np.array([[[9, 8], [9, 8]]]))
    assert forbidden is not None
    assert forbidden.tolist() == [[[False, False], [True, False]]]


@pytest.mark.parametrize(
    ("ids", "longest"),
    [
        ((1, 2, 3, 4, 5, 6, 7, 8), 0),
        ((7,) * 10, 9),
        ((3, 4) * 6, 10),
        ((1, 2, 3, 9, 9, 9), 0),
        ((5,) * 7, 6),
        ((8, 5, 5, 5, 5), 3),
    ],
)
def test_the_longest_run_of_a_source(ids: tuple[int, ...], longest: int) -> None:
    assert longest_run(ids) == longest
