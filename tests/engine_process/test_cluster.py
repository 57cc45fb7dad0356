"""Real engine processes over a real bundle: the same translations as in this process, and no request waits forever."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.bundle.load import Bundle, load_bundle
from service.engine.errors import BundleIncompatible, DeadlineExceeded, InvalidInput, NotReady, Overloaded
from service.engine.events import EngineEvent, LoadChanged, RequestRejected, SentenceFinished, ignore_event
from service.engine.jobs import ScoringRequest, SentenceResult, WeightSelection
from service.engine.loader import EngineSettings, load_worker
from service.engine.scheduling.interface import SentenceWorker
from service.engine.scheduling.pending import Budget, WorkerSettings
from service.engine_process.client.cluster import EngineCluster
from tests.engine_process.serving import SLOW, engines, jobs, works
from tests.support.polling import PATIENCE, wait_until
from tests.support.toy_onnx import write_toy_bundle

GALLERY_MODEL = Path(__file__).parents[2] / "models" / "gallery" / "gallery-rnn"


@pytest.fixture(scope="module", params=[1, 2])
def cluster(request: pytest.FixtureRequest) -> Iterator[EngineCluster]:
    with engines(request.param) as cluster:
        yield cluster


@pytest.fixture
def events() -> list[EngineEvent]:
    return []


@pytest.fixture
def worker(cluster: EngineCluster, bundle: Bundle, events: list[EngineEvent]) -> Iterator[Any]:
    with opened(cluster, bundle, events=events) as worker:
        yield worker


@contextlib.contextmanager
def opened(
    cluster: EngineCluster,
    bundle: Bundle,
    settings: EngineSettings | None = None,
    events: list[EngineEvent] | None = None,
) -> Iterator[Any]:
    worker, _ = cluster.open(bundle, settings or EngineSettings(), ignore_event if events is None else events.append)
    yield worker
    worker.stop()


def loads(events: list[EngineEvent]) -> list[tuple[int, int, int]]:
    """Return the rows, sentences and queues that were reported."""
    return [(each.rows, each.sentences, each.queued) for each in events if isinstance(each, LoadChanged)]


def finished(events: list[EngineEvent]) -> int:
    return sum(isinstance(each, SentenceFinished) for each in events)


def test_translations_and_attention_are_those_of_the_engine_itself(
    cluster: EngineCluster, bundle: Bundle, worker: Any
) -> None:
    first, *others = jobs(24)
    wanted = WeightSelection((0, 0))
    asked = [replace(first, score=wanted), *others]
    local, placement = load_worker(bundle, EngineSettings(), ignore_event)
    engines: tuple[Any, ...] = (worker, local)
    given, expected = ([future.result(PATIENCE) for future in each.submit_all(asked)] for each in engines)
    assert cluster.open(bundle, EngineSettings(), ignore_event).placement == placement
    for found, known in zip(given, expected, strict=True):
        assert [each.ids for each in found.hypotheses] == [each.ids for each in known.hypotheses]
        known_scores = [each.score for each in known.hypotheses]
        np.testing.assert_allclose([each.score for each in found.hypotheses], known_scores, atol=1e-5)
    target = given[0].hypotheses[0].ids
    scoring = ScoringRequest(first.source_ids, target if target[-1] == 2 else (*target, 2), wanted=wanted)
    beside = given[0].scores  # in one answer with the translation
    for alone in (each.submit_scoring(scoring).result(PATIENCE) for each in engines):
        np.testing.assert_array_equal(alone.cross_attention, beside.cross_attention)
        np.testing.assert_array_equal(alone.logprobs, beside.logprobs)
    local.stop()


def test_events_and_loads_of_all_processes_add_up(worker: Any, events: list[EngineEvent]) -> None:
    for future in worker.submit_all(jobs(20)):
        future.result(PATIENCE)
    wait_until(lambda: finished(events) == 20 and loads(events)[-1] == (0, 0, 0))
    assert max(sentences for _, sentences, _ in loads(events)) <= 20


def test_a_caller_who_leaves_frees_the_place(worker: Any, events: list[EngineEvent]) -> None:
    futures = worker.submit_all([SLOW] * 2000)
    wait_until(lambda: any(rows for rows, _, _ in loads(events)))
    for future in futures:
        future.cancel()
    wait_until(lambda: loads(events)[-1] == (0, 0, 0))
    assert works(worker)
    assert finished(events) < 2000


def submitted(worker: SentenceWorker) -> Future[SentenceResult]:
    """Submit a sentence; a full queue that is known already refuses at once."""
    try:
        return worker.submit_all([SLOW])[0]
    except Overloaded as error:
        refused: Future[SentenceResult] = Future()
        refused.set_exception(error)
        return refused


def test_refusals_come_back_as_what_they_are(cluster: EngineCluster, bundle: Bundle, events: list[EngineEvent]) -> None:
    tight = EngineSettings(worker=WorkerSettings(budget=Budget(rows=8, queued_sentences=1)))
    with opened(cluster, bundle, tight, events) as worker:
        outcomes = [submitted(worker) for _ in range(60)]
        errors = [error for each in outcomes if (error := each.exception(PATIENCE)) is not None]
        assert errors
        assert all(isinstance(error, Overloaded) and error.retry_after >= 1.0 for error in errors)
        wait_until(lambda: not worker.status.queue.full)  # the last report is a moment old
        with pytest.raises(InvalidInput):
            worker.submit_all([replace(SLOW, source_ids=(5,) * 5000)])[0].result(PATIENCE)
        with pytest.raises(DeadlineExceeded):
            worker.submit_all([replace(SLOW, deadline=time.monotonic() - 1)])[0].result(PATIENCE)
        [name] = {each.model for each in events if isinstance(each, LoadChanged)}
        wait_until(lambda: events.count(RequestRejected(name, "overloaded")) == len(errors))


def test_what_runs_may_finish_while_a_worker_drains_which_then_accepts_nothing(worker: Any) -> None:
    drained = worker.submit_all(jobs(8))
    worker.stop(drain=20)
    assert all(future.result(0).hypotheses for future in drained)
    assert worker.status.state == "stopped"
    with pytest.raises(NotReady, match="accepts no requests"):
        worker.submit_all(jobs(1))


def test_nobody_waits_for_a_worker_that_is_stopped(worker: Any) -> None:
    futures = worker.submit_all([SLOW] * 200)
    worker.stop()
    outcomes = {type(future.exception(PATIENCE)) for future in futures}
    assert NotReady in outcomes
    assert outcomes <= {NotReady, type(None)}


def test_a_bundle_that_cannot_be_loaded_is_refused_as_here(cluster: EngineCluster, tmp_path: Path) -> None:
    broken = load_bundle(write_toy_bundle(tmp_path / "toy", broken=True))
    messages = []
    for load in (cluster.open, load_worker):
        with pytest.raises(BundleIncompatible) as refused:
            load(broken, EngineSettings(), ignore_event)
        messages.append(refused.value.message)
    assert messages[0] == messages[1]
