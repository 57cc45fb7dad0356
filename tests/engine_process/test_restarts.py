"""Delays before a process is started again, and the limit of restarts."""

from __future__ import annotations

from service.engine_process.client.restarts import MOST_DELAY, MOST_IN_A_ROW, STABLE_SECONDS, ModelRestarts, Restarts


def test_each_restart_in_vain_waits_longer_until_there_are_no_more() -> None:
    restarts, now = Restarts(0.0), 0.0
    delays = []
    while (delay := restarts.ended(now)) is not None:
        delays.append(delay)
        now += delay
        restarts.begins(now)
        now += 1.0
    assert len(delays) == MOST_IN_A_ROW
    assert delays == sorted(delays)
    assert delays[0] < 1.0
    assert delays[-1] == MOST_DELAY


def test_what_lasted_is_started_at_once_again() -> None:
    restarts = Restarts(0.0)
    first = restarts.ended(1.0)
    assert restarts.ended(2.0) != first
    restarts.begins(10.0)
    assert restarts.ended(10.0 + STABLE_SECONDS) == first


def test_a_model_that_fails_is_loaded_anew_when_its_time_has_come() -> None:
    revivals, now = ModelRestarts(), 0.0
    for _ in range(MOST_IN_A_ROW):
        delay = revivals.failed(7, now)
        assert isinstance(delay, float)
        assert revivals.failed(7, now + delay / 2) == "waits"
        now += delay
        assert revivals.failed(7, now) == "due"
        revivals.begins(7, now)
        assert revivals.since(7) == now
        revivals.ends(7)
        assert revivals.since(7) is None
        now += 1.0
    assert revivals.failed(7, now) == "never"
    assert isinstance(revivals.failed(8, now), float)
    revivals.forget(7)
    assert isinstance(revivals.failed(7, now), float)
