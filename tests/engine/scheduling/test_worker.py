"""The worker's threads: sentences join and leave running batches, and each is answered once."""

import threading
import time

import pytest

from service.engine.errors import DeadlineExceeded, EmptyInput, InputTooLong, NotReady, Overloaded
from service.engine.events import RequestRejected, SentenceFinished, SentencesCancelled
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob
from service.engine.scheduling.pending import Budget, WorkerSettings
from service.engine.scheduling.worker import Worker
from tests.engine.scheduling.working import Clock, Gate, Working, ids_of, job, working
from tests.support.fake_model import EOS, ScriptedModel, copying_rule, hashed_rule
from tests.support.polling import PATIENCE, wait_until


def cancelled_in(engine: Working) -> int:
    return sum(each.sentences for each in engine.events if isinstance(each, SentencesCancelled))


def test_sentences_of_all_beam_widths_are_decoded_and_reported() -> None:
    with working() as engine:
        futures = [engine.worker.submit(job(*range(3, 4 + at), beam_size=1 + at % 8)) for at in range(16)]
        assert [ids_of(future) for future in futures] == [(*range(3, 4 + at), EOS) for at in range(16)]
        wait_until(lambda: engine.load == (0, 0, 0))
    finished = [each for each in engine.events if isinstance(each, SentenceFinished)]
    assert sorted((each.source_tokens, each.target_tokens) for each in finished) == [(at, at) for at in range(2, 18)]


def test_a_short_sentence_does_not_wait_for_long_ones_before_it() -> None:
    gate, order = Gate(), list[str]()
    with working(gate) as engine:
        long = job(*range(3, 22), beam_size=4, max_length=60)
        futures = {f"long {at}": engine.worker.submit(long) for at in range(8)}
        futures["short"] = engine.worker.submit(job(3, beam_size=4))
        for name, future in futures.items():
            future.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
        gate.open()
        for future in futures.values():
            future.result(PATIENCE)
    assert order[0] == "short"


def test_a_long_sentence_runs_apart_from_many_short_ones_and_rows_are_counted_together() -> None:
    with working(settings=WorkerSettings(Budget(rows=16, sentences=16)), step_cost=40) as engine:
        jobs = [job(*range(3, 29), max_length=40), *(job(3, 4) for _ in range(40))]
        found = [ids_of(future) for future in engine.worker.submit_all(jobs)]
    assert found == [(*range(3, 29), EOS), *[(3, 4, EOS)] * 40]
    steps = engine.calls("step")
    assert max(steps) == 14  # the long one takes one of the sixteen rows, and one is kept for short requests
    assert steps.count(1) >= 27


def test_rows_that_become_free_are_taken_at_the_next_step() -> None:
    with working(settings=WorkerSettings(Budget(rows=8))) as engine:
        long = job(*range(3, 19), beam_size=4)  # 17 steps, in which four short ones stand beside it, one after another
        futures = engine.worker.submit_all([long, *(job(3, 4, 5, beam_size=4) for _ in range(4))])
        assert all(future.result(PATIENCE) for future in futures)
    steps = engine.calls("step")
    assert steps == [8] * steps.count(8) + [4] * steps.count(4)


def test_sentences_that_arrive_under_load_one_by_one_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATHER_SECONDS", "LONGEST_GATHER"):
        monkeypatch.setattr(f"service.engine.scheduling.scheduler.{name}", 60.0)  # until the running ones end
    gate = Gate()
    with working(gate) as engine:
        running = engine.worker.submit_all([job(*range(3, 13)) for _ in range(20)])
        assert gate.arrived.wait(PATIENCE)
        later = [engine.worker.submit(job(token)) for token in (20, 21, 22)]
        gate.open()
        assert [ids_of(future) for future in later] == [(20, EOS), (21, EOS), (22, EOS)]
        assert {ids_of(future) for future in running} == {(*range(3, 13), EOS)}
    assert engine.calls("encode") == [20, 3]


