"""How long the queue will take is measured where it counts: while somebody waits."""

from __future__ import annotations

import pytest

from service.engine.scheduling.throughput import Pace


def test_nothing_is_said_before_it_was_seen() -> None:
    pace = Pace()
    assert pace.seconds_for(100) is None
    for at in range(100):
        pace.round(0.1 * at, left=10, waiting=0)  # an idle engine, where nobody ever waits
    assert pace.seconds_for(100) is None


def test_the_queue_takes_as_long_as_it_did_a_moment_ago() -> None:
    pace = Pace()
    for at in range(200):
        pace.round(0.1 * at, left=20 if at % 2 else 0, waiting=500)  # 100 tokens a second
    assert pace.seconds_for(500) == pytest.approx(5, rel=0.02)
    assert pace.seconds_for(0) == 0


def test_it_follows_a_model_that_becomes_slower_and_skips_idle_hours() -> None:
    pace = Pace()
    for at in range(100):
        pace.round(0.1 * at, left=10, waiting=500)
    pace.round(10.0, left=10, waiting=0)
    for at in range(400):
        pace.round(7200 + 0.1 * at, left=1, waiting=500)  # a tenth of it, two hours later
    assert pace.seconds_for(100) == pytest.approx(10, rel=0.3)
