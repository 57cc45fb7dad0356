"""The recorded search: it is the search that ran, its numbers add up, and other searches do not change."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.jobs import SearchOptions, SearchTrace, SentenceJob
from service.engine.search.trace import FOLLOWING
from tests.support.decoding import run_batch
from tests.support.fake_model import BOS, EOS, Rule, ScriptedModel, hashed_rule


def tokens_of(trace: SearchTrace, node: int) -> tuple[int, ...]:
    """Return the tokens of a hypothesis of a trace."""
    tokens: list[int] = []
    while node > 0:
        tokens.insert(0, trace.hypotheses[node].token)
        node = trace.hypotheses[node].parent
    return tuple(tokens)


def live_of_each_length(trace: SearchTrace) -> list[int]:
    """Return how many live hypotheses have no token, one token, and so on."""
    depths = sorted(len(tokens_of(trace, at)) for at, node in enumerate(trace.hypotheses) if node.outcome == "live")
    return [len(list(group)) for _, group in itertools.groupby(depths)]


def check_following(trace: SearchTrace, rule: Rule, source: tuple[int, ...]) -> None:
    """Check that the likeliest next tokens are named."""
    logprobs = rule(source, ())
    best = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])[:FOLLOWING]
    assert [token for token, _ in trace.hypotheses[0].following] == best
    assert [logprob for _, logprob in trace.hypotheses[0].following] == pytest.approx(logprobs[best].tolist())


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 8),
    words=st.integers(7, 12),
)
def test_the_trace_is_the_search_itself(seed: int, beam_size: int, words: int) -> None:
    rule, source = hashed_rule(words, temperature=0.7), (seed, EOS)
    options = SearchOptions(beam_size=beam_size, max_length=9, n_best=beam_size)
    [found] = run_batch(ScriptedModel(rule), [SentenceJob(source, options, trace=True)])
    trace, hypotheses = found.trace, found.hypotheses
    assert trace is not None
    assert trace.hypotheses[0].token == BOS
    finished = {tokens_of(trace, at) for at, node in enumerate(trace.hypotheses) if node.outcome == "finished"}
    assert {hypothesis.ids for hypothesis in hypotheses} <= finished
    assert tokens_of(trace, trace.best[-1]) == hypotheses[0].ids
    on_path = [trace.hypotheses[node].logprob for node in trace.best[1:]]
    assert on_path == pytest.approx(hypotheses[0].logprobs)
    for at, node in enumerate(trace.hypotheses[1:], 1):
        prefix = tokens_of(trace, at)[:-1]
        parent = trace.hypotheses[node.parent]
        assert node.parent < at
        assert parent.outcome == "live"  # only hypotheses in the beam are continued
        assert node.total == pytest.approx(parent.total + node.logprob, abs=1e-4)
        assert node.logprob == pytest.approx(float(rule(source, prefix)[node.token]), abs=1e-5)
    assert live_of_each_length(trace)[0] == 1
    assert max(live_of_each_length(trace)) <= beam_size
    check_following(trace, rule, source)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_recording_changes_no_search_and_records_no_other_sentence(beam_size: int) -> None:
    model = ScriptedModel(hashed_rule(7, temperature=0.3))
    sources = [(seed, *range(3, 3 + seed % 4), EOS) for seed in range(10)]
    options = SearchOptions(beam_size=beam_size, max_length=12, n_best=beam_size)
    plain = run_batch(model, [SentenceJob(source, options) for source in sources])
    recorded = run_batch(model, [SentenceJob(each, options, trace=at in (2, 5)) for at, each in enumerate(sources)])
    assert [each.hypotheses for each in recorded] == [each.hypotheses for each in plain]
    assert [at for at, each in enumerate(recorded) if each.trace is not None] == [2, 5]
