"""The worker's thread: everybody is answered, whatever joins, leaves, hangs about or breaks."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from service.engine.errors import (
    DeadlineExceeded,
    EmptyInput,
    EngineFailure,
    InputTooLong,
    NotReady,
    Overloaded,
    TooManyWeights,
)
from service.engine.events import (
    EngineEvent,
    LoadChanged,
    RequestRejected,
    RunFailed,
    SentenceFinished,
    SentencesCancelled,
    StageDone,
)
from service.engine.jobs import ScoringRequest, SearchOptions, SentenceJob, SentenceResult, WeightLimit, WeightSelection
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.scheduler import Budget
from service.engine.scheduling.scoring_queue import BatchLimits
from service.engine.scheduling.worker import Worker
from tests.support.fake_model import EOS, ScriptedModel, copying_rule, hashed_rule
from tests.support.polling import wait_until

VOCABULARY = 30


@dataclass
class Recorder:
    """Writes down what it is told."""

    events: list[tuple[object, ...]] = field(default_factory=list)
    finished: list[SentenceFinished] = field(default_factory=list)
    left: int = 0

    def __call__(self, event: EngineEvent) -> None:
        match event:
            case LoadChanged(_, rows, sentences, queued):
                self.events.append(("rows", rows, sentences, queued))
            case SentenceFinished():
                self.finished.append(event)
            case StageDone(_, stage):
                self.events.append(("stage", stage))
            case SentencesCancelled(_, sentences):
                self.left += sentences
                self.events.append(("cancelled", sentences))
            case RequestRejected(_, reason):
                self.events.append(("rejected", reason))
            case RunFailed():
                self.events.append(("failed",))


@contextmanager
def working(model: ScriptedModel, settings: WorkerSettings | None = None) -> Iterator[tuple[Worker, Recorder]]:
    recorder = Recorder()
    worker = Worker("toy", model, settings, recorder)
    worker.start()
    try:
        yield worker, recorder
    finally:
        worker.stop()


def rows_of(worker: Worker) -> int:
    return worker._table._division.rows


def queued_in(worker: Worker) -> int:
    return len(worker._table._scheduler)


def job(*ids: int, beam_size: int = 1, max_length: int = 20, deadline: float | None = None) -> SentenceJob:
    return SentenceJob((*ids, EOS), SearchOptions(beam_size, max_length=max_length), deadline)


class Gate:
    """Holds the model's calls of one kind until it is opened; tells when the first has arrived."""

    def __init__(self, what: str = "step") -> None:
        self._what = what
        self.arrived, self._open = threading.Event(), threading.Event()

    def __call__(self, what: str, rows: int) -> None:
        if what == self._what:
            self.arrived.set()
            assert self._open.wait(10)

    def open(self) -> None:
        self._open.set()


def test_sentences_of_all_beam_widths_are_decoded_and_reported() -> None:
    with working(ScriptedModel(copying_rule(VOCABULARY))) as (worker, recorder):
        futures = [worker.submit(job(*range(3, 4 + at), beam_size=1 + at % 8)) for at in range(16)]
        for at, future in enumerate(futures):
            assert future.result(10).hypotheses[0].ids == (*range(3, 4 + at), EOS)
        wait_until(lambda: recorder.events[-1] == ("rows", 0, 0, 0))
        assert len(recorder.finished) == 16
        assert {(each.source_tokens, each.target_tokens) for each in recorder.finished} == {
            (2 + at, 2 + at) for at in range(16)
        }
        assert rows_of(worker) == 0


def test_those_who_come_later_join_the_running_batch() -> None:
    gate = Gate()
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model) as (worker, recorder):
        first = worker.submit(job(*range(3, 20)))
        assert gate.arrived.wait(10)
        later = worker.submit_all([job(3, 4)] * 3)
        wait_until(lambda: recorder.events.count(("stage", "encode")) == 2)
        gate.open()
        assert all(future.result(10) for future in [first, *later])
    assert ("step", 1) in model.calls
    assert ("step", 4) in model.calls


