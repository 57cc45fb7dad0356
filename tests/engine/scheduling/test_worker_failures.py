"""Runs that fail and threads that die: everybody is answered, and a broken model is found out."""

import threading
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from service.engine.errors import EngineFailure, NotReady
from service.engine.events import RunFailed
from service.engine.jobs import FloatArray, ScoringRequest
from service.engine.scheduling.pending import Budget, WorkerSettings
from service.engine.scheduling.worker import Worker
from tests.engine.scheduling.working import Gate, breaking, ids_of, job, scored, working
from tests.support.fake_model import EOS, copying_rule
from tests.support.polling import PATIENCE, wait_until


def asked(worker: Worker, what: str) -> Future[Any]:
    """Ask for something that this kind of run answers."""
    if what == "force":
        return worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS)))
    return worker.submit(job(3, beam_size=8))


@pytest.mark.parametrize("broken", ["encode", "step", "force"])
def test_a_failure_fails_those_in_flight_and_the_next_request_works(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    with working(breaking(broken, times=1)) as engine:
        with pytest.raises(EngineFailure):
            engine.worker.submit(scored(3, 4)).result(PATIENCE)
        assert ids_of(engine.worker.submit(scored(5))) == (5, EOS)
        assert engine.worker.status.alive
        assert engine.count(RunFailed) == 1
    assert "out of luck" in caplog.text


def test_an_encoder_run_that_fails_costs_those_in_it_and_nobody_else() -> None:
    gate = Gate()
    with working(gate) as engine:
        running = engine.worker.submit(job(3))
        assert gate.arrived.wait(PATIENCE)
        engine.model.before = breaking("encode", times=1)
        long = [job(*[token] * 63) for token in range(4, 12)]  # 64 tokens each: four in a run
        futures = engine.worker.submit_all(long)
        for future in futures[:4]:
            with pytest.raises(EngineFailure):
                future.result(PATIENCE)
        gate.open()
        assert ids_of(running) == (3, EOS)
        assert [ids_of(future)[0] for future in futures[4:]] == [8, 9, 10, 11]


@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_sentence_for_which_no_token_is_possible_ends_empty_and_the_next_one_works(beam_size: int) -> None:
    def rule(source: tuple[int, ...], prefix: tuple[int, ...]) -> FloatArray:
        return np.full(30, -1e9, np.float32) if source[0] == 3 else copying_rule(30)(source, prefix)

    with working(rule=rule) as engine:
        assert ids_of(engine.worker.submit(job(3, beam_size=beam_size))) == ()
        assert ids_of(engine.worker.submit(job(5, beam_size=beam_size))) == (5, EOS)


@pytest.mark.parametrize(("broken", "well"), [("step", "force"), ("force", "step")])
def test_three_failures_kill_the_worker_and_are_not_hidden_by_other_runs_that_work(broken: str, well: str) -> None:
    with working(breaking(broken)) as engine:
        for _ in range(2):
            with pytest.raises(EngineFailure):
                asked(engine.worker, broken).result(PATIENCE)
            assert asked(engine.worker, well).result(PATIENCE)
            assert engine.worker.status.alive
        with pytest.raises(EngineFailure):
            asked(engine.worker, broken).result(PATIENCE)
        wait_until(lambda: engine.worker.status.state == "dead" and not engine.worker.status.alive)
        with pytest.raises(NotReady, match="has failed"):
            asked(engine.worker, well)


def test_one_broken_decoder_is_not_hidden_by_one_that_works() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "step" and threading.current_thread().name == "engine-toy-1":
            raise RuntimeError("broken for good")

    with working(fail, WorkerSettings(inter_threads=2)) as engine:
        for _ in range(1000):
            try:
                futures = engine.worker.submit_all([job(3, beam_size=8)] * 12)
            except NotReady:
                break
            assert all(isinstance(future.exception(PATIENCE), EngineFailure | None) for future in futures)
        wait_until(lambda: engine.worker.status.state == "dead" and not engine.worker.status.alive)


@pytest.mark.parametrize(
    ("broken", "way"), [("encode", SystemExit), ("step", KeyboardInterrupt), ("force", SystemExit)]
)
def test_a_thread_that_dies_leaves_no_future_unresolved_and_ends_the_worker(
    broken: str, way: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(broken, then=breaking(broken, way))
    with working(gate, WorkerSettings(Budget(rows=8))) as engine:
        others = [asked(engine.worker, "step" if broken == "force" else "force") for _ in range(4)]
        futures = [asked(engine.worker, broken) for _ in range(4)]
        gate.open()
        for future in futures:
            with pytest.raises(EngineFailure):
                future.result(PATIENCE)
        wait_until(lambda: all(future.done() for future in others))  # perhaps they were answered in time
        wait_until(lambda: engine.worker.status.state == "dead" and not engine.worker.status.alive)
    assert "ended unexpectedly" in caplog.text
