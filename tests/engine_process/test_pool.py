"""Several workers as one: work goes where least is in hand, and no request is done by half."""

import pytest

from service.engine.errors import NotReady
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import QueueStatus
from service.engine_process.client.cluster import WorkerPool
from tests.support.fake_worker import MirrorWorker

SCORING = ScoringRequest((5, 2), (6, 2))


def job(tokens: int) -> SentenceJob:
    return SentenceJob((5, *[4] * (tokens - 2), 2), SearchOptions(beam_size=1, max_length=64))


def test_the_next_goes_to_whoever_has_least_in_hand() -> None:
    one, other = MirrorWorker(held=True), MirrorWorker(held=True)
    pool = WorkerPool([one, other])
    pool.submit_all([job(30)])
    pool.submit_all([job(4), job(4), job(4)])
    assert (len(one.jobs), len(other.jobs)) == (1, 3)
    for future in other.futures:
        future.cancel()
    pool.submit_all([job(20)])
    assert len(other.jobs) == 4
    one.futures[0].cancel()
    assert pool.submit_scoring(SCORING).result(0)
    assert (len(one.forced), len(other.forced)) == (1, 0)


def test_a_request_that_one_of_them_refuses_is_taken_back_from_the_others() -> None:
    one, other = MirrorWorker(held=True), MirrorWorker(held=True, error=NotReady("It has stopped."))
    with pytest.raises(NotReady):
        WorkerPool([one, other]).submit_all([job(4), job(4)])
    assert all(future.cancelled() for future in one.futures)


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (("restarting", "running"), "running"),
        (("dead", "running"), "running"),
        (("stopped", "draining"), "draining"),
        (("restarting", "dead"), "restarting"),
        (("dead", "dead"), "dead"),
    ],
)
def test_it_runs_and_shows_life_while_one_of_them_does(states: tuple[str, str], state: str) -> None:
    one, other = (MirrorWorker(state=WorkerState(each)) for each in states)
    one.heartbeat, other.heartbeat = 9.0, 3.0
    status = WorkerPool([one, other]).status
    assert status.state == state
    assert status.alive == (state == "running")
    assert status.heartbeat == (3.0 if state == "running" else 9.0)  # the latest of those at work


def test_one_that_is_being_restarted_or_hangs_is_given_nothing() -> None:
    lost, hanging, well = MirrorWorker(), MirrorWorker(), MirrorWorker()
    pool = WorkerPool([lost, hanging, well])
    lost.state = WorkerState.RESTARTING
    hanging.heartbeat -= 60.0
    for future in pool.submit_all([job(8) for _ in range(6)]):
        assert future.result().hypotheses
    pool.submit_scoring(SCORING)
    assert (len(lost.jobs), len(hanging.jobs), len(well.jobs), len(well.forced)) == (0, 0, 6, 1)
    well.error = NotReady("It has no room.")
    with pytest.raises(NotReady, match="no room"):
        pool.check_room()
    well.state = WorkerState.RESTARTING
    pool.submit_all([job(8)])  # one that may come round is better than none
    assert len(hanging.jobs) == 1


def test_there_is_room_while_one_of_them_has_some() -> None:
    full = MirrorWorker(queue_status=QueueStatus(full=True, seconds=9.0))
    free = MirrorWorker(queue_status=QueueStatus(full=False, seconds=2.0))
    assert WorkerPool([full, free]).status.queue == QueueStatus(full=False, seconds=2.0)
    assert WorkerPool([full, full]).status.queue.full
