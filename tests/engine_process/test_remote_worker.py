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
from service.engine_process.protocol import Cancel, Order, StatusReport, ToEngine, Translate

JOB = SentenceJob((5, 6, 2), SearchOptions(beam_size=1, max_length=8))


class Far:
    """A worker whose messages go nowhere."""

    def __init__(self) -> None:
        self.sent: list[ToEngine] = []
        self.heard: list[EngineEvent] = []
        self.pending = PendingCalls(lambda worker, number: self.sent.append(Cancel(worker, number)))
        self.full = self.has_unread = False
        self.worker = RemoteWorker("toy", 3, self, self.pending, self.heard.append)
        self.worker.start()

    def send(self, message: ToEngine) -> None:
        self.sent.append(message)

    def report(self, state: WorkerState = WorkerState.RUNNING, queue_status: QueueStatus | None = None) -> None:
        self.worker.handle(StatusReport(3, WorkerStatus(state, True, time.monotonic(), queue_status or QueueStatus())))


@pytest.fixture
def far() -> Far:
    return Far()


def test_a_worker_reported_dead_takes_nothing_until_it_is_back(far: Far) -> None:
    [waiting] = far.worker.submit_all([JOB])
    seen = []
    for state in (WorkerState.RUNNING, WorkerState.DEAD):
        far.report(state)
        seen.append((far.worker.status.state, far.worker.status.alive))
    assert seen == [("running", True), ("restarting", False)]
    assert isinstance(waiting.exception(0), Interrupted)
    with pytest.raises(NotReady, match="being restarted"):
        far.worker.submit_all([JOB])
    far.report(WorkerState.DEAD)  # said before it was loaded anew
    far.worker.mark_reloaded()
    assert (far.worker.status.state, far.worker.status.alive) == ("running", True)
    assert far.sent[-1] == Order(3, "start")
    far.worker.submit_all([JOB])
    far.worker.give_up()
    assert far.worker.status.state == "dead"
    with pytest.raises(NotReady, match="has failed"):
        far.worker.submit_all([JOB])


def test_a_worker_that_is_not_heard_of_or_has_too_much_to_read_is_spared(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.report()
    far.worker.check_room()
    far.full = True
    for ask in (far.worker.check_room, lambda: far.worker.submit_all([JOB])):
        with pytest.raises(Overloaded):
            ask()
    far.full = False
    monkeypatch.setattr(remote, "SILENT_SECONDS", 0.02)
    time.sleep(0.05)
    with pytest.raises(Overloaded):
        far.worker.check_room()
    far.report()
    far.worker.check_room()


def test_a_worker_whose_reports_wait_to_be_read_is_not_silent(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SILENT_SECONDS", 0.02)
    far.report()
    time.sleep(0.05)
    far.has_unread = True  # this process was too busy to read
    far.worker.check_room()
    far.has_unread = False
    with pytest.raises(Overloaded):
        far.worker.check_room()


@pytest.mark.parametrize(
    ("queue_status", "seconds", "refused"),
    [
        (QueueStatus(full=True, seconds=10.0), 600.0, True),
        (QueueStatus(full=False, seconds=10.0), 15.0, True),  # more than half of the time would be waiting
        (QueueStatus(full=False, seconds=10.0), 30.0, False),
        (QueueStatus(full=False, seconds=None), 0.1, False),
    ],
)
def test_a_caller_is_refused_here_as_soon_as_the_queue_is_reported_full(
    far: Far, queue_status: QueueStatus, seconds: float, refused: bool
) -> None:
    far.report(queue_status=queue_status)
    if not refused:
        far.worker.check_room(time.monotonic() + seconds)
        assert far.heard == []
        return
    with pytest.raises(Overloaded) as error:
        far.worker.check_room(time.monotonic() + seconds)
    assert error.value.retry_after == 5.0
    assert far.heard == [RequestRejected("toy", "overloaded")]
    sent = len(far.sent)
    with pytest.raises(Overloaded):
        far.worker.submit_all([replace(JOB, deadline=time.monotonic() + seconds)])
    assert len(far.sent) == sent


def test_a_job_that_was_sent_while_its_process_went_fails(far: Far) -> None:
    def dies(message: ToEngine) -> None:
        far.worker.mark_lost()

    def dies_and_comes_back(message: ToEngine) -> None:
        if isinstance(message, Translate):
            far.worker.mark_lost()
            far.worker.mark_reloaded()

    far.send = dies_and_comes_back  # type: ignore[method-assign]
    [future] = far.worker.submit_all([JOB])
    assert isinstance(future.exception(0), Interrupted)
    far.send = dies  # type: ignore[method-assign]
    [future] = far.worker.submit_all([JOB])
    assert isinstance(future.exception(0), Interrupted)
    with pytest.raises(NotReady):
        far.worker.submit_scoring(ScoringRequest((5, 2), (6, 2)))


def test_a_caller_who_leaves_is_told_to_the_process_once(far: Far) -> None:
    first, second = far.worker.submit_all([JOB, JOB])
    [sent] = [message for message in far.sent if isinstance(message, Translate)]
    first.cancel()
    first.cancel()
    far.pending.resolve(sent.numbers[0], "too late")
    assert [message for message in far.sent if isinstance(message, Cancel)] == [Cancel(3, sent.numbers[0])]
    assert not second.done()


def test_who_listens_stays_here(far: Far) -> None:
    heard: list[int] = []
    job = SentenceJob(JOB.source_ids, JOB.search, listener=lambda token, *_: heard.append(token))
    far.worker.submit_all([JOB, job])
    [sent] = [message for message in far.sent if isinstance(message, Translate)]
    assert sent.streamed == {sent.numbers[1]}
    assert all(each.listener is None for each in sent.jobs)
    listener = far.pending.listener(sent.numbers[1])
    assert listener is not None
    listener(7, -0.5, None)
    assert heard == [7]
    assert far.pending.listener(sent.numbers[0]) is None
