"""The search alone, driven by a rule: what it finds, when it stops, and that sentences do not see each other."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.manifest import DecodingDefaults, EarlyStopping
from service.bundle.repetition import FURTHER, LEAST_RUN, MAX_PERIOD
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.search.options import complete, search_options
from service.engine.search.repetition import RepetitionGuard
from service.engine.types import TranslationOptions
from tests.support.decoding import decode, search
from tests.support.fake_model import EOS, Rule, ScriptedModel, copying_rule, hashed_rule, normalised

ENDINGS: list[EarlyStopping | None] = [None, False, True, "never"]


def scored(rule: Rule, source: tuple[int, ...], ids: tuple[int, ...], options: SearchOptions) -> Hypothesis:
    """Return the hypothesis with these tokens, as its score is defined."""
    given = len(options.prefix)
    logprobs = tuple(0.0 if at < given else float(rule(source, ids[:at])[token]) for at, token in enumerate(ids))
    score = sum(logprobs) / len(ids) ** options.length_penalty
    return Hypothesis(ids, logprobs, score, "eos" if ids[-1] == EOS else "length")


def exhaustive(rule: Rule, source: tuple[int, ...], vocabulary: int, options: SearchOptions) -> list[Hypothesis]:
    """Score every possible output, best first."""
    found = []
    for length in range(1, options.max_length + 1):
        for ids in itertools.product(range(2, vocabulary), repeat=length):
            ends = ids[-1] == EOS or length == options.max_length
            if EOS not in ids[:-1] and ends and ids[: len(options.prefix)] == options.prefix:
                found.append(scored(rule, source, ids, options))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def greedy(rule: Rule, source: tuple[int, ...], options: SearchOptions) -> Hypothesis:
    """Take the likeliest token at every step, as greedy search is defined."""
    ids: tuple[int, ...] = ()
    while len(ids) < options.max_length and ids[-1:] != (EOS,):
        own = int(rule(source, ids).argmax())
        ids += (options.prefix[len(ids)] if len(ids) < len(options.prefix) else own,)
    return scored(rule, source, ids, options)


def assert_same(found: Hypothesis, expected: Hypothesis) -> None:
    assert (found.ids, found.finish_reason) == (expected.ids, expected.finish_reason)
    assert found.score == pytest.approx(expected.score, rel=1e-5)
    assert found.logprobs == pytest.approx(expected.logprobs, rel=1e-5)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(3, 10_000),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    prefix=st.sampled_from([(), (3,), (4, 3)]),
)
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed: int, penalty: float, prefix: tuple[int, ...]) -> None:
    # Two words and </s>, at most three tokens: eight slots hold every prefix there is.
    rule, source = hashed_rule(5), (seed, EOS)
    options = SearchOptions(beam_size=8, length_penalty=penalty, max_length=3, prefix=prefix, n_best=3)
    [found] = search(rule, [source], options)
    for hypothesis, expected in zip(found, exhaustive(rule, source, 5, options)[:3], strict=True):
        assert_same(hypothesis, expected)


@pytest.mark.parametrize("prefix", [(), (6, 3, 5)])
def test_a_beam_of_one_is_greedy_search(prefix: tuple[int, ...]) -> None:
    options = SearchOptions(1, length_penalty=0.7, max_length=9, prefix=prefix, repetition_guard=False)
    rule, sources = hashed_rule(7), [(3 + at, EOS) for at in range(30)]
    found = [hypothesis for [hypothesis] in search(rule, sources, options)]
    for hypothesis, source in zip(found, sources, strict=True):
        assert_same(hypothesis, greedy(rule, source, options))
    assert {hypothesis.finish_reason for hypothesis in found} == {"eos", "length"}


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 8),
    count=st.integers(2, 12),
    apart=st.integers(0, 5),
    ending=st.sampled_from(ENDINGS),
)
def test_a_sentence_gets_the_same_numbers_alone_and_in_company(
    seed: int, beam_size: int, count: int, apart: int, ending: EarlyStopping | None
) -> None:
    rule = hashed_rule(9, temperature=0.7)
    options = SearchOptions(beam_size=beam_size, max_length=12, n_best=beam_size, early_stopping=ending)
    jobs = [
        SentenceJob((seed, at, *range(3, 3 + at % 4), EOS), replace(options, prefix=(5, 4, 3)[: at % 5 - 1]))
        for at in range(count)
    ]
    together = decode(ScriptedModel(rule), jobs, [at * apart for at in range(count)])
    assert together == [decode(ScriptedModel(rule), [job])[0] for job in jobs]


def best_score(seed: int, beam_size: int, ending: EarlyStopping | None) -> float:
    options = SearchOptions(beam_size, length_penalty=1.0, max_length=20, early_stopping=ending)
    [[best]] = search(hashed_rule(7, temperature=0.9), [(seed, EOS)], options)
    return best.score


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), beam_size=st.integers(2, 5))
def test_a_search_that_waits_longer_never_finds_a_lower_score(seed: int, beam_size: int) -> None:
    never, false, true, own = (best_score(seed, beam_size, ending) for ending in ("never", False, True, None))
    assert never >= false >= true
    assert never >= own


def test_the_rules_end_searches_at_different_times_and_greedy_ones_alike() -> None:
    scores = {ending: [best_score(seed, 4, ending) for seed in range(30)] for ending in ENDINGS}
    assert scores["never"] > scores[False] > scores[True]  # somewhere each waits for something better
    assert scores[None] != scores[False]
    assert len({tuple(best_score(seed, 1, ending) for seed in range(20)) for ending in ENDINGS}) == 1


@pytest.mark.parametrize("beam_size", [1, 2, 4, 8])
def test_a_finished_hypothesis_is_replaced_by_a_live_one(beam_size: int) -> None:
    def tempting(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        """Return </s> as second best at each step: a beam that lost its slots to it would not find the long one."""
        logits = np.full(30, -4.0)
        logits[EOS] = 4.0
        logits[3 + len(prefix) if len(prefix) < 6 else EOS] = 5.0
        return normalised(logits)

    [found] = search(tempting, [(3, EOS)], SearchOptions(beam_size, max_length=30, n_best=beam_size))
    assert len({hypothesis.ids for hypothesis in found}) == len(found) == beam_size
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert found[0].ids == (*range(3, 9), EOS)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_model_that_loops_is_led_out_of_the_loop_only_with_the_guard(beam_size: int) -> None:
    def looping(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        logits = np.zeros(12)
        logits[3 + len(prefix) % 3] = 12.0
        logits[EOS] = 2.0
        return normalised(logits)

    model, guards = ScriptedModel(looping), (False, True, False)
    jobs = [SentenceJob((5, EOS), SearchOptions(beam_size, max_length=60, repetition_guard=each)) for each in guards]
    free, guarded, other = decode(model, jobs)
    assert free.ids == other.ids == (3, 4, 5) * 20
    assert len(guarded.ids) < 40
    assert guarded.finish_reason == "eos"
    assert [guarded] == decode(model, jobs[1:2])


def test_a_source_that_repeats_itself_may_be_repeated() -> None:
    source = (*[7] * 40, EOS)
    [[hypothesis]] = search(copying_rule(12), [source], SearchOptions(4, max_length=60))
    assert hypothesis.ids == source


@pytest.mark.parametrize(
    ("own", "wanted", "settled"),
    [(None, None, True), (False, None, False), (False, True, True), (None, False, False)],
)
def test_the_guard_is_the_models_own_unless_the_request_says_otherwise(
    own: bool | None, wanted: bool | None, settled: bool
) -> None:
    options = complete(TranslationOptions(repetition_guard=wanted), DecodingDefaults(repetition_guard=own))
    assert search_options(options, 5, 100).repetition_guard is settled


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_sentence_with_nothing_left_to_say_ends_as_it_stands(beam_size: int, length: int) -> None:
    def silent(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        values = np.full(6, -1e9, np.float32)
        values[4] = 0.0 if len(prefix) < length else -1e9
        return values

    [[hypothesis]] = search(silent, [(3, EOS)], SearchOptions(beam_size, max_length=20))
    assert (hypothesis.ids, hypothesis.finish_reason) == ((4,) * length, "length")


FOREVER = 300
SOURCE = (5, 6, 2)


@pytest.mark.parametrize(
    ("period", "source", "allowed"),
    [
        *((period, SOURCE, period + FURTHER - 1) for period in range(1, MAX_PERIOD + 1)),
        (MAX_PERIOD + 1, SOURCE, FOREVER),
        (1, None, FOREVER),
        (MAX_PERIOD, None, FOREVER),
        (1, (*[7] * 30, 2), 2 * 29 - 1),
    ],
)
def test_a_cycle_is_stopped_after_so_many_tokens(period: int, source: tuple[int, ...] | None, allowed: int) -> None:
    guard = RepetitionGuard(1)
    guard.reset(0, source)
    for count in range(FOREVER):
        token = np.array([[[3 + count % period]]])
        forbidden = guard.forbidden(token)
        if forbidden is not None and forbidden.all():
            assert count - period == allowed
            return
        guard.advance(np.array([[0]]), token[:, :, 0])
    assert allowed == FOREVER


def test_counts_follow_the_hypothesis_when_slots_change() -> None:
    guard = RepetitionGuard(2)
    guard.reset(0, (5, 2))
    for at in range(LEAST_RUN):
        guard.advance(np.array([[0, 1]]), np.array([[9, 3 + at]]))
    guard.advance(np.array([[1, 0]]), np.array([[4, 9]]))
    forbidden = guard.forbidden(np.array([[[9, 8], [9, 8]]]))
    assert forbidden is not None
    assert forbidden.tolist() == [[[False, False], [True, False]]]
