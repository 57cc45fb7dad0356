"""Equal sentences are translated once: finished ones are answered at once, and those in flight share one decode."""

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from service.engine.cache.results import ResultCache
from service.engine.cache.worker import CachedWorker
from service.engine.errors import DeadlineExceeded, EngineFailure, Overloaded
from service.engine.events import EngineEvent, SentencesLookedUp
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob, SentenceResult
from tests.support.fake_worker import MirrorWorker

LONG = tuple(range(100, 130))  # more tokens than a short request has


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Cached:
    """A cached worker in front of one whose sentences the test finishes."""

    def __init__(self, held: bool = True) -> None:
        self.events: list[EngineEvent] = []
        self.clock = Clock()
        self.model = MirrorWorker(held=held)
        self.results = ResultCache(1 << 20)
        self.worker = CachedWorker(self.model, self.results, "scope", "model", self.events.append, self.clock)
        self.worker.start()

    def ask(self, *jobs: SentenceJob) -> list[Future[SentenceResult]]:
        return self.worker.submit_all(jobs)

    @property
    def lookups(self) -> tuple[int, int, int]:
        """Hits, shared and misses so far."""
        found = [event for event in self.events if isinstance(event, SentencesLookedUp)]
        return sum(e.hits for e in found), sum(e.shared for e in found), sum(e.misses for e in found)


@pytest.fixture
def cached() -> Cached:
    return Cached()


def job(*ids: int, **others: Any) -> SentenceJob:
    return SentenceJob((*(ids or (7, 8)), 2), SearchOptions(), **others)


def outcome(queue: float = 1.0, compute: float = 2.0, encode: float = 0.5) -> SentenceResult:
    return SentenceResult((Hypothesis((9, 2), (-0.5, -0.5), -0.5, "eos"),), queue, compute, encode)


def test_a_finished_sentence_is_answered_at_once_and_the_model_sees_it_once(cached: Cached) -> None:
    [first] = cached.ask(job())
    cached.model.futures[0].set_result(outcome())
    [again] = cached.ask(job(deadline=200.0))
    assert again.result(0).hypotheses == first.result(0).hypotheses
    assert len(cached.model.jobs) == 1
    assert cached.lookups == (1, 0, 1)


def test_equal_sentences_in_flight_share_one_decode(cached: Cached) -> None:
    futures = [*cached.ask(job(), job()), *cached.ask(job())]
    assert len(cached.model.jobs) == 1
    cached.model.futures[0].set_result(outcome())
    assert [future.result(0).hypotheses for future in futures] == [outcome().hypotheses] * 3
    assert cached.lookups == (0, 2, 1)


def test_different_options_share_nothing(cached: Cached) -> None:
    cached.ask(job(), replace(job(), search=SearchOptions(beam_size=4)))
    assert len(cached.model.jobs) == 2


def test_cancelling_one_sharer_leaves_the_others_and_the_last_takes_the_decode_with_it(cached: Cached) -> None:
    [first], [second], [third] = (cached.ask(job()) for _ in range(3))
    first.cancel()  # the one that began it
    third.cancel()
    assert not cached.model.futures[0].cancelled()
    second.cancel()
    assert cached.model.futures[0].cancelled()
    [new] = cached.ask(job())  # it begins again
    cached.model.futures[1].set_result(outcome())
    assert new.result(0)


def test_the_remaining_sharers_are_answered(cached: Cached) -> None:
    [first], [second] = cached.ask(job()), cached.ask(job())
    first.cancel()
    cached.model.futures[0].set_result(outcome())
    assert second.result(0).hypotheses == outcome().hypotheses


def test_a_failure_reaches_all_sharers_and_is_not_kept(cached: Cached) -> None:
    futures = [*cached.ask(job()), *cached.ask(job())]
    cached.model.futures[0].set_exception(EngineFailure("A run failed."))
    assert [type(future.exception(0)) for future in futures] == [EngineFailure] * 2
    cached.ask(job())
    assert len(cached.model.jobs) == 2


def test_a_refused_request_leaves_no_trace(cached: Cached) -> None:
    [running] = cached.ask(job(1))
    cached.model.error = Overloaded("The queue is full.")
    with pytest.raises(Overloaded):
        cached.ask(job(1), job(3))
    cached.model.error = None
    cached.ask(job(3))
    assert [each.source_ids for each in cached.model.jobs] == [(1, 2), (3, 2)]
    cached.model.futures[0].set_result(outcome())
    assert running.result(0)


def test_a_request_whose_sentences_are_all_finished_is_answered_even_if_the_queue_is_full(cached: Cached) -> None:
    cached.ask(job())
    cached.model.futures[0].set_result(outcome())
    cached.model.error = Overloaded("The queue is full.")
    assert cached.ask(job())[0].result(0)


