"""Greedy and beam search against exhaustive search and a scripted network; forced decoding against steps."""

import itertools
import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from service.bundle.vocabulary import BOS, EOS, PAD
from tests.support.tiny_networks import VARIANTS, VOCABULARY, bahdanau, network, transformer
from training.decoding.batches import evaluating, length_groups, pad_sources
from training.decoding.beam_search import SearchOptions, beam_search
from training.decoding.greedy import translate_greedy
from training.decoding.scoring import score_targets
from training.decoding.translate import search
from training.networks.bahdanau import Bahdanau
from training.networks.interface import Decoded, Memory, State
from training.networks.transformer import Transformer
from training.recipe import BahdanauConfig, TransformerConfig

Table = Mapping[tuple[int, ...], Mapping[int, float]]
SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [], [30, 31]]
both = pytest.mark.parametrize(
    "config", [transformer(), bahdanau(cell="lstm", decoder_layers=2)], ids=["transformer", "rnn"]
)


def eager(config: TransformerConfig | BahdanauConfig, bias: float) -> Transformer | Bahdanau:
    """Return a random network that ends its translations early."""
    net = network(config)
    (net.output_bias if isinstance(net, Transformer) else net.output.bias).data[EOS] += bias
    return net


class Scripted:
    """A network whose next-token probabilities are read from a table by the tokens so far."""

    def __init__(self, table: Table, vocabulary: int = 6) -> None:
        self.table, self.vocabulary = table, vocabulary

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        return Memory((source,), lengths, None)

    def decode(self, target_in: Tensor, memory: Memory) -> Decoded:
        raise NotImplementedError

    def logits(self, hidden: Tensor, pieces: Tensor | None = None) -> Tensor:
        raise NotImplementedError

    def start(self, memory: Memory) -> State:
        return (torch.zeros((len(memory.lengths), 0), dtype=torch.int64),)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        past = torch.cat([state[0], tokens[:, None]], dim=1)
        probabilities = torch.full((len(tokens), self.vocabulary), 1e-6)
        for row, seen in enumerate(past[:, 1:].tolist()):
            for token, probability in self.table.get(tuple(seen), {EOS: 1.0}).items():
                probabilities[row, token] = probability
        return probabilities.log(), (past,), torch.zeros(len(tokens), 1, 1, 1)


GARDEN_PATH: Table = {(): {3: 0.55, 4: 0.45}, (3,): {5: 0.4, EOS: 0.35, 3: 0.25}, (4,): {EOS: 0.9, 5: 0.1}}
"""The likelier first token leads to the less likely translation."""


def best(table: Table, **options: float | str) -> list[list[int]]:
    net = Scripted(table)
    found = beam_search(net, *pad_sources([[3, 3]], torch.device("cpu")), SearchOptions(**options))  # type: ignore[arg-type]
    return [hypothesis.ids for hypothesis in found[0]]


def test_greedy_takes_the_garden_path_and_the_beam_does_not() -> None:
    assert best(GARDEN_PATH, beam_size=1, length_penalty=0.0) == [[3, 5]]
    assert best(GARDEN_PATH, beam_size=2, length_penalty=0.0)[0] == [4]


def test_the_gnmt_penalty_favours_long_translations_less() -> None:
    options = [SearchOptions(length_penalty=1.0, length_rule=rule) for rule in ("power", "gnmt")]
    assert [each.divisor(7) for each in options] == [7, 2]
    two_words: Table = {(): {3: 0.5, 4: 0.5}, (3,): {EOS: 0.72, 5: 0.28}, (4,): {5: 0.6, EOS: 0.4}}
    assert best(two_words, beam_size=3, length_penalty=1.0, length_rule="power")[0] == [4, 5]
    assert best(two_words, beam_size=3, length_penalty=1.0, length_rule="gnmt")[0] == [3]


def test_the_length_penalty_weighs_short_against_long() -> None:
    table: Table = {(): {EOS: 0.4, 3: 0.6}, (3,): {4: 0.6, 5: 0.3}, (3, 4): {EOS: 0.9, 3: 0.1}}
    assert best(table, beam_size=2, length_penalty=0.0)[0] == []  # 0.4 against 0.6 · 0.6 · 0.9 = 0.32
    assert best(table, beam_size=2, length_penalty=1.0)[0] == [3, 4]


def test_scores_are_mean_log_probabilities_with_the_end_token() -> None:
    net = Scripted(GARDEN_PATH)
    found = beam_search(net, *pad_sources([[3]], torch.device("cpu")), SearchOptions(2, 1.0))[0]
    scores = {tuple(h.ids): h.score for h in found}
    assert scores[(4,)] == pytest.approx(math.log(0.45 * 0.9) / 2, abs=1e-4)