def test_a_short_sentence_does_not_wait_for_long_ones_before_it() -> None:
    gate, order = Gate(), list[str]()
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate)) as (worker, _):
        futures = {f"long {at}": worker.submit(job(*range(3, 22), beam_size=4, max_length=60)) for at in range(8)}
        futures["short"] = worker.submit(job(3, beam_size=4))
        for name, future in futures.items():
            future.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
        gate.open()
        for future in futures.values():
            future.result(30)
    assert order[0] == "short"


def test_never_more_rows_run_than_the_budget_allows() -> None:
    model = ScriptedModel(hashed_rule(VOCABULARY))
    with working(model, WorkerSettings(Budget(rows=10))) as (worker, _):
        futures = [worker.submit(job(at, beam_size=1 + at % 5)) for at in range(3, 40)]
        assert all(future.result(30).hypotheses for future in futures)
    assert max(rows for what, rows in model.calls if what == "step") <= 10


def test_a_long_sentence_runs_apart_from_many_short_ones_and_rows_are_counted_together() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY), step_cost=40)
    with working(model, WorkerSettings(Budget(rows=16))) as (worker, _):
        jobs = [job(*range(3, 29), max_length=40), *(job(3, 4) for _ in range(40))]
        found = [future.result(10).hypotheses[0].ids for future in worker.submit_all(jobs)]
    assert found == [(*range(3, 29), EOS), *[(3, 4, EOS)] * 40]
    steps = [rows for what, rows in model.calls if what == "step"]
    assert max(steps) == 14  # the long one takes one of the sixteen rows, and one is kept for short requests
    assert steps.count(1) >= 27


def test_rows_that_become_free_are_taken_at_the_next_step() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY))
    with working(model, WorkerSettings(Budget(rows=8))) as (worker, _):
        long = job(*range(3, 19), beam_size=4)  # 17 steps, in which four short ones stand beside it, one after another
        futures = worker.submit_all([long, *(job(3, 4, 5, beam_size=4) for _ in range(4))])
        assert all(future.result(10) for future in futures)
    rows = [rows for what, rows in model.calls if what == "step"]
    assert rows == [8] * rows.count(8) + [4] * rows.count(4)


def test_those_who_wait_are_encoded_together() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY))
    with working(model, WorkerSettings(Budget(rows=8))) as (worker, _):
        futures = worker.submit_all([job(*range(3, 4 + at % 5), beam_size=4) for at in range(24)])
        for at, future in enumerate(futures):
            assert future.result(10).hypotheses[0].ids == (*range(3, 4 + at % 5), EOS)
    encoded = [sentences for what, sentences in model.calls if what == "encode"]
    assert sum(encoded) == 24
    assert len(encoded) <= 2


def test_sentences_that_arrive_under_load_one_by_one_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.scheduler.GATHER_SECONDS", 60.0)
    monkeypatch.setattr("service.engine.scheduling.scheduler.LONGEST_GATHER", 60.0)  # until the running ones end
    gate = Gate()
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model) as (worker, _):
        running = worker.submit_all([job(*range(3, 13)) for _ in range(20)])
        assert gate.arrived.wait(10)
        later = [worker.submit(job(token)) for token in (20, 21, 22)]
        gate.open()
        assert [future.result(10).hypotheses[0].ids for future in later] == [(20, EOS), (21, EOS), (22, EOS)]
        assert all(future.result(10).hypotheses[0].ids == (*range(3, 13), EOS) for future in running)
    assert [sentences for what, sentences in model.calls if what == "encode"] == [20, 3]


def test_who_left_or_came_too_late_after_being_encoded_is_not_decoded() -> None:
    gate = Gate()
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model, WorkerSettings(Budget(rows=8))) as (worker, _):
        soon = time.monotonic() + 0.05
        running, left, late, patient = worker.submit_all(
            [job(3, beam_size=8), job(4, beam_size=8), job(5, beam_size=8, deadline=soon), job(6, beam_size=8)]
        )
        assert gate.arrived.wait(10)
        assert left.cancel()
        time.sleep(0.06)
        gate.open()
        assert running.result(10).hypotheses[0].ids == (3, EOS)
        assert patient.result(10).hypotheses[0].ids == (6, EOS)
        with pytest.raises(DeadlineExceeded):
            late.result(10)
    assert [sentences for what, sentences in model.calls if what == "encode"] == [4]


