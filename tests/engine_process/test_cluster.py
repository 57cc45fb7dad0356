"""Real engine processes over a real bundle: the same translations as in this process, and no request waits forever."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.bundle.load import Bundle, load_bundle
from service.engine.errors import (
    BundleIncompatible,
    DeadlineExceeded,
    EngineFailure,
    Interrupted,
    InvalidInput,
    NotReady,
    Overloaded,
)
from service.engine.events import EngineEvent, LoadChanged, RequestRejected, SentenceFinished
from service.engine.jobs import FloatArray, ScoringRequest, SearchOptions, SentenceJob, WeightSelection
from service.engine.loader import EngineSettings, LoadedWorker, load_worker
from service.engine.model_info import WorkerState
from service.engine.scheduling.admission import WorkerStatus
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.scheduler import Budget
from service.engine.scheduling.worker import Worker
from service.engine_process.client import restarts
from service.engine_process.client import supervisor as parent
from service.engine_process.client.cluster import EngineCluster, WorkerPool
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.protocol import StatusReport
from tests.support.polling import wait_until
from tests.support.toy_onnx import VOCABULARY, write_toy_bundle

GALLERY_MODEL = Path(__file__).parents[2] / "models" / "gallery" / "gallery-rnn"

SLOW = SearchOptions(beam_size=4, max_length=120, min_length=110)


class Listener:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.finished: list[SentenceFinished] = []
        self.loads: list[tuple[int, int, int]] = []
        self.rejections: list[str] = []

    def __call__(self, event: EngineEvent) -> None:
        match event:
            case SentenceFinished():
                self.finished.append(event)
            case LoadChanged(_, rows, sentences, queued):
                self.loads.append((rows, sentences, queued))
            case RequestRejected(_, reason):
                self.rejections.append(reason)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return load_bundle(write_toy_bundle(tmp_path_factory.mktemp("toy") / "toy"))


@pytest.fixture(scope="module", params=[1, 2])
def fleet(request: pytest.FixtureRequest) -> Iterator[EngineCluster]:
    with EngineCluster(request.param) as fleet:
        yield fleet


@contextlib.contextmanager
def opened(
    fleet: EngineCluster, bundle: Bundle, settings: EngineSettings | None = None, listener: Listener | None = None
) -> Iterator[Any]:
    worker, _ = fleet.open(bundle, settings or EngineSettings(), listener or Listener())
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def jobs(count: int, **search: Any) -> list[SentenceJob]:
    options = SearchOptions(**{"beam_size": 4, "max_length": 24, "n_best": 3} | search)
    generator = np.random.default_rng(7)
    sources = [tuple(generator.integers(4, VOCABULARY, size=3 + number % 9).tolist()) for number in range(count)]
    return [SentenceJob((*source, 2), options) for source in sources]


def here(bundle: Bundle) -> LoadedWorker[Worker]:
    return load_worker(bundle, EngineSettings(), Listener())


def test_translations_are_those_of_the_engine_itself(fleet: EngineCluster, bundle: Bundle) -> None:
    asked = jobs(24)
    local, placement = here(bundle)
    local.start()
    with opened(fleet, bundle) as worker:
        assert fleet.open(bundle, EngineSettings(), Listener()).placement == placement
        given = [future.result(20).hypotheses for future in worker.submit_all(asked)]
    expected = [future.result(20).hypotheses for future in local.submit_all(asked)]
    local.stop()
    assert [[each.ids for each in found] for found in given] == [[each.ids for each in found] for found in expected]
    for found, known in zip(given, expected, strict=True):
        np.testing.assert_allclose([each.score for each in found], [each.score for each in known], atol=1e-5)


def test_attention_is_that_of_the_engine_itself(fleet: EngineCluster, bundle: Bundle) -> None:
    job = ScoringRequest((5, 6, 7, 2), (8, 9, 2))
    local, _ = here(bundle)
    local.start()
    with opened(fleet, bundle) as worker:
        given, expected = worker.submit_scoring(job).result(20), local.submit_scoring(job).result(20)
    local.stop()
    np.testing.assert_array_equal(given.cross_attention, expected.cross_attention)
    np.testing.assert_array_equal(given.logprobs, expected.logprobs)


def test_a_translation_and_its_scores_come_in_one_answer(fleet: EngineCluster, bundle: Bundle) -> None:
    [plain] = jobs(1)
    with opened(fleet, bundle) as worker:
        result = worker.submit_all([replace(plain, score=WeightSelection((0, 0)))])[0].result(20)
        target = result.hypotheses[0].ids
        target = target if target[-1] == 2 else (*target, 2)
        given = worker.submit_scoring(ScoringRequest(plain.source_ids, target, wanted=WeightSelection((0, 0)))).result(
            20
        )
    np.testing.assert_array_equal(result.scores.logprobs, given.logprobs)
    np.testing.assert_array_equal(result.scores.cross_attention, given.cross_attention)


def test_tokens_are_told_as_they_are_chosen(fleet: EngineCluster, bundle: Bundle) -> None:
    heard: list[int] = []
    search = SearchOptions(beam_size=1, max_length=24)
    job = SentenceJob((5, 6, 7, 2), search, listener=lambda token, *_: heard.append(token))
    with opened(fleet, bundle) as worker:
        [future] = worker.submit_all([job])
        ids = future.result(20).hypotheses[0].ids
    assert heard
    assert heard == list(ids[: len(heard)])


def test_weights_of_steps_come_with_their_tokens_and_with_the_result(fleet: EngineCluster) -> None:
    rows: list[FloatArray | None] = []
    search = SearchOptions(beam_size=1, max_length=8)
    job = SentenceJob((5, 6, 7, 2), search, listener=lambda *told: rows.append(told[2]), step_weights=True)
    with opened(fleet, load_bundle(GALLERY_MODEL)) as worker:
        [future] = worker.submit_all([job])
        result = future.result(20)
    weights = result.step_weights
    assert weights is not None
    assert weights.shape == (len(result.hypotheses[0].ids), len(job.source_ids))
    assert rows
    assert all(row is not None and np.array_equal(row, own) for row, own in zip(rows, weights, strict=False))


def test_events_and_loads_of_all_processes_add_up(fleet: EngineCluster, bundle: Bundle) -> None:
    listener = Listener()
    with opened(fleet, bundle, listener=listener) as worker:
        for future in worker.submit_all(jobs(20)):
            future.result(20)
        wait_until(lambda: len(listener.finished) == 20 and listener.loads[-1] == (0, 0, 0))
    assert max(sentences for _, sentences, _ in listener.loads) <= 20


def test_a_caller_who_leaves_frees_the_place(fleet: EngineCluster, bundle: Bundle) -> None:
    listener = Listener()
    with opened(fleet, bundle, listener=listener) as worker:
        futures = worker.submit_all([SentenceJob((5, 6, 2), SLOW)] * 2000)
        wait_until(lambda: any(rows for rows, _, _ in listener.loads))
        for future in futures:
            future.cancel()
        wait_until(lambda: listener.loads[-1] == (0, 0, 0))
        assert worker.submit_all(jobs(1))[0].result(20).hypotheses
    assert len(listener.finished) < 2000


def test_refusals_come_back_as_what_they_are(fleet: EngineCluster, bundle: Bundle) -> None:
    tight = EngineSettings(worker=WorkerSettings(budget=Budget(rows=8, queued_sentences=1)))
    listener = Listener()
    with opened(fleet, bundle, tight, listener) as worker:
        futures = [worker.submit_all([SentenceJob((5, 6, 2), SLOW)])[0] for _ in range(60)]
        errors = [error for future in futures if (error := future.exception(60)) is not None]
        assert {type(error) for error in errors} == {Overloaded}
        assert all(error.retry_after >= 1.0 for error in errors if isinstance(error, Overloaded))
        wait_until(lambda: not worker.status.queue.full)  # the last report is a moment old
        with pytest.raises(InvalidInput):
            worker.submit_all([SentenceJob((5,) * 5000, SLOW)])[0].result(20)
        with pytest.raises(DeadlineExceeded):
            worker.submit_all([SentenceJob((5, 6, 2), SLOW, deadline=time.monotonic() - 1)])[0].result(20)
        wait_until(lambda: listener.rejections.count("overloaded") == len(errors))


def test_nobody_waits_for_a_worker_that_is_stopped(fleet: EngineCluster, bundle: Bundle) -> None:
    with opened(fleet, bundle) as worker:
        futures = worker.submit_all([SentenceJob((5, 6, 2), SLOW)] * 200)
    outcomes = {type(future.exception(10)) for future in futures}
    assert NotReady in outcomes
    assert outcomes <= {NotReady, type(None)}
    assert worker.status.state == "stopped"
    with pytest.raises(NotReady, match="accepts no requests"):
        worker.submit_all(jobs(1))


def test_what_runs_may_finish_while_it_drains(fleet: EngineCluster, bundle: Bundle) -> None:
    worker, _ = fleet.open(bundle, EngineSettings(), Listener())
    worker.start()
    futures = worker.submit_all(jobs(8))
    worker.stop(drain=20)
    assert all(future.result(0).hypotheses for future in futures)


def test_a_bundle_that_cannot_be_loaded_is_refused_as_here(fleet: EngineCluster, tmp_path: Path) -> None:
    broken = load_bundle(write_toy_bundle(tmp_path / "toy", broken=True))
    with pytest.raises(BundleIncompatible) as refused:
        fleet.open(broken, EngineSettings(), Listener())
    with pytest.raises(BundleIncompatible) as expected:
        here(broken)
    assert refused.value.message == expected.value.message


def test_a_process_that_is_killed_is_restarted_in_place(bundle: Bundle) -> None:
    told: list[str] = []
    with EngineCluster(1, on_restart=told.append) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        expected = worker.submit_all(jobs(3))[2].result(20).hypotheses[0].ids
        futures = worker.submit_all([SentenceJob((5, 6, 2), SLOW)] * 60)
        [victim] = fleet.process_ids
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: worker.status.state == "restarting")
        assert Interrupted in {type(future.exception(30)) for future in futures}
        with pytest.raises(NotReady, match="being restarted"):
            worker.check_room()
        wait_until(lambda: worker.status.state == "running")
        assert worker.submit_all(jobs(3))[2].result(20).hypotheses[0].ids == expected
        assert fleet.process_ids != [victim]
        assert told == ["process"]
        another, _ = fleet.open(bundle, EngineSettings(), Listener())
        another.retire()
        worker.stop()


def test_the_others_go_on_while_one_process_is_restarted(bundle: Bundle) -> None:
    with EngineCluster(2) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        worker.submit_all(jobs(1))[0].result(20)
        assert isinstance(worker, WorkerPool)
        members, (victim, other) = worker._workers, fleet.process_ids
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: members[0].status.state != "running")
        for _ in range(20):
            assert worker.status.state == "running"
            assert worker.submit_all(jobs(1))[0].result(20).hypotheses
        wait_until(lambda: members[0].status.state == "running")
        assert fleet.process_ids[0] != victim
        assert fleet.process_ids[1] == other
        worker.stop()


def test_a_process_that_never_lasts_is_given_up(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "MOST_IN_A_ROW", 2)
    told: list[str] = []
    with EngineCluster(1, on_restart=told.append) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        for _ in range(3):
            wait_until(lambda: worker.status.state == "running")
            [victim] = fleet.process_ids
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: worker.status.state != "running")
        wait_until(lambda: worker.status.state == "dead")
        assert told == ["process", "process", "given_up"]
        with pytest.raises(NotReady, match="has failed"):
            worker.check_room()
        with pytest.raises(EngineFailure):
            fleet.open(bundle, EngineSettings(), Listener())
        worker.stop()


def test_a_model_that_fails_is_loaded_anew_beside_the_others(bundle: Bundle) -> None:
    told: list[str] = []
    with EngineCluster(1, on_restart=told.append) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        well, _ = fleet.open(bundle, EngineSettings(), Listener())
        for each in (worker, well):
            each.start()
        running = well.submit_all([SentenceJob((5, 6, 2), SLOW)] * 20)
        [process] = fleet._processes
        assert isinstance(worker, RemoteWorker)
        process._receive(StatusReport(worker.number, WorkerStatus(WorkerState.DEAD, False, time.monotonic())))
        assert worker.status.state == "restarting"
        assert well.submit_all(jobs(1))[0].result(20).hypotheses
        wait_until(lambda: worker.status.state == "running")
        assert worker.submit_all(jobs(1))[0].result(20).hypotheses
        assert all(future.result(60).hypotheses for future in running)
        assert told == ["model"]
        for each in (worker, well):
            each.stop()


def test_a_model_that_keeps_failing_is_given_up_beside_the_others(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST_IN_A_ROW", 1)
    told: list[str] = []
    with EngineCluster(1, on_restart=told.append) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        well, _ = fleet.open(bundle, EngineSettings(), Listener())
        for each in (worker, well):
            each.start()
        [process] = fleet._processes
        assert isinstance(worker, RemoteWorker)
        for state in ("running", "dead"):
            process._receive(StatusReport(worker.number, WorkerStatus(WorkerState.DEAD, False, time.monotonic())))
            assert worker.status.state == "restarting"
            wait_until(lambda state=state: worker.status.state == state)  # type: ignore[misc]
        assert told == ["model", "given_up"]
        assert well.submit_all(jobs(1))[0].result(20).hypotheses
        well.stop()


def test_a_model_that_was_exchanged_on_the_disk_is_not_mixed_with_the_one_that_was_lost(tmp_path: Path) -> None:
    bundle = load_bundle(write_toy_bundle(tmp_path / "toy"))
    other = load_bundle(write_toy_bundle(tmp_path / "other"))
    with EngineCluster(1) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        well, _ = fleet.open(other, EngineSettings(), Listener())
        for each in (worker, well):
            each.start()
        manifest = bundle.folder / "manifest.json"
        manifest.write_text(manifest.read_text("utf-8") + " ", "utf-8")
        os.kill(fleet.process_ids[0], signal.SIGKILL)
        wait_until(lambda: worker.status.state == "dead" and well.status.state == "running")
        assert well.submit_all(jobs(1))[0].result(20).hypotheses
        for each in (worker, well):
            each.stop()


def test_a_process_that_is_stopped_is_replaced_after_five_seconds(bundle: Bundle) -> None:
    with EngineCluster(1) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        worker.submit_all(jobs(1))[0].result(20)
        [victim] = fleet.process_ids
        os.kill(victim, signal.SIGSTOP)
        begun = time.monotonic()
        wait_until(lambda: victim not in fleet.process_ids)
        assert parent.SILENT_SECONDS <= time.monotonic() - begun + 1 < 15  # it was forty-five
        wait_until(lambda: worker.status.state == "running" and len(fleet.process_ids) == 1)
        assert worker.submit_all(jobs(1))[0].result(20).hypotheses
        worker.stop()


def test_a_bundle_whose_load_hangs_is_refused_in_time_and_the_others_serve(bundle: Bundle) -> None:
    with EngineCluster(1) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        [process] = fleet.process_ids
        os.kill(process, signal.SIGSTOP)  # so that nothing is loaded for the time being
        with pytest.raises(EngineFailure, match=r"within 0\.5 seconds"):
            fleet.open(bundle, EngineSettings(load_seconds=0.5), Listener())
        os.kill(process, signal.SIGCONT)
        wait_until(lambda: worker.submit_all(jobs(1))[0].exception(20) is None)
        assert fleet.open(bundle, EngineSettings(), Listener()).placement
        worker.stop()


def test_a_process_that_hangs_shows_no_sign_of_life(bundle: Bundle) -> None:
    with EngineCluster(1) as fleet:
        worker, _ = fleet.open(bundle, EngineSettings(), Listener())
        worker.start()
        begun = worker.status.heartbeat
        wait_until(lambda: worker.status.heartbeat > begun)
        [process] = fleet.process_ids
        os.kill(process, signal.SIGSTOP)
        time.sleep(0.5)
        shown = worker.status.heartbeat
        time.sleep(1.5)
        assert worker.status.heartbeat == shown
        os.kill(process, signal.SIGCONT)
        wait_until(lambda: worker.status.heartbeat > shown)
        worker.stop()


def test_processes_end_with_whoever_started_them(bundle: Bundle) -> None:
    program = (
        "import time\nfrom service.engine_process.client.cluster import EngineCluster\n"
        "with EngineCluster(2) as fleet:\n    print(*fleet.process_ids, flush=True)\n    time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    time.sleep(1.0)
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(Path(f"/proc/{child}/cmdline").exists() and _lives(child) for child in children))
    parent.stdout.close()


def _lives(process: int) -> bool:
    state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    return state != "Z"
