"""The search alone, driven by a rule: what it finds, when it stops, and that sentences do not see each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.bundle.manifest import DecodingDefaults, EarlyStopping
from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.scheduling.batch import Batch
from service.engine.search.beam_search import candidates_for
from service.engine.search.options import complete, search_options
from service.engine.types import TranslationOptions
from tests.support.fake_model import EOS, Rule, ScriptedModel, copying_rule, hashed_rule, normalised

ENDINGS: list[EarlyStopping | None] = [None, False, True, "never"]


def search(rule: Rule, sources: list[tuple[int, ...]], options: SearchOptions) -> list[tuple[Hypothesis, ...]]:
    """Decode all sources together and give their hypotheses in order."""
    model = ScriptedModel(rule)
    batch: Batch[int] = Batch(model, options.beam_size)
    jobs = [(at, SentenceJob(source, options)) for at, source in enumerate(sources)]
    batch.join(model.encode(sources), range(len(sources)), jobs)
    found: dict[int, tuple[Hypothesis, ...]] = {}
    while len(batch):
        found |= {finished.owner: finished.hypotheses for finished in batch.step()}
    return [found[at] for at in range(len(sources))]


def all_hypotheses(rule: Rule, source: tuple[int, ...], vocabulary: int, options: SearchOptions) -> list[Hypothesis]:
    """Score every possible output, best first."""
    found = []
    for length in range(1, options.max_length + 1):
        for ids in itertools.product(range(2, vocabulary), repeat=length):
            ends = ids[-1] == EOS
            if EOS in ids[:-1] or not (ends or length == options.max_length) or (ends and length <= options.min_length):
                continue
            token_logprobs = tuple(float(rule(source, ids[:at])[token]) for at, token in enumerate(ids))
            score = sum(token_logprobs) / length**options.length_penalty
            found.append(Hypothesis(ids, token_logprobs, score, "eos" if ends else "length"))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(3, 10_000),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    min_length=st.integers(0, 2),
)
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed: int, penalty: float, min_length: int) -> None:
    # Two words and </s>, at most three tokens: eight slots hold every prefix there is.
    rule, source = hashed_rule(5), (seed, EOS)
    options = SearchOptions(beam_size=8, length_penalty=penalty, max_length=3, min_length=min_length, n_best=3)
    [found] = search(rule, [source], options)
    expected = all_hypotheses(rule, source, 5, options)[: len(found)]
    assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
    assert [hypothesis.finish_reason for hypothesis in found] == [each.finish_reason for each in expected]
    for hypothesis, other in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(other.score, rel=1e-5)
        assert hypothesis.logprobs == pytest.approx(other.logprobs, rel=1e-5)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 8),
    count=st.integers(2, 12),
    ending=st.sampled_from(ENDINGS),
)
def test_a_sentence_gets_the_same_numbers_alone_and_in_company(
    seed: int, beam_size: int, count: int, ending: EarlyStopping | None
) -> None:
    rule = hashed_rule(9, temperature=0.7)
    sources = [(seed, at, *range(3, 3 + at % 4), EOS) for at in range(count)]
    options = SearchOptions(beam_size=beam_size, max_length=12, n_best=beam_size, early_stopping=ending)
    together = search(rule, sources, options)
    assert together == [search(rule, [source], options)[0] for source in sources]


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


def test_the_rules_end_searches_at_different_times() -> None:
    scores = {ending: [best_score(seed, 4, ending) for seed in range(30)] for ending in ENDINGS}
    assert scores["never"] > scores[False] > scores[True]  # somewhere each waits for something better
    assert scores[None] != scores[False]


@pytest.mark.parametrize("ending", [False, True, "never"])
def test_a_greedy_search_ends_with_its_first_hypothesis_by_every_rule(ending: EarlyStopping) -> None:
    assert [best_score(seed, 1, ending) for seed in range(20)] == [best_score(seed, 1, None) for seed in range(20)]


@pytest.mark.parametrize("beam_size", [1, 2, 4, 8])
def test_alternatives_are_distinct_and_best_first(beam_size: int) -> None:
    [found] = search(hashed_rule(12), [(7, EOS)], SearchOptions(beam_size, max_length=10, n_best=beam_size))
    assert len({hypothesis.ids for hypothesis in found}) == len(found) == beam_size
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_greedy_search_takes_the_likeliest_token_each_time() -> None:
    rule, source = hashed_rule(20), (11, EOS)
    [[hypothesis]] = search(rule, [source], SearchOptions(beam_size=1, max_length=30))
    prefix: tuple[int, ...] = ()
    while len(prefix) < 30 and prefix[-1:] != (EOS,):
        prefix += (int(rule(source, prefix).argmax()),)
    assert hypothesis.ids == prefix


def test_the_score_is_the_sum_over_the_length_to_the_penalty() -> None:
    for penalty in (0.0, 0.5, 1.0):
        [[best]] = search(copying_rule(9), [(5, 6, 7, EOS)], SearchOptions(4, penalty, max_length=20))
        assert best.ids == (5, 6, 7, EOS)
        assert best.score == pytest.approx(sum(best.logprobs) / 4**penalty)


def test_a_higher_length_penalty_never_shortens_the_output() -> None:
    rule = hashed_rule(8)
    for seed in range(10):
        lengths = [
            len(search(rule, [(seed, EOS)], SearchOptions(8, penalty, max_length=4))[0][0].ids)
            for penalty in (0.0, 1.0, 4.0)
        ]
        assert lengths == sorted(lengths)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_end_waits_for_the_minimum_length(beam_size: int) -> None:
    def eager(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        return normalised(np.array([0, 0, 9.0, 1.0, 0.5, 0.2]))

    [[free]] = search(eager, [(3, EOS)], SearchOptions(beam_size, max_length=20))
    [[held]] = search(eager, [(3, EOS)], SearchOptions(beam_size, max_length=20, min_length=5))
    assert free.ids == (EOS,)
    assert len(held.ids) == 6
    assert held.ids[-1] == EOS


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_model_that_repeats_itself_is_stopped_only_with_the_guard(beam_size: int) -> None:
    def endless(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        return normalised(np.array([0, 0, 1.0, 9.0, 0.5, 0.2]))

    [[guarded]] = search(endless, [(5, EOS)], SearchOptions(beam_size, max_length=20))
    [[free]] = search(endless, [(5, EOS)], SearchOptions(beam_size, max_length=20, repetition_guard=False))
    assert free.ids == (3,) * 20
    assert (3,) * 6 not in [guarded.ids[at : at + 6] for at in range(len(guarded.ids))]


def test_sentences_of_one_batch_keep_their_own_guards() -> None:
    def endless(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        return normalised(np.array([0, 0, 1.0, 9.0, 0.5, 0.2]))

    options = [SearchOptions(4, max_length=20, repetition_guard=guard) for guard in (False, True, False)]
    sources = [(5, EOS)] * 3
    model = ScriptedModel(endless)
    batch: Batch[int] = Batch(model, 4)
    jobs = [(at, SentenceJob(source, options[at])) for at, source in enumerate(sources)]
    batch.join(model.encode(sources), range(3), jobs)
    found: dict[int, tuple[Hypothesis, ...]] = {}
    while len(batch):
        found |= {finished.owner: finished.hypotheses for finished in batch.step()}
    alone = [search(endless, [(5, EOS)], each)[0][0].ids for each in options]
    assert [found[at][0].ids for at in range(3)] == alone
    assert alone[0] != alone[1]


@pytest.mark.parametrize(("own", "wanted", "settled"), [
    (None, None, True), (False, None, False), (False, True, True), (None, False, False),
])  # fmt: skip
def test_the_guard_is_the_models_own_unless_the_request_says_otherwise(
    own: bool | None, wanted: bool | None, settled: bool
) -> None:
    options = complete(TranslationOptions(repetition_guard=wanted), DecodingDefaults(repetition_guard=own))
    assert search_options(options, 5, 100).repetition_guard is settled


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_maximum_length_ends_a_sentence_and_says_so(beam_size: int) -> None:
    [[cut]] = search(copying_rule(40), [(*range(3, 30), EOS)], SearchOptions(beam_size, max_length=10))
    assert cut.ids == tuple(range(3, 13))
    assert cut.finish_reason == "length"


@pytest.mark.parametrize("beam_size", [1, 2, 4, 8])
def test_a_model_that_loops_is_led_out_of_the_loop(beam_size: int) -> None:
    def looping(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        logits = np.zeros(12)
        logits[3 + len(prefix) % 3] = 12.0
        logits[EOS] = 2.0
        return normalised(logits)

    [[hypothesis]] = search(looping, [(5, EOS)], SearchOptions(beam_size, max_length=60))
    assert len(hypothesis.ids) < 40
    assert hypothesis.finish_reason == "eos"


def test_a_source_that_repeats_itself_may_be_repeated() -> None:
    source = (*[7] * 40, EOS)
    [[hypothesis]] = search(copying_rule(12), [source], SearchOptions(4, max_length=60))
    assert hypothesis.ids == source


def test_a_sentence_with_nothing_left_to_say_ends_as_it_stands() -> None:
    def silent(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        values = np.full(6, -1e9, np.float32)
        if len(prefix) < 3:
            values[4] = 0.0
        return values

    for beam_size in (1, 4):
        [[hypothesis]] = search(silent, [(3, EOS)], SearchOptions(beam_size, max_length=20))
        assert hypothesis.ids == (4, 4, 4)
        assert hypothesis.finish_reason == "length"


def test_a_finished_hypothesis_is_replaced_by_a_live_one() -> None:
    # </s> is always the second best: a beam that lost the slots of finished hypotheses would never find the long one.
    def tempting(source: tuple[int, ...], prefix: tuple[int, ...]) -> np.ndarray:
        logits = np.full(30, -4.0)
        wanted = 3 + len(prefix) if len(prefix) < 6 else EOS
        logits[EOS] = 4.0
        logits[wanted] = 5.0
        return normalised(logits)

    found = search(tempting, [(3, EOS)], SearchOptions(4, length_penalty=1.0, max_length=30, n_best=4))[0]
    assert all(len(hypothesis.ids) > 0 for hypothesis in found)
    assert candidates_for(4) == 8
    assert len(found) == 4


def greedy(rule: Rule, source: tuple[int, ...], options: SearchOptions) -> Hypothesis:
    """Take the likeliest token at every step, as greedy search is defined."""
    ids: list[int] = []
    logprobs: list[float] = []
    while len(ids) < options.max_length and (not ids or ids[-1] != EOS):
        scores = np.array(rule(source, tuple(ids)), np.float64)
        if len(ids) < options.min_length:
            scores[EOS] = -np.inf
        ids.append(int(scores.argmax()))
        logprobs.append(float(scores[ids[-1]]))
    score = sum(logprobs) / len(ids) ** options.length_penalty
    return Hypothesis(tuple(ids), tuple(logprobs), score, "eos" if ids[-1] == EOS else "length")


@pytest.mark.parametrize("min_length", [0, 3])
def test_a_beam_of_one_is_greedy_search(min_length: int) -> None:
    options = SearchOptions(1, length_penalty=0.7, max_length=9, min_length=min_length)
    rule, sources = hashed_rule(7), [(5, EOS), (6, 4, EOS), (3, 3, 3, EOS), (4, EOS)]
    for [found], source in zip(search(rule, sources, options), sources, strict=True):
        expected = greedy(rule, source, options)
        assert (found.ids, found.finish_reason) == (expected.ids, expected.finish_reason)
        assert found.score == pytest.approx(expected.score, rel=1e-5)
        assert found.logprobs == pytest.approx(expected.logprobs, rel=1e-5)
