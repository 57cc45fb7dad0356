"""A remote worker from the client's side: callers get its results and errors, and no future stays open."""

import time
from dataclasses import replace
from typing import Any

import pytest

from service.bundle.load import Bundle
from service.engine.errors import Interrupted, NotReady, Overloaded
from service.engine.events import EngineEvent, RequestRejected
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob
from service.engine.loader import EngineSettings
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import QueueStatus, WorkerStatus
from service.engine_process.client.lifecycle import Event
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.protocol import StatusReport, ToEngine

JOB = SentenceJob((5, 6, 2), SearchOptions(beam_size=1, max_length=8))
SCORING = ScoringRequest((5, 2), (6, 2))


class Far:
    """A worker whose messages go nowhere; it stands for its process, too."""

    def __init__(self, bundle: Bundle) -> None:
        self.sent: list[ToEngine] = []
        self.heard: list[EngineEvent] = []
        self.full, self.looked = False, time.monotonic()
        self.pending = PendingCalls(cancelled=lambda _worker, _number: None)
        process: Any = self
        self.worker = RemoteWorker(3, process, bundle, EngineSettings(), self.heard.append)
        self.worker.move(Event.LOADED)

    def post(self, message: ToEngine, *_numbers: int) -> None:
        self.sent.append(message)

    def forget(self, worker: RemoteWorker) -> None:
        """There is no other one."""

    def report(self, queue_full: bool = False, queue_seconds: float | None = None) -> None:
        queue = QueueStatus(queue_full, queue_seconds)
        self.worker.handle(StatusReport(3, WorkerStatus(WorkerState.RUNNING, True, time.monotonic(), queue)))


@pytest.fixture
def far(bundle: Bundle) -> Far:
    return Far(bundle)


def test_a_worker_that_is_not_heard_of_or_has_too_much_to_read_is_spared(far: Far) -> None:
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
    far.worker.reported -= 10.0
    far.looked -= 10.0  # this process was too busy to read the reports
    far.worker.check_room()
    far.looked += 10.0
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


def test_a_model_that_leaves_answers_what_it_has_not_done(far: Far) -> None:
    [lost] = far.worker.submit_all([JOB])
    far.worker.lose(Event.ENDED, Interrupted.of_a_process("toy"))
    assert isinstance(lost.exception(0), Interrupted)
    with pytest.raises(NotReady, match="being restarted"):
        far.worker.submit_scoring(SCORING)
    far.worker.move(Event.STARTED)
    far.worker.move(Event.LOADED)
    [waiting] = far.worker.submit_all([JOB])
    far.worker.retire()
    assert isinstance(waiting.exception(0), NotReady)
    with pytest.raises(NotReady, match="is stopping"):
        far.worker.submit_all([JOB])