def test_running_sentences_do_not_wait_for_the_encoder() -> None:
    gate, slow = Gate("encode"), Gate("step")
    with working(slow) as engine:
        running = engine.worker.submit(job(*range(3, 20)))
        assert slow.arrived.wait(PATIENCE)
        engine.model.before = gate
        slow.open()
        waiting = engine.worker.submit(job(3))
        assert gate.arrived.wait(PATIENCE)
        assert ids_of(running) == (*range(3, 20), EOS)
        assert not waiting.done()
        gate.open()
        assert ids_of(waiting) == (3, EOS)


def test_a_request_is_queued_whole_or_refused_whole() -> None:
    gate = Gate("encode")
    with working(gate, WorkerSettings(Budget(queued_sentences=5))) as engine:
        accepted = [engine.worker.submit(job(3))]
        assert gate.arrived.wait(PATIENCE)
        accepted += engine.worker.submit_all([job(3), job(4)])
        with pytest.raises(Overloaded) as caught:
            engine.worker.submit_all([job(3)] * 4)
        assert caught.value.retry_after >= 1
        accepted += engine.worker.submit_all([job(5), job(6)])  # the last places
        gate.open()
        assert [ids_of(future) for future in accepted] == [(token, EOS) for token in (3, 3, 4, 5, 6)]
    assert sum(engine.calls("encode")) == 5
    assert RequestRejected("toy", "overloaded") in engine.events


def test_who_could_not_be_done_in_time_is_refused_at_once() -> None:
    clock = Clock()

    def slow(what: str, rows: int) -> None:
        clock.now += what == "step"

    gate = Gate("encode")
    with working(slow, WorkerSettings(Budget(rows=8)), clock) as engine:
        worker = engine.worker
        assert all(each.result(PATIENCE) for each in worker.submit_all([job(*range(3, 7), beam_size=8)] * 8))
        engine.model.before = gate
        futures = worker.submit_all([job(*range(3, 7), beam_size=8)] * 9)  # 5 tokens and 5 seconds each
        assert gate.arrived.wait(PATIENCE)
        worker.check_room()
        worker.check_room(deadline=clock.now + 100)
        for refused in (worker.check_room, lambda deadline: worker.submit(job(3, deadline=deadline))):
            with pytest.raises(Overloaded) as caught:
                refused(clock.now + 60)
            assert 10 <= caught.value.retry_after <= 30
        gate.open()
        assert all(future.result(PATIENCE) for future in futures)
        worker.check_room(deadline=clock.now + 1)  # no request waits: it may as well be tried


def test_cancelled_and_late_sentences_leave_before_the_next_step_whether_they_run_or_wait() -> None:
    gate, clock = Gate(), Clock()
    with working(gate, WorkerSettings(Budget(rows=16)), clock) as engine:
        deadlines = (None, 1.0, None, 1.0, None)
        jobs = [job(3 + at, beam_size=8, deadline=deadline) for at, deadline in enumerate(deadlines)]
        runs, runs_late, waits, waits_late, patient = engine.worker.submit_all(jobs, ids=[70, 71, 72, 73, 74])
        assert gate.arrived.wait(PATIENCE)
        assert runs.cancel()
        engine.worker.cancel(72)
        engine.worker.cancel(99)
        clock.now = 2.0
        gate.open()
        assert ids_of(patient) == (7, EOS)
        engine.worker.cancel(74)  # answered by now
        for late in (runs_late, waits_late):
            with pytest.raises(DeadlineExceeded):
                late.result(PATIENCE)
        wait_until(lambda: engine.load == (0, 0, 0))
    assert waits.cancelled()
    assert engine.calls("step") == [16] + [8] * (len(engine.calls("step")) - 1)
    assert cancelled_in(engine) == 2
    assert engine.events.count(RequestRejected("toy", "deadline_exceeded")) == 2


def test_stopping_lets_those_in_hand_finish_and_refuses_new_ones() -> None:
    gate = Gate()
    worker = Worker("toy", ScriptedModel(copying_rule(30), before=gate))
    futures = [worker.submit(job(3, 4)) for _ in range(5)]
    stopping = threading.Thread(target=worker.stop, args=(10.0,))
    stopping.start()
    wait_until(lambda: worker.status.state == "draining")
    with pytest.raises(NotReady, match="stopping"):
        worker.submit(job(3))
    gate.open()
    stopping.join(PATIENCE)
    assert not stopping.is_alive()
    assert all(future.result(0).hypotheses for future in futures)
    assert worker.status.state == "stopped"
    assert not worker.status.alive


