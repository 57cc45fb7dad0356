"""The recorded search: it is the search that ran, its numbers add up, and other searches do not change."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.jobs import Hypothesis, SearchOptions, SearchTrace, SentenceJob
from service.engine.scheduling.batch import Batch
from service.engine.search.trace import FOLLOWING
from tests.support.fake_model import BOS, EOS, Rule, ScriptedModel, hashed_rule


def search(
    rule: Rule, sources: list[tuple[int, ...]], options: SearchOptions, traced: frozenset[int]
) -> list[tuple[tuple[Hypothesis, ...], SearchTrace | None]]:
    """Decode all sources together, some of them recorded."""
    model = ScriptedModel(rule)
    batch: Batch[int] = Batch(model, options.beam_size)
    jobs = [(at, SentenceJob(source, options, trace=at in traced)) for at, source in enumerate(sources)]
    batch.join(model.encode(sources), range(len(sources)), jobs)
    found: dict[int, tuple[tuple[Hypothesis, ...], SearchTrace | None]] = {}
    while len(batch):
        found |= {finished.owner: (finished.hypotheses, finished.trace) for finished in batch.step()}
    return [found[at] for at in range(len(sources))]


def tokens_of(trace: SearchTrace, node: int) -> tuple[int, ...]:
    """Return the tokens of a hypothesis of a trace."""
    tokens: list[int] = []
    while node > 0:
        tokens.insert(0, trace.hypotheses[node].token)
        node = trace.hypotheses[node].parent
    return tuple(tokens)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    beam_size=st.integers(1, 8),
    min_length=st.integers(0, 3),
    words=st.integers(4, 12),
)
def test_the_trace_is_the_search_itself(seed: int, beam_size: int, min_length: int, words: int) -> None:
    rule, source = hashed_rule(words, temperature=0.7), (seed, EOS)
    options = SearchOptions(beam_size=beam_size, max_length=9, min_length=min_length, n_best=beam_size)
    [(hypotheses, trace)] = search(rule, [source], options, frozenset([0]))
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


def test_each_step_keeps_at_most_a_beam_and_names_the_likeliest_next_tokens() -> None:
    rule, source = hashed_rule(12, temperature=0.5), (77, EOS)
    options = SearchOptions(beam_size=2, max_length=8)
    [(_, trace)] = search(rule, [source], options, frozenset([0]))
    assert trace is not None
    depths = [len(tokens_of(trace, at)) for at in range(len(trace.hypotheses))]
    for depth, nodes in itertools.groupby(sorted(range(len(depths)), key=depths.__getitem__), depths.__getitem__):
        live = [trace.hypotheses[node] for node in nodes if trace.hypotheses[node].outcome == "live"]
        assert len(live) <= (1 if depth == 0 else 2)
    expected = rule(source, ())
    following = trace.hypotheses[0].following
    assert len(following) == FOLLOWING
    assert [token for token, _ in following] == sorted(range(len(expected)), key=lambda token: -expected[token])[:5]
    assert [logprob for _, logprob in following] == pytest.approx(sorted(expected.tolist(), reverse=True)[:5])


@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_recording_changes_no_search_and_records_no_other_sentence(beam_size: int) -> None:
    rule = hashed_rule(7, temperature=0.3)
    sources = [(seed, *range(3, 3 + seed % 4), EOS) for seed in range(10)]
    options = SearchOptions(beam_size=beam_size, max_length=12, n_best=beam_size)
    plain = search(rule, sources, options, frozenset())
    recorded = search(rule, sources, options, frozenset([2, 5]))
    assert [hypotheses for hypotheses, _ in recorded] == [hypotheses for hypotheses, _ in plain]
    assert [at for at, (_, trace) in enumerate(recorded) if trace is not None] == [2, 5]
