"""The repetition guard alone: what it lets pass and where it stops."""

import numpy as np
import pytest

from service.bundle.repetition import FURTHER, LEAST_RUN, MAX_PERIOD
from service.engine.search.repetition import RepetitionGuard

FOREVER = 300
SOURCE = (5, 6, 2)


@pytest.mark.parametrize(
    ("period", "source", "allowed"),
    [
        *((period, SOURCE, period + FURTHER - 1) for period in range(1, MAX_PERIOD + 1)),
        (MAX_PERIOD + 1, SOURCE, FOREVER),
        (1, None, FOREVER),
        (MAX_PERIOD, None, FOREVER),
        (1, (*[7] * 30, 2), 2 * 29 - 1),
    ],
)
def test_a_cycle_is_stopped_after_so_many_tokens(period: int, source: tuple[int, ...] | None, allowed: int) -> None:
    guard = RepetitionGuard(1)
    guard.reset(0, source)
    for count in range(FOREVER):
        token = np.array([[[3 + count % period]]])
        forbidden = guard.forbidden(token)
        if forbidden is not None and forbidden.all():
            assert count - period == allowed
            return
        guard.advance(np.array([[0]]), token[:, :, 0])
    assert allowed == FOREVER


def test_counts_follow_the_hypothesis_when_slots_change() -> None:
    guard = RepetitionGuard(2)
    guard.reset(0, (5, 2))
    for at in range(LEAST_RUN):
        guard.advance(np.array([[0, 1]]), np.array([[9, 3 + at]]))
    guard.advance(np.array([[1, 0]]), np.array([[4, 9]]))
    forbidden = guard.forbidden(np.array([[[9, 8], [9, 8]]]))
    assert forbidden is not None
    assert forbidden.tolist() == [[[False, False], [True, False]]]