def test_an_encoder_run_that_fails_costs_those_in_it_and_nobody_else() -> None:
    gate, failing = Gate(), [False, True, False]

    def fail(what: str, rows: int) -> None:
        gate(what, rows)
        if what == "encode" and failing.pop(0):
            raise RuntimeError("out of luck")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail)) as (worker, _):
        running = worker.submit(job(3))
        assert gate.arrived.wait(10)
        long = [job(*[token] * 63) for token in range(4, 12)]  # 64 tokens each: four in a run
        futures = worker.submit_all(long)
        for future in futures[:4]:
            with pytest.raises(EngineFailure):
                future.result(10)
        gate.open()
        assert running.result(10).hypotheses[0].ids == (3, EOS)
        assert [future.result(10).hypotheses[0].ids[0] for future in futures[4:]] == [8, 9, 10, 11]


def test_running_sentences_do_not_wait_for_the_encoder() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY))
    with working(model) as (worker, _):
        gate, slow = Gate("encode"), Gate("step")
        model.before = slow
        running = worker.submit(job(*range(3, 20)))
        assert slow.arrived.wait(10)
        model.before = gate
        slow.open()
        waiting = worker.submit(job(3))
        assert gate.arrived.wait(10)
        assert running.result(10).hypotheses[0].ids == (*range(3, 20), EOS)
        assert not waiting.done()
        gate.open()
        assert waiting.result(10).hypotheses[0].ids == (3, EOS)


def test_a_request_is_queued_whole_or_refused_whole() -> None:
    gate = Gate("encode")
    settings = WorkerSettings(Budget(queued_sentences=5))
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate), settings) as (worker, recorder):
        running = worker.submit(job(3))
        assert gate.arrived.wait(10)
        waiting = worker.submit_all([job(3), job(4)])
        with pytest.raises(Overloaded) as caught:
            worker.submit_all([job(3)] * 4)
        assert caught.value.retry_after >= 1
        assert queued_in(worker) == 3
        gate.open()
        assert [future.result(10).hypotheses[0].ids for future in [running, *waiting]] == [(3, 2), (3, 2), (4, 2)]
        assert ("rejected", "overloaded") in recorder.events


def test_who_could_not_be_done_in_time_is_refused_at_once() -> None:
    now = [0.0]

    def slow(what: str, rows: int) -> None:
        if what == "step":
            now[0] += 1.0

    gate = Gate("encode")
    settings = WorkerSettings(Budget(rows=8))
    model = ScriptedModel(copying_rule(VOCABULARY), before=slow)
    worker = Worker("toy", model, settings, Recorder(), clock=lambda: now[0])
    worker.start()
    try:
        assert all(each.result(30) for each in worker.submit_all([job(*range(3, 7), beam_size=8)] * 8))
        model.before = gate
        futures = worker.submit_all([job(*range(3, 7), beam_size=8)] * 9)  # 5 tokens and 5 seconds each
        assert gate.arrived.wait(10)
        waiting = queued_in(worker)
        assert waiting >= 8
        worker.check_room()
        worker.check_room(deadline=now[0] + 100)
        for refused in (worker.check_room, lambda deadline: worker.submit(job(3, deadline=deadline))):
            with pytest.raises(Overloaded) as caught:
                refused(now[0] + 60)
            assert 10 <= caught.value.retry_after <= 30
        gate.open()
        assert all(future.result(30) for future in futures)
        worker.check_room(deadline=now[0] + 1)  # no request waits: it may as well be tried
    finally:
        worker.stop()


def test_a_cancelled_sentence_frees_its_rows_before_the_next_step() -> None:
    gate = Gate()
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate)) as (worker, recorder):
        doomed = worker.submit(job(*range(3, 20), beam_size=4))
        assert gate.arrived.wait(10)
        waiting = worker.submit(job(3, 4, beam_size=8))
        assert doomed.cancel()
        assert waiting.cancel()
        gate.open()
        wait_until(lambda: ("cancelled", 2) in recorder.events)
        wait_until(lambda: rows_of(worker) == 0)
        assert worker.submit(job(5)).result(10).hypotheses[0].ids == (5, EOS)
    with pytest.raises(CancelledError):
        doomed.result()


