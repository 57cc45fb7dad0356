"""When a worker accepts requests and when it ends, without threads."""

from __future__ import annotations

from service.engine.scheduling.lifecycle import Lifecycle
from service.engine.types import WorkerState


def running(decoders: int = 1, failures: int = 3) -> Lifecycle:
    life = Lifecycle(decoders, failures)
    life.start()
    return life


def test_it_goes_on_from_its_start_until_it_is_stopped() -> None:
    life = Lifecycle(1, 3)
    assert (life.state, life.continues) == (WorkerState.NEW, False)
    life.start()
    assert life.continues
    life.drain()
    assert (life.state, life.continues) == (WorkerState.DRAINING, True)
    life.stop()
    assert (life.state, life.continues) == (WorkerState.STOPPED, False)
    life.decoder_ended()
    assert (life.state, life.decoders_left) == (WorkerState.STOPPED, 0)


def test_failures_of_one_kind_in_a_row_end_it() -> None:
    life = running(failures=2)
    life.run_failed("decoder 0")
    life.run_failed("encoder")
    life.run_succeeded("decoder 0")
    life.run_failed("decoder 0")
    assert life.continues
    life.run_failed("encoder")
    assert not life.continues


def test_one_thread_that_ends_by_itself_means_that_the_worker_is_dead() -> None:
    life = running(decoders=2)
    life.stage_died()
    assert not life.continues
    life.decoder_ended()
    assert (life.state, life.decoders_left) == (WorkerState.DEAD, 1)
    life.stop()
    assert life.state is WorkerState.DEAD, "a worker that died is not merely stopped"
