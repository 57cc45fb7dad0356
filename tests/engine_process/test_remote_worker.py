"""A remote worker from the client's side: callers get its results and errors, and no future stays open."""

import time
from dataclasses import replace

import pytest

from service.engine.errors import Interrupted, NotReady, Overloaded
from service.engine.events import EngineEvent, RequestRejected
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import QueueStatus, WorkerStatus
from service.engine_process.client import remote_worker as remote
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.protocol import StatusReport, ToEngine, Translate

JOB = SentenceJob((5, 6, 2), SearchOptions(beam_size=1, max_length=8))
SCORING = ScoringRequest((5, 2), (6, 2))


class Far:
    """A worker whose messages go nowhere."""

    def __init__(self) -> None:
        self.sent: list[ToEngine] = []
        self.heard: list[EngineEvent] = []
        self.full = self.has_unread = False
        pending = PendingCalls(cancelled=lambda _worker, _number: None)
        self.worker = RemoteWorker("toy", 3, self, pending, self.heard.append)
        self.worker.mark_loaded()

    def send(self, message: ToEngine) -> None:
        self.sent.append(message)

    def report(self, queue_full: bool = False, queue_seconds: float | None = None) -> None:
        queue = QueueStatus(queue_full, queue_seconds)
        self.worker.handle(StatusReport(3, WorkerStatus(WorkerState.RUNNING, True, time.monotonic(), queue)))


@pytest.fixture
def far() -> Far:
    return Far()


def test_a_worker_that_is_not_heard_of_or_has_too_much_to_read_is_spared(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.report()
    far.worker.check_room()
    far.full = True
    for ask in (
        far.worker.check_room,
        lambda: far.worker.submit_all([JOB]),
        lambda: far.worker.submit_scoring(SCORING),
    ):
        with pytest.raises(Overloaded):
            ask()
    far.full = False
    monkeypatch.setattr(remote, "SILENT_SECONDS", 0.02)
    time.sleep(0.05)
    far.has_unread = True  # this process was too busy to read the reports
    far.worker.check_room()
    far.has_unread = False
    with pytest.raises(Overloaded):
        far.worker.check_room()
    far.report()
    far.worker.check_room()


@pytest.mark.parametrize(("full", "seconds"), [(True, 600.0), (False, 15.0)])
def test_a_caller_is_refused_here_as_soon_as_the_queue_is_reported_full_or_too_slow(
    far: Far, full: bool, seconds: float
) -> None:
    far.report()
    far.worker.check_room(time.monotonic() + 0.1)
    far.report(queue_seconds=10.0)
    far.worker.check_room(time.monotonic() + 30.0)
    assert far.heard == []
    far.report(full, queue_seconds=10.0)
    sent = far.sent.copy()
    late = time.monotonic() + seconds  # of 15 seconds, more than half would be waiting
    for ask in (far.worker.check_room, lambda deadline: far.worker.submit_all([replace(JOB, deadline=deadline)])):
        with pytest.raises(Overloaded) as error:
            ask(late)
        assert error.value.retry_after == 5.0
    assert far.heard == [RequestRejected("toy", "overloaded")] * 2
    assert far.sent == sent


def test_a_job_that_was_sent_while_its_process_went_fails(far: Far) -> None:
    def dies(message: ToEngine) -> None:
        far.worker.mark_lost()

    def dies_and_comes_back(message: ToEngine) -> None:
        if isinstance(message, Translate):
            far.worker.mark_lost()
            far.worker.mark_loaded()

    far.send = dies_and_comes_back  # type: ignore[method-assign]
    [future] = far.worker.submit_all([JOB])
    assert isinstance(future.exception(0), Interrupted)
    far.send = dies  # type: ignore[method-assign]
    [future] = far.worker.submit_all([JOB])
    assert isinstance(future.exception(0), Interrupted)
    with pytest.raises(NotReady):
        far.worker.submit_scoring(SCORING)