def test_deadlines_hold_for_those_who_run_and_those_who_wait() -> None:
    gate = Gate()
    settings = WorkerSettings(Budget(rows=8))
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate), settings) as (worker, recorder):
        soon = time.monotonic() + 0.05
        running = worker.submit(job(*range(3, 20), beam_size=8, deadline=soon))
        waiting = worker.submit(job(3, beam_size=8, deadline=soon))
        patient = worker.submit(job(3, beam_size=8))
        assert gate.arrived.wait(10)
        time.sleep(0.06)
        gate.open()
        assert patient.result(10).hypotheses
        for late in (running, waiting):
            with pytest.raises(DeadlineExceeded):
                late.result(10)
        assert recorder.events.count(("rejected", "deadline_exceeded")) == 2


@pytest.mark.parametrize("broken", ["encode", "step"])
def test_a_failure_fails_those_in_flight_and_the_next_request_works(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    failing = threading.Event()
    failing.set()

    def fail(what: str, rows: int) -> None:
        if what == broken and failing.is_set():
            failing.clear()
            raise RuntimeError("out of luck")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail)) as (worker, recorder):
        with pytest.raises(EngineFailure):
            worker.submit(job(3, 4)).result(10)
        assert worker.submit(job(5)).result(10).hypotheses[0].ids == (5, EOS)
        assert worker.status.alive
        assert recorder.events.count(("failed",)) == 1
    assert "out of luck" in caplog.text


def test_failures_in_a_row_kill_the_worker_and_answer_everybody() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "step":
            raise RuntimeError("broken for good")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail), WorkerSettings(Budget(rows=8))) as (worker, _):
        futures = submitted_until_dead(worker)
        for future in futures:
            with pytest.raises(EngineFailure):
                future.result(10)
        wait_until(lambda: worker.status.state == "dead" and not worker.status.alive)
        with pytest.raises(NotReady, match="has failed"):
            worker.submit(job(3))


def test_a_broken_decoder_is_not_hidden_by_scoring_that_works() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "step":
            raise RuntimeError("broken for good")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail)) as (worker, _):
        for _ in range(2):
            with pytest.raises(EngineFailure):
                worker.submit(job(3)).result(10)
            assert worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS))).result(10)
            assert worker.status.alive
        with pytest.raises(EngineFailure):
            worker.submit(job(3)).result(10)
        wait_until(lambda: worker.status.state == "dead")


def submitted_until_dead(worker: Worker) -> list[Future[SentenceResult]]:
    futures: list[Future[SentenceResult]] = []
    for _ in range(12):
        try:
            futures.append(worker.submit(job(3, beam_size=8)))
        except NotReady:
            break
    return futures


@pytest.mark.parametrize("way", [SystemExit, KeyboardInterrupt])
def test_a_thread_that_dies_leaves_no_future_unresolved(
    way: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    def die(what: str, rows: int) -> None:
        gate(what, rows)
        if what == "step":
            raise way

    with working(ScriptedModel(copying_rule(VOCABULARY), before=die), WorkerSettings(Budget(rows=8))) as (worker, _):
        futures = [worker.submit(job(3, beam_size=8)) for _ in range(4)]
        forced = worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS)))
        gate.open()
        for future in futures:
            with pytest.raises(EngineFailure):
                future.result(10)
        wait_until(forced.done)  # another thread's: it may have been scored in time
        assert not worker.status.alive
    assert "ended unexpectedly" in caplog.text


def test_a_scoring_thread_that_dies_ends_the_worker_too(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate("force")

    def die(what: str, rows: int) -> None:
        gate(what, rows)
        if what == "force":
            raise SystemExit

    with working(ScriptedModel(copying_rule(VOCABULARY), before=die)) as (worker, _):
        futures = [worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS))) for _ in range(3)]
        gate.open()
        for future in futures:
            with pytest.raises(EngineFailure):
                future.result(10)
        wait_until(lambda: worker.status.state == "dead" and not worker.status.alive)
    assert "ended unexpectedly" in caplog.text


def test_broken_scoring_kills_the_worker_although_nobody_translates() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "force":
            raise RuntimeError("broken for good")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail)) as (worker, _):
        for _ in range(3):
            with pytest.raises(EngineFailure):
                worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS))).result(10)
        wait_until(lambda: worker.status.state == "dead")


