"""A worker that fails in this process is loaded again, a limited number of times; its requests get a clear error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.engine.errors import EngineFailure, NotReady
from service.engine.scheduling import restarts
from service.engine.scheduling.restarting_worker import RestartingWorker
from service.engine.scheduling.worker import Worker
from service.engine.types import SearchOptions, SentenceJob, WorkerState
from tests.support.fake_model import EOS, ScriptedModel, copying_rule
from tests.support.polling import wait_until

JOB = SentenceJob((5, 6, 7, EOS), SearchOptions(max_length=20))


class Faults:
    """Raises an exception in each step while there is one left."""

    def __init__(self) -> None:
        self.left: list[BaseException] = []

    def __call__(self, what: str, rows: int) -> None:
        if what == "step" and self.left:
            raise self.left.pop()


class Host:
    """Loads workers of one model, and writes down every restart."""

    def __init__(self) -> None:
        self.faults, self.restarts, self.loaded = Faults(), list[str](), 0
        self.refuses: Exception | None = None
        self.worker = RestartingWorker(self.load(), self.load, self.restarts.append)

    def load(self) -> Worker:
        if self.refuses is not None:
            raise self.refuses
        self.loaded += 1
        return Worker("toy", ScriptedModel(copying_rule(30), before=self.faults))

    def fail(self, error: BaseException) -> None:
        """Translate with a fault; the request gets the error of the engine."""
        self.faults.left.append(error)
        [future] = self.worker.submit_all([JOB])
        with pytest.raises(EngineFailure):
            future.result(10)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(restarts, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(restarts, "MOST_DELAY", 0.02)
    host = Host()
    host.worker.start()
    yield host
    host.worker.close()


@pytest.mark.parametrize("error", [SystemExit("the thread ends"), KeyboardInterrupt(), GeneratorExit()])
def test_a_thread_that_ends_costs_its_requests_and_the_model_comes_back(host: Host, error: BaseException) -> None:
    host.fail(error)
    wait_until(lambda: host.restarts == ["model"])
    assert host.worker.state is WorkerState.RUNNING
    assert host.worker.alive
    [future] = host.worker.submit_all([JOB])
    assert future.result(10).hypotheses[0].ids == JOB.source_ids


def test_it_is_restarting_and_refuses_requests_until_its_next_start(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "FIRST_DELAY", 60.0)
    monkeypatch.setattr(restarts, "MOST_DELAY", 60.0)
    host.fail(SystemExit())
    assert (host.worker.state, host.worker.alive) == (WorkerState.RESTARTING, False)
    for call in (host.worker.check_room, lambda: host.worker.submit_all([JOB])):
        with pytest.raises(NotReady, match="toy is being restarted; send the request again"):
            call()
    host.worker.retire()  # it is unloaded: it never starts again
    assert (host.worker.state, host.loaded, host.restarts) == (WorkerState.STOPPED, 1, [])


def test_a_model_that_keeps_failing_is_given_up(host: Host) -> None:
    for number in range(restarts.MOST_IN_A_ROW + 1):
        wait_until(lambda number=number: host.restarts == ["model"] * number)  # type: ignore[misc]
        host.fail(SystemExit())
    wait_until(lambda: host.worker.state is WorkerState.DEAD)
    assert host.restarts == [*["model"] * restarts.MOST_IN_A_ROW, "given_up"]
    with pytest.raises(NotReady, match="toy has failed"):
        host.worker.submit_all([JOB])


def test_a_model_that_cannot_be_loaded_again_is_tried_as_often(host: Host) -> None:
    host.refuses = EngineFailure("no memory")
    host.fail(SystemExit())
    wait_until(lambda: host.worker.state is WorkerState.DEAD)
    assert host.restarts == ["given_up"]
    assert host.loaded == 1
