"""Delays before a process is started again, and the limit of restarts."""

from service.engine_process.client.restarts import MOST_DELAY, MOST_IN_A_ROW, STABLE_SECONDS, Restarts


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