def test_translations_do_not_wait_for_the_scoring_of_others() -> None:
    gate = Gate("force")
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate)) as (worker, _):
        forced = worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS)))
        assert worker.submit(job(5)).result(10).hypotheses[0].ids == (5, EOS)
        assert not forced.done()
        gate.open()
        assert forced.result(10)


def test_scoring_that_hangs_stops_the_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.requests.IDLE_SECONDS", 0.01)
    gate = Gate("force")
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate)) as (worker, _):
        forced = worker.submit_scoring(ScoringRequest((3, EOS), (4, EOS)))
        assert gate.arrived.wait(10)
        time.sleep(0.1)  # the other thread's last sign of life may be from before the run
        stopped = worker.status.heartbeat
        time.sleep(0.1)
        assert worker.status.heartbeat == stopped
        gate.open()
        forced.result(10)
        wait_until(lambda: worker.status.heartbeat > stopped)


def test_stopping_lets_those_in_hand_finish_and_refuses_new_ones() -> None:
    gate = Gate()
    worker = Worker("toy", ScriptedModel(copying_rule(VOCABULARY), before=gate))
    worker.start()
    futures = [worker.submit(job(3, 4)) for _ in range(5)]
    stopping = threading.Thread(target=worker.stop, args=(10.0,))
    stopping.start()
    wait_until(lambda: worker.status.state == "draining")
    with pytest.raises(NotReady, match="stopping"):
        worker.submit(job(3))
    gate.open()
    stopping.join(10)
    assert all(future.result(0).hypotheses for future in futures)
    assert worker.status.state == "stopped"
    assert not worker.status.alive


def test_stopping_without_a_drain_answers_every_request() -> None:
    def slow(what: str, rows: int) -> None:
        time.sleep(0.02)

    worker = Worker("toy", ScriptedModel(copying_rule(VOCABULARY), before=slow), WorkerSettings(Budget(rows=8)))
    worker.start()
    futures = [worker.submit(job(*range(3, 20), beam_size=8, max_length=60)) for _ in range(4)]
    worker.stop(drain=0.0)
    for future in futures:
        with pytest.raises(NotReady):
            future.result(0)


def test_nothing_is_accepted_before_the_start() -> None:
    with pytest.raises(NotReady):
        Worker("toy", ScriptedModel(copying_rule(VOCABULARY))).submit(job(3))


def test_what_the_caller_did_wrong_is_said_before_it_is_queued() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY), source_limit=5)
    with working(model) as (worker, _):
        with pytest.raises(EmptyInput):
            worker.submit(SentenceJob((), SearchOptions()))
        with pytest.raises(InputTooLong, match="6 tokens; the model takes 5"):
            worker.submit(job(3, 4, 5, 6, 7))
        with pytest.raises(InputTooLong):
            worker.submit_scoring(ScoringRequest((3, EOS), (3,) * 65))
    assert model.calls == []


def test_forced_jobs_that_wait_together_are_scored_together() -> None:
    gate = Gate("force")
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model) as (worker, _):
        futures = [worker.submit_scoring(ScoringRequest((3, 4, EOS), (3, at, EOS))) for at in range(4, 10)]
        gate.open()
        results = [future.result(10) for future in futures]
    assert [int(result.ranks[1]) == 1 for result in results] == [True] + [False] * 5
    assert results[0].cross_attention.shape == (1, 1, 3, 3)
    assert len([call for call in model.calls if call[0] == "force"]) <= 2


def test_long_forced_jobs_are_scored_a_few_at_a_time() -> None:
    gate = Gate("force")
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model, WorkerSettings(scoring=BatchLimits(jobs=16, tokens=50))) as (worker, _):
        futures = [worker.submit_scoring(ScoringRequest((3,) * 20, (3,) * 20)) for _ in range(4)]
        gate.open()
        assert all(future.result(10).ranks.shape == (20,) for future in futures)
    assert model.calls == [("force", 1)] * 4


def test_the_heartbeat_goes_on_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.engine.scheduling.requests.IDLE_SECONDS", 0.01)
    with working(ScriptedModel(copying_rule(VOCABULARY))) as (worker, _):
        before = worker.status.heartbeat
        wait_until(lambda: worker.status.heartbeat > before + 0.03)