def test_stopping_answers_every_request_even_if_a_run_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.worker.JOIN_SECONDS", 0.05)
    gate = Gate()
    with working(gate) as engine:
        futures = engine.worker.submit_all([job(3), job(4)])
        assert gate.arrived.wait(PATIENCE)
        engine.worker.stop()
        assert [type(future.exception(0)) for future in futures] == [NotReady] * 2
        gate.open()


def test_what_the_caller_did_wrong_is_said_before_it_is_queued() -> None:
    with working(source_limit=5) as engine:
        with pytest.raises(EmptyInput):
            engine.worker.submit(SentenceJob((), SearchOptions()))
        with pytest.raises(InputTooLong, match="6 tokens; the model takes 5"):
            engine.worker.submit(job(3, 4, 5, 6, 7))
        with pytest.raises(InputTooLong):
            engine.worker.submit_scoring(ScoringRequest((3, EOS), (3,) * 65))
        assert engine.model.calls == []


def test_decoders_step_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)  # broken, and an error for everybody, unless two steps overlap

    def meet(what: str, rows: int) -> None:
        if what == "step":
            assert rows == 4
            together.wait()

    with working(meet, WorkerSettings(inter_threads=2)) as engine:
        futures = engine.worker.submit_all([job(3, 4, beam_size=4), job(5, 6, beam_size=4)])
        assert [ids_of(future) for future in futures] == [(3, 4, EOS), (5, 6, EOS)]


def test_the_second_decoder_rests_while_the_first_has_room() -> None:
    stepped: set[str] = set()
    gate = Gate()

    def note(what: str, rows: int) -> None:
        if what == "step":
            stepped.add(threading.current_thread().name)
            gate(what, rows)

    with working(note, WorkerSettings(Budget(sentences=3), inter_threads=2, fill_first=True)) as engine:
        few = engine.worker.submit_all([job(3, 4, beam_size=4), job(5, 6, beam_size=4)])
        assert gate.arrived.wait(PATIENCE)
        wait_until(lambda: engine.load == (8, 2, 0))
        assert stepped == {"engine-toy-0"}
        more = engine.worker.submit_all([job(7, 8, beam_size=4), job(9, 10, beam_size=4)])
        wait_until(lambda: len(stepped) == 2)
        gate.open()
        assert [ids_of(future) for future in few + more] == [(first, first + 1, EOS) for first in (3, 5, 7, 9)]


def test_a_cancelled_sentence_leaves_whichever_decoder_has_it() -> None:
    gate = Gate()
    with working(gate, WorkerSettings(inter_threads=2)) as engine:
        doomed = engine.worker.submit_all([job(*range(3, 20), beam_size=4) for _ in range(4)])
        assert gate.arrived.wait(PATIENCE)
        for future in doomed:
            assert future.cancel()
        gate.open()
        wait_until(lambda: engine.load == (0, 0, 0) and cancelled_in(engine) == 4)


def test_after_a_cancelled_sentence_the_decoder_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.requests.IDLE_SECONDS", 60)
    gate = Gate()
    with working(gate) as engine:
        doomed = engine.worker.submit(job(3, 4))
        assert gate.arrived.wait(PATIENCE)
        assert doomed.cancel()
        gate.open()
        wait_until(lambda: engine.load == (0, 0, 0) and cancelled_in(engine) == 1)
        time.sleep(0.1)
        heartbeat = engine.worker.status.heartbeat
        time.sleep(0.1)
        assert engine.worker.status.heartbeat == heartbeat


@pytest.mark.parametrize("decoders", [1, 3])
def test_many_callers_who_come_and_go_leave_a_working_engine(decoders: int) -> None:
    settings = WorkerSettings(Budget(rows=40), inter_threads=decoders)
    with working(settings=settings, rule=hashed_rule(30)) as engine:
        futures = [engine.worker.submit(job(3 + at % 20, beam_size=1 + at % 4, max_length=6)) for at in range(150)]
        for future in futures[::3]:
            future.cancel()
        assert all(future.cancelled() or future.result(PATIENCE).hypotheses for future in futures)
        wait_until(lambda: engine.load == (0, 0, 0))