def test_a_short_request_does_not_wait_for_the_decode_of_a_long_one(cached: Cached) -> None:
    [shared, other] = cached.ask(job(), job(*LONG))
    [short] = cached.ask(job())
    assert [each.source_ids for each in cached.model.jobs] == [(7, 8, 2), (*LONG, 2), (7, 8, 2)]
    cached.model.futures[2].set_result(outcome())
    assert short.result(0).hypotheses == shared.result(0).hypotheses
    assert cached.model.futures[0].cancelled()  # its rows are free
    assert not other.done()


def test_a_long_request_joins_the_decode_of_a_short_one(cached: Cached) -> None:
    cached.ask(job())
    cached.ask(job(), job(*LONG))
    assert [each.source_ids for each in cached.model.jobs] == [(7, 8, 2), (*LONG, 2)]


def test_a_decode_that_reaches_its_deadline_begins_again_for_sharers_with_more_time(cached: Cached) -> None:
    [_], [second] = cached.ask(job(deadline=101.0)), cached.ask(job(deadline=105.0))
    cached.clock.now = 101.0
    cached.model.futures[0].set_exception(DeadlineExceeded("Too late."))
    assert cached.model.jobs[1].deadline == 105.0
    cached.model.futures[1].set_result(outcome())
    assert second.result(0)


def test_a_decode_that_cannot_begin_again_fails_with_the_reason(cached: Cached) -> None:
    [_], [second] = cached.ask(job(deadline=101.0)), cached.ask(job(deadline=105.0))
    cached.clock.now = 101.0
    cached.model.error = Overloaded("The queue is full.")
    cached.model.futures[0].set_exception(DeadlineExceeded("Too late."))
    assert isinstance(second.exception(0), Overloaded)


def test_a_sharer_sees_only_the_time_since_it_joined(cached: Cached) -> None:
    [first] = cached.ask(job())
    cached.clock.now += 0.75
    [second] = cached.ask(job())
    cached.clock.now += 0.5
    [third] = cached.ask(job())
    cached.model.futures[0].set_result(outcome(queue=1.0, compute=2.0, encode=0.5))
    times = [(r.queue_seconds, r.compute_seconds, r.encode_seconds) for r in map(Future.result, (first, second, third))]
    assert times == [(1.0, 2.0, 0.5), (0.25, 2.0, 0.5), (0.0, 1.75, 0.25)]


def test_a_stream_is_answered_from_finished_sentences_but_joins_none_in_flight(cached: Cached) -> None:
    tokens: list[int] = []
    streamed = job(listener=lambda token, *_: tokens.append(token))
    cached.ask(job())
    [stream] = cached.ask(streamed)
    assert len(cached.model.jobs) == 2
    cached.model.futures[1].set_result(outcome())
    assert stream.result(0)
    assert cached.ask(streamed)[0].result(0)
    assert len(cached.model.jobs) == 2


def test_a_stream_with_weights_is_answered_from_streams_only(cached: Cached) -> None:
    [plain] = cached.ask(job())
    cached.model.futures[0].set_result(outcome())
    assert plain.result(0).step_weights is None
    [stream] = cached.ask(job(step_weights=True))
    cached.model.futures[1].set_result(replace(outcome(), step_weights=np.ones((2, 3), np.float32)))
    [again] = cached.ask(job(step_weights=True))
    weights = [future.result(0).step_weights for future in (stream, again)]
    assert [None if each is None else each.tolist() for each in weights] == [[[1, 1, 1], [1, 1, 1]]] * 2
    assert len(cached.model.jobs) == 2


def test_a_warm_up_reaches_the_model_and_is_not_kept(cached: Cached) -> None:
    for _ in range(2):
        cached.ask(job(fresh=True))
        cached.model.futures[-1].set_result(outcome())
    assert len(cached.model.jobs) == 2
    assert cached.results.size.entries == 0


def test_a_replaced_model_takes_its_results_with_it_and_a_closed_one_does_not(cached: Cached) -> None:
    cached.ask(job())
    cached.model.futures[0].set_result(outcome())
    cached.worker.close()
    cached.worker.retire()  # the translator of the closed model is gone
    assert cached.results.size.entries == 1
    other = CachedWorker(cached.model, cached.results, "scope", "model")
    other.retire()
    assert cached.results.size.entries == 0


def test_a_finished_stream_answers_the_same_greedy_translation_and_no_other(cached: Cached) -> None:
    greedy = SentenceJob((7, 8, 2), SearchOptions(beam_size=1))
    cached.ask(replace(greedy, step_weights=True))
    cached.model.futures[0].set_result(replace(outcome(), step_weights=np.ones((2, 3), np.float32)))
    [plain] = cached.ask(greedy)
    assert plain.result(0).hypotheses == outcome().hypotheses
    assert cached.lookups == (1, 0, 1)
    cached.ask(replace(greedy, search=SearchOptions(beam_size=1, length_penalty=0.5)), job(9))
    assert cached.lookups == (1, 0, 3)