def test_special_tokens_are_never_chosen() -> None:
    table: Table = {(): {PAD: 0.5, BOS: 0.4, 3: 0.05, EOS: 0.01}}
    assert best(table, beam_size=1) == [[3]]


def test_the_length_limit_cuts_and_says_so() -> None:
    endless = {(3,) * n: {3: 0.99} for n in range(20)}
    found = beam_search(Scripted(endless), *pad_sources([[3] * 9], torch.device("cpu")), SearchOptions(2, 1.0, 5))[0]
    assert found[0].ids == [3] * 4
    assert not found[0].finished


@both
def test_a_beam_of_one_is_greedy(config: TransformerConfig | BahdanauConfig) -> None:
    net = network(config)
    greedy = translate_greedy(net, SOURCES, 12)
    assert [h[0].ids for h in search(net, SOURCES, SearchOptions(1, 1.0, 12))] == greedy


@both
def test_company_changes_nothing(config: TransformerConfig | BahdanauConfig) -> None:
    net, options = network(config), SearchOptions(3, 1.0, 12)
    together = search(net, SOURCES, options)
    for source, expected in zip(SOURCES, together, strict=True):
        (alone,) = search(net, [source], options)
        assert [h.ids for h in alone] == [h.ids for h in expected]
        assert [h.score for h in alone] == pytest.approx([h.score for h in expected], abs=1e-5)


def test_a_wide_beam_finds_the_best_of_all_translations() -> None:
    net = eager(transformer(), 4.0)
    tokens = range(3, VOCABULARY)
    short = [list(ids) for n in range(3) for ids in itertools.product(tokens, repeat=n)]
    scored = score_targets(net, [[7, 8]] * len(short), short)
    expected = max(range(len(short)), key=lambda i: scored[i].logprobs.mean())
    found = search(net, [[7, 8]], SearchOptions(VOCABULARY - 3, 1.0, 4))[0]
    finished = [h for h in found if h.finished]
    assert finished[0].ids == short[expected]
    assert finished[0].score == pytest.approx(float(scored[expected].logprobs.mean()), abs=1e-5)


@pytest.mark.parametrize("name", ["post-norm", "score-additive", "attention-local", "lstm"])
def test_forced_scores_are_those_of_the_search(name: str) -> None:
    net = eager(VARIANTS[name], 5.0)
    found = search(net, SOURCES, SearchOptions(2, 1.0, 40))
    pairs = [(source, h) for source, hypotheses in zip(SOURCES, found, strict=True) for h in hypotheses if h.finished]
    assert pairs
    forced = score_targets(net, [source for source, _ in pairs], [h.ids for _, h in pairs])
    for (source, hypothesis), result in zip(pairs, forced, strict=True):
        assert result.logprobs.mean() == pytest.approx(hypothesis.score, abs=1e-5)
        assert result.attention.shape[2:] == (len(hypothesis.ids) + 1, len(source) + 1)


def test_forced_ranks_count_the_likelier_tokens() -> None:
    net = network(transformer())
    greedy = translate_greedy(net, [[5, 6, 7]], 5)  # so few that nothing can be a repetition
    (result,) = score_targets(net, [[5, 6, 7]], greedy)
    assert (result.ranks[: len(greedy[0])] == 1).all()
    (other,) = score_targets(net, [[5, 6, 7]], [[39, 38]])
    assert (other.ranks > 1).any()


def test_an_untrained_network_is_not_waited_for() -> None:
    assert all(
        len(ids) <= 2 * (len(s) + 1) + 8
        for s, ids in zip(SOURCES, translate_greedy(network(transformer()), SOURCES, 500), strict=True)
    )


def test_nothing_gives_nothing() -> None:
    net = network(bahdanau())
    assert translate_greedy(net, [], 10) == []
    assert search(net, [], SearchOptions()) == []
    assert score_targets(net, [], []) == []


def test_groups_hold_everyone_once_and_keep_the_budget() -> None:
    sources = [[5] * (n % 200) for n in range(300)]
    groups = list(length_groups(sources, rows_each=4))
    assert sorted(itertools.chain(*groups)) == list(range(300))
    assert all(len(g) * 4 * (max(len(sources[i]) for i in g) + 1) <= 4096 for g in groups)


def test_training_goes_on_as_before_after_decoding() -> None:
    net = network(transformer()).train()
    with evaluating(net) as device:
        inside = (device.type, net.training, torch.is_grad_enabled())
    assert inside == ("cpu", False, False)
    assert net.training
    assert torch.is_grad_enabled()