def test_decoders_step_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)  # broken, and an error for everybody, unless two steps overlap

    def meet(what: str, rows: int) -> None:
        if what == "step":
            assert rows == 4
            together.wait()

    with working(ScriptedModel(copying_rule(VOCABULARY), before=meet), WorkerSettings(inter_threads=2)) as (
        worker,
        recorder,
    ):
        futures = worker.submit_all([job(3, 4, beam_size=4), job(5, 6, beam_size=4)])
        assert [future.result(10).hypotheses[0].ids for future in futures] == [(3, 4, EOS), (5, 6, EOS)]
        wait_until(lambda: rows_of(worker) == 0)
    assert ("rows", 8, 2, 0) in recorder.events


def test_the_second_decoder_rests_while_the_first_has_few_rows() -> None:
    stepped: set[str] = set()
    gate = Gate()

    def note(what: str, rows: int) -> None:
        if what == "step":
            stepped.add(threading.current_thread().name)
            gate(what, rows)

    settings = WorkerSettings(inter_threads=2, first_rows=8)
    with working(ScriptedModel(copying_rule(VOCABULARY), before=note), settings) as (worker, _):
        few = worker.submit_all([job(3, 4, beam_size=4), job(5, 6, beam_size=4)])
        assert gate.arrived.wait(10)
        wait_until(lambda: queued_in(worker) == 0)
        assert stepped == {"engine-toy-0"}
        more = worker.submit_all([job(7, 8, beam_size=4), job(9, 10, beam_size=4)])
        wait_until(lambda: len(stepped) == 2)
        gate.open()
        assert [future.result(10).hypotheses[0].ids for future in few + more] == [
            (first, first + 1, EOS) for first in (3, 5, 7, 9)
        ]


def test_a_cancelled_sentence_leaves_whichever_decoder_has_it() -> None:
    gate = Gate()
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate), WorkerSettings(inter_threads=2)) as (
        worker,
        recorder,
    ):
        doomed = worker.submit_all([job(*range(3, 20), beam_size=4) for _ in range(4)])
        assert gate.arrived.wait(10)
        for future in doomed:
            assert future.cancel()
        gate.open()
        wait_until(lambda: rows_of(worker) == queued_in(worker) == 0)
    assert recorder.left == 4


def test_one_broken_decoder_is_not_hidden_by_one_that_works() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "step" and threading.current_thread().name == "engine-toy-1":
            raise RuntimeError("broken for good")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail), WorkerSettings(inter_threads=2)) as (worker, _):
        for _ in range(1000):
            if worker.status.state == "dead":
                break
            for future in submitted_until_dead(worker):
                assert isinstance(future.exception(10), EngineFailure | None)
        wait_until(lambda: worker.status.state == "dead" and not worker.status.alive)


def test_every_decoder_must_have_rows_for_the_widest_beam() -> None:
    with pytest.raises(ValueError, match="3 decode threads need 8 rows each"):
        WorkerSettings(Budget(rows=16), inter_threads=3)


@pytest.mark.parametrize("decoders", [1, 3])
def test_many_callers_who_come_and_go_leave_a_working_engine(decoders: int) -> None:
    settings = WorkerSettings(Budget(rows=40), inter_threads=decoders)
    with working(ScriptedModel(hashed_rule(VOCABULARY)), settings) as (worker, _):
        futures = [worker.submit(job(3 + at % 20, beam_size=1 + at % 4, max_length=6)) for at in range(150)]
        for future in futures[::3]:
            future.cancel()
        assert all(future.cancelled() or future.result(60).hypotheses for future in futures)
        wait_until(lambda: rows_of(worker) == queued_in(worker) == 0)


