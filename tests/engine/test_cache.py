"""Equal sentences are translated once: finished ones are kept within a limit of bytes, those of a call are shared."""

import contextvars
import tracemalloc
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.cache import CachedWorker, ResultCache, bytes_of, key_of, result_owner
from service.engine.errors import EngineFailure, Overloaded
from service.engine.events import EngineEvent, SentencesLookedUp
from service.engine.jobs import Hypothesis, ScoringResult, SearchOptions, SentenceJob, SentenceResult, WeightSelection
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints
from tests.support.fake_worker import MirrorWorker

FULL = Overloaded("The queue is full.")
OUTCOME = SentenceResult((Hypothesis((9, 2), (-0.5, -0.5), -0.5, "eos"),), 1.0, 2.0, 0.5)


class Cached:
    """A cached worker in front of one whose sentences the test finishes."""

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []
        self.model = MirrorWorker(held=True)
        self.results = ResultCache(1 << 20)
        self.worker = self.for_model("scope")

    def for_model(self, scope: str) -> CachedWorker:
        return CachedWorker(self.model, self.results, scope, "model", self.events.append)

    def ask(self, *jobs: SentenceJob) -> list[Future[SentenceResult]]:
        return self.worker.submit_all(jobs)

    def finish(self, number: int = -1, result: SentenceResult = OUTCOME) -> None:
        """Let the model finish a sentence: the last one, or this."""
        self.model.futures[number].set_result(result)

    @property
    def asked_of_model(self) -> list[tuple[int, ...]]:
        return [job.source_ids[:-1] for job in self.model.jobs]

    @property
    def lookups(self) -> tuple[int, int, int]:
        """Hits, shared and misses so far."""
        found = [event for event in self.events if isinstance(event, SentencesLookedUp)]
        return sum(e.hits for e in found), sum(e.shared for e in found), sum(e.misses for e in found)


@pytest.fixture
def cached() -> Cached:
    return Cached()


def job(*ids: int, **others: Any) -> SentenceJob:
    return SentenceJob((*(ids or (7, 8)), 2), **{"search": SearchOptions(), **others})


def test_a_finished_sentence_is_answered_at_once_and_the_model_sees_it_once(cached: Cached) -> None:
    [first] = cached.ask(job())
    cached.finish(result=replace(OUTCOME, score_seconds=0.25))
    [again] = cached.ask(job(deadline=200.0))
    assert first.result(0).score_seconds == 0.25
    assert again.result(0) == SentenceResult(OUTCOME.hypotheses, 0.0, 0.0)  # no time of the translation
    assert len(cached.model.jobs) == 1
    assert cached.lookups == (1, 0, 1)


def test_equal_sentences_of_a_call_share_one_decode(cached: Cached) -> None:
    futures = cached.ask(job(), job(search=SearchOptions(beam_size=4)), job())
    assert len(cached.model.jobs) == 2
    cached.finish(0)
    assert [future.done() for future in futures] == [True, False, True]
    assert futures[0].result(0) == futures[2].result(0) == OUTCOME
    assert cached.lookups == (0, 1, 2)


def test_a_failure_reaches_all_sharers_and_is_not_kept(cached: Cached) -> None:
    futures = cached.ask(job(), job())
    cached.model.futures[0].set_exception(EngineFailure("A run failed."))
    assert [type(future.exception(0)) for future in futures] == [EngineFailure] * 2
    [again] = cached.ask(job())
    again.cancel()
    cached.ask(job())
    assert len(cached.model.jobs) == 3


def test_a_refused_request_leaves_no_trace_and_finished_sentences_are_not_refused(cached: Cached) -> None:
    [running] = cached.ask(job(1))
    cached.finish()
    cached.model.error = FULL
    with pytest.raises(Overloaded):
        cached.ask(job(1), job(3))
    assert running.result(0)
    assert cached.ask(job(1))[0].result(0)
    cached.model.error = None
    cached.ask(job(3))
    assert cached.asked_of_model == [(1,), (3,)]


def test_a_warm_up_reaches_the_model_and_is_not_kept(cached: Cached) -> None:
    for _ in range(2):
        cached.ask(job(fresh=True))
        cached.finish()
    assert len(cached.model.jobs) == 2
    assert len(cached.results) == 0


CLASSES = TokenClasses(8, b"\0", b"\0", b"\0")


def result(tokens: int = 10, weights: int = 0) -> SentenceResult:
    ids = tuple(range(1_000, 1_000 + tokens))
    scores = None
    if weights:
        row = np.zeros(tokens, np.float32)
        scores = ScoringResult(row, np.ones(tokens, np.int64), np.zeros((1, 1, 1, weights), np.float32), None, None)
    hypothesis = Hypothesis(ids, tuple(-0.1 * number for number in range(tokens)), -0.5, "eos")
    return SentenceResult((hypothesis,), 0.25, 0.5, 0.125, scores, 0.0625)


def test_whatever_a_translation_depends_on_is_in_its_key_and_the_deadline_is_not() -> None:
    keys = {
        key_of("model", job(7)),
        key_of("other model", job(7)),
        key_of("model", job(8)),
        key_of("model", job(7, search=SearchOptions(beam_size=2))),
        key_of("model", job(7, search=SearchOptions(max_length=9))),
        key_of("model", job(7, score=WeightSelection((1, 0)))),
        key_of("model", job(7, values=ValueConstraints(((Form((5,), False),),), (True,), True, CLASSES))),
    }
    assert len(keys) == 7
    assert key_of("model", job(7, deadline=3.0)) in keys
    another = contextvars.copy_context()
    another.run(result_owner.set, "another client")
    assert another.run(key_of, "model", job(7)) not in keys


def test_the_least_recently_used_results_go_first_and_the_limit_holds() -> None:
    size = bytes_of(key_of("m", job(1)), result())
    cache = ResultCache(20 * size)
    for number in (0, *range(20)):  # the first is put twice, and counted once
        cache.put(key_of("m", job(number)), result())
    assert cache.get(key_of("m", job(0))) is not None  # used again
    cache.put(key_of("m", job(99)), result())
    assert cache.get(key_of("m", job(1))) is None
    assert cache.get(key_of("m", job(0))) is not None
    assert (len(cache), cache.bytes) == (20, 20 * size)


def test_a_result_that_would_displace_many_is_not_kept() -> None:
    cache = ResultCache(64_000)
    cache.put(key_of("m", job(1)), result(weights=2_000))
    assert (len(cache), cache.bytes) == (0, 0)


def test_the_weights_of_a_kept_result_cannot_be_changed() -> None:
    kept = result(weights=4)
    ResultCache(1 << 20).put(key_of("m", job(1)), kept)
    assert kept.scores is not None
    with pytest.raises(ValueError, match="read-only"):
        kept.scores.cross_attention[0] = 1.0


def test_the_estimate_covers_the_memory_that_entries_really_take() -> None:
    cache, count = ResultCache(1 << 30), 500
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(count):
        own = job(*range(1_000 + 20 * number, 1_012 + 20 * number), search=SearchOptions(max_length=number))
        cache.put(key_of("m", own), result(12))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    taken = after - before
    assert 0.8 * taken < cache.bytes < 2.5 * taken
