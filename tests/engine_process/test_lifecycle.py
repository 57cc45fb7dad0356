"""The states of an engine process and its models: the tables, and what the checks decide by a clock of the test."""

from types import SimpleNamespace
from typing import Any

import pytest

from service.bundle.load import Bundle
from service.engine.events import ignore_event
from service.engine.loader import EngineSettings
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import WorkerStatus
from service.engine_process.client.engine_process import EngineProcess
from service.engine_process.client.lifecycle import MODEL, PROCESS, SHOWN, Event, ModelStage, ProcessState
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.protocol import StatusReport

JOURNEYS = [  # events, and the stage after each
    ("LOADED RUNNING, DRAIN DRAINING, STOP STOPPED", "a model is served and stopped"),
    ("NOT_LOADED DEAD, STARTED DEAD, STOP DEAD", "a bundle that cannot be loaded is not tried again"),
    ("ENDED OPENING, NOT_LOADED DEAD", "a bundle that ends its process is not tried again"),
    ("LOADED RUNNING, ENDED LOST, STARTED RELOADING, LOADED RUNNING", "a model comes back with its process"),
    ("LOADED RUNNING, ENDED LOST, STARTED RELOADING, ENDED LOST, GIVEN_UP DEAD", "its process never lasts"),
    ("LOADED RUNNING, FAILED RELOADING, LOADED RUNNING, FAILED_AGAIN DEAD", "a model fails by itself, twice"),
    ("LOADED RUNNING, FAILED RELOADING, NOT_LOADED DEAD", "a model fails, and its bundle has been replaced"),
    ("LOADED RUNNING, DRAIN DRAINING, ENDED STOPPED, STARTED STOPPED", "a model that leaves is not loaded again"),
    ("LOADED RUNNING, ENDED LOST, STOP STOPPED, STARTED STOPPED", "a model is unloaded while its process restarts"),
    ("STOP STOPPED, LOADED STOPPED", "a model is loaded after its time"),
]


@pytest.mark.parametrize(("events", "_what"), JOURNEYS, ids=[what for _, what in JOURNEYS])
def test_the_journeys_of_a_model(events: str, _what: str) -> None:
    stage = ModelStage.OPENING
    for event, expected in (step.split() for step in events.split(", ")):
        stage = MODEL.get((stage, Event[event]), stage)
        assert stage is ModelStage[expected]


def test_every_stage_can_end_and_nothing_follows_the_last_ones() -> None:
    last = {ModelStage.STOPPED, ModelStage.DEAD}
    for stage in ModelStage:
        ways = {event for (before, event) in MODEL if before is stage}
        assert (Event.STOP in ways) == (stage not in last)
        assert ways or stage in last
    assert all((state, Event.CLOSED) in PROCESS for state in ProcessState if state is not ProcessState.CLOSED)
    assert all(before is not ProcessState.CLOSED for before, _ in PROCESS)
    assert {stage for stage in ModelStage if stage not in SHOWN} == {  # shown as being restarted
        *(ModelStage.OPENING, ModelStage.LOST, ModelStage.RELOADING)
    }


class Watched(EngineProcess):
    """A process with one model that only counts how often it was killed."""

    def __init__(self, bundle: Bundle) -> None:
        self.kills = 0
        connection = SimpleNamespace(full=False, process_id=7, kill=self.kill)
        self._connection: Any = connection
        self.pending, self.looked, self._ticked, self._stalled_since = PendingCalls(print), 0.0, 0.0, None
        self.worker = RemoteWorker(0, self, bundle, EngineSettings(), ignore_event)
        self.worker.move(Event.LOADED)
        self._workers = {0: self.worker}

    def kill(self) -> None:
        self.kills += 1

    def report(self, heartbeat: float, at: float) -> None:
        self.worker.handle(StatusReport(0, WorkerStatus(WorkerState.RUNNING, alive=True, heartbeat=heartbeat)))
        self.worker.reported = at

    def check_until(self, first: int, last: int, *, runs: bool) -> None:
        """Check twice a second; the process reports in between."""
        for half in range(2 * first, 2 * last):
            now = half / 2
            self.report(now if runs else float(first), now)
            self._check(now)


@pytest.fixture
def watched(bundle: Bundle) -> Watched:
    found = Watched(bundle)
    found.report(0.0, 0.0)
    return found


def test_a_model_that_hangs_while_its_process_reports_ends_the_process(watched: Watched) -> None:
    watched.check_until(0, 40, runs=False)
    assert watched.kills == 0
    watched.check_until(0, 50, runs=False)
    assert watched.kills == 1


def test_a_healthy_process_is_not_stopped_because_nobody_here_reads_its_reports(watched: Watched) -> None:
    for now in range(0, 100, 2):  # each round of the event loop takes two seconds, and looks before it reads
        watched._check(float(now))
        assert watched.looked <= watched.worker.reported
        watched.report(float(now), float(now))
    watched.check_until(100, 120, runs=True)
    assert watched.kills == 0


def test_a_process_that_falls_silent_is_stopped_within_five_seconds(watched: Watched) -> None:
    watched.check_until(0, 10, runs=True)
    now = last = watched.worker.reported
    while not watched.kills:
        now += 0.49  # checks and reports are not made at the same moments
        watched._check(now)
    assert now - last <= 5.0
