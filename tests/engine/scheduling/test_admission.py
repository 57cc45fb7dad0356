"""The throughput of the queue is measured while sentences are waiting."""

import pytest

from service.engine.scheduling.admission import ThroughputEstimator


def test_it_follows_a_model_that_becomes_slower_and_skips_idle_hours() -> None:
    throughput = ThroughputEstimator()
    for at in range(100):
        throughput.round(0.1 * at, left=10, waiting=500)
    throughput.round(10.0, left=10, waiting=0)
    for at in range(400):
        throughput.round(7200 + 0.1 * at, left=1, waiting=500)  # a tenth of it, two hours later
    assert throughput.seconds_for(100) == pytest.approx(10, rel=0.3)
