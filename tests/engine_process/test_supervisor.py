"""What the supervisor of an engine process decides, without a process and by a clock of the test."""

from types import SimpleNamespace

import pytest

from service.engine.events import ignore_event
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import WorkerStatus
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.client.supervisor import EngineProcess
from service.engine_process.protocol import StatusReport


class Watched(EngineProcess):
    """A supervisor of one model, whose process only counts how often it was stopped."""

    def __init__(self) -> None:
        self.kills = 0
        self.channel = SimpleNamespace(has_unread=False, full=False)
        connection = SimpleNamespace(channel=self.channel, process_id=7, kill=self.kill)
        self._connection, self._checked, self._stalled_since = connection, 0.0, None  # type: ignore[assignment]
        self.worker = RemoteWorker("toy", 0, self, PendingCalls(lambda _worker, _number: None), ignore_event)
        self.worker.mark_loaded()
        self._workers = {0: self.worker}  # type: ignore[assignment]

    def kill(self) -> None:
        self.kills += 1

    def report(self, heartbeat: float, at: float) -> None:
        self.worker.handle(StatusReport(0, WorkerStatus(WorkerState.RUNNING, alive=True, heartbeat=heartbeat)))
        self.worker.reported = at

    def check_until(self, first: int, last: int, *, hears: bool, runs: bool) -> None:
        """Check twice a second; the process reports in between, and this process hears it, or not."""
        for half in range(2 * first, 2 * last):
            now = half / 2
            self.channel.has_unread = not hears
            if hears:
                self.report(now if runs else float(first), now)
            self._check_models(now)


@pytest.fixture
def watched() -> Watched:
    found = Watched()
    found.report(0.0, 0.0)
    return found


def test_a_model_that_hangs_while_its_process_reports_ends_the_process(watched: Watched) -> None:
    watched.check_until(0, 40, hears=True, runs=False)
    assert watched.kills == 0
    watched.check_until(0, 50, hears=True, runs=False)
    assert watched.kills == 1


def test_a_healthy_process_is_not_stopped_because_nobody_here_reads_its_reports(watched: Watched) -> None:
    watched.check_until(0, 100, hears=False, runs=True)
    watched.check_until(100, 120, hears=True, runs=True)
    assert watched.kills == 0


def test_a_process_that_falls_silent_is_stopped_within_five_seconds(watched: Watched) -> None:
    watched.check_until(0, 10, hears=True, runs=True)
    now = last = watched.worker.reported
    while not watched.kills:
        now += 0.49  # checks and reports are not made at the same moments
        watched._check_models(now)
    assert now - last <= 5.0