def test_forced_jobs_that_would_come_up_too_late_are_refused() -> None:
    def slow(what: str, rows: int) -> None:
        if what == "force":
            time.sleep(0.1)

    model = ScriptedModel(copying_rule(VOCABULARY), before=slow)
    pair = ((3, 4, EOS), (3, 4, EOS))
    with working(model, WorkerSettings(scoring=BatchLimits(jobs=1, tokens=50))) as (worker, recorder):
        futures = [worker.submit_scoring(ScoringRequest(*pair, deadline=time.monotonic() + 600)) for _ in range(40)]
        for future in futures[:10]:
            future.result(20)  # by now it is known how long each takes
        with pytest.raises(Overloaded) as refused:
            worker.submit_scoring(ScoringRequest(*pair, deadline=time.monotonic() + 1.0))
        assert refused.value.retry_after >= 1.0
        assert ("rejected", "overloaded") in recorder.events
        futures.append(worker.submit_scoring(ScoringRequest(*pair, deadline=time.monotonic() + 600)))
        futures.append(worker.submit_scoring(ScoringRequest(*pair)))
        for future in futures[10:]:
            future.cancel()


def scored(*ids: int, max_length: int = 20, deadline: float | None = None) -> SentenceJob:
    return replace(job(*ids, max_length=max_length, deadline=deadline), score=WeightSelection((0, 0)))


def test_a_translation_is_answered_with_its_scores_where_it_asks_for_them() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY))
    with working(model) as (worker, recorder):
        plain, whole, cut = worker.submit_all([job(3, 4), scored(3, 4), scored(*range(3, 12), max_length=4)])
        assert plain.result(10).scores is None
        given = worker.submit_scoring(ScoringRequest((3, 4, EOS), (3, 4, EOS))).result(10)
        result = whole.result(10)
        assert result.hypotheses == plain.result(0).hypotheses
        assert result.scores is not None
        assert result.scores.logprobs.tolist() == given.logprobs.tolist()
        assert result.score_seconds > 0
        closed = cut.result(10)
        assert closed.hypotheses[0].ids == (3, 4, 5, 6)  # what is cut off is closed by </s> before it is scored
        assert closed.scores is not None
        assert closed.scores.logprobs.shape == (5,)
    assert ("stage", "score") in recorder.events
    assert len(recorder.finished) == 3


def test_a_translation_that_waits_for_its_scores_can_be_cancelled_or_expire() -> None:
    gate = Gate("force")
    model = ScriptedModel(copying_rule(VOCABULARY), before=gate)
    with working(model) as (worker, recorder):
        first = worker.submit(scored(3))
        assert gate.arrived.wait(10)
        left, late = worker.submit_all([scored(4), scored(5, deadline=time.monotonic() + 0.3)])
        wait_until(lambda: len(recorder.finished) == 3)
        assert left.cancel()
        time.sleep(0.35)
        gate.open()
        assert first.result(10).scores is not None
        with pytest.raises(DeadlineExceeded):
            late.result(10)
    assert [rows for what, rows in model.calls if what == "force"] == [1]


def test_scoring_that_fails_fails_the_translation_it_belongs_to() -> None:
    def fail(what: str, rows: int) -> None:
        if what == "force":
            raise RuntimeError("out of luck")

    with working(ScriptedModel(copying_rule(VOCABULARY), before=fail)) as (worker, _):
        with pytest.raises(EngineFailure):
            worker.submit(scored(3)).result(10)
        assert worker.submit(job(3)).result(10).hypotheses[0].ids == (3, EOS)


def test_a_request_can_be_cancelled_by_its_id() -> None:
    gate = Gate()
    with working(ScriptedModel(copying_rule(VOCABULARY), before=gate)) as (worker, _):
        first, second = worker.submit_all([job(3), job(4)], ids=[70, 71])
        assert gate.arrived.wait(10)
        worker.cancel(71)
        worker.cancel(99)
        gate.open()
        assert first.result(10).hypotheses[0].ids == (3, EOS)
        assert second.cancelled()
        worker.cancel(70)  # answered by now


def test_a_translation_with_too_many_weights_fails_before_it_is_scored() -> None:
    model = ScriptedModel(copying_rule(VOCABULARY))
    with working(model) as (worker, _):
        limited = WeightSelection((0, 0), limit=WeightLimit("cross", 1, 9))
        fits, exceeds = worker.submit_all([replace(job(*ids), score=limited) for ids in ((3, 4), (3, 4, 5))])
        assert fits.result(10).scores is not None
        with pytest.raises(TooManyWeights, match="16 attention weights"):
            exceeds.result(10)
    assert [rows for what, rows in model.calls if what == "force"] == [1]
