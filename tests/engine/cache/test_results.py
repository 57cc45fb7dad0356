"""Finished sentences are kept within a limit of bytes, and those used least recently go first."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from service.engine.cache.results import ResultCache, bytes_of, key_of
from service.engine.jobs import Hypothesis, ScoringResult, SearchOptions, SentenceJob, SentenceResult, WeightSelection
from service.engine.values.constraints import Form, TokenClasses, ValueConstraints

CLASSES = TokenClasses(8, b"\0", b"\0", b"\0")


def job(*ids: int, **others: Any) -> SentenceJob:
    return SentenceJob((*ids, 2), **{"search": SearchOptions(), **others})


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
        key_of("model", job(7, step_weights=True)),
    }
    assert len(keys) == 8
    assert key_of("model", job(7, deadline=3.0)) in keys


def test_the_least_recently_used_results_go_first_and_the_limit_holds() -> None:
    size = bytes_of(key_of("m", job(1)), result())
    cache = ResultCache(20 * size)
    for number in (0, *range(20)):  # the first is put twice, and counted once
        cache.put(key_of("m", job(number)), result())
    assert cache.get(key_of("m", job(0))) is not None  # used again
    cache.put(key_of("m", job(99)), result())
    assert cache.get(key_of("m", job(1))) is None
    assert cache.get(key_of("m", job(0))) is not None
    assert cache.size == (20, 20 * size)


def test_a_result_that_would_displace_many_is_not_kept() -> None:
    cache = ResultCache(64_000)
    cache.put(key_of("m", job(1)), result(weights=2_000))
    assert cache.size == (0, 0)


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
    assert 0.8 * taken < cache.size.bytes < 2.5 * taken
