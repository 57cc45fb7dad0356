"""Decoding with a PyTorch network; tests/contract/test_beam.py compares its beam search with that of the service."""

import itertools

import pytest
import torch

from service.bundle.vocabulary import EOS
from tests.support.tiny_networks import VARIANTS, bahdanau, network, transformer
from training.decoding.batches import evaluating, length_groups
from training.decoding.beam_search import SearchOptions
from training.decoding.greedy import translate_greedy
from training.decoding.scoring import score_targets
from training.decoding.translate import search
from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.recipe import BahdanauConfig, TransformerConfig

SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [], [30, 31]]


def eager(config: TransformerConfig | BahdanauConfig, bias: float) -> Transformer | Bahdanau:
    """Return a random network that ends its translations early."""
    net = network(config)
    (net.output_bias if isinstance(net, Transformer) else net.output.bias).data[EOS] += bias
    return net


@pytest.mark.parametrize("config", [transformer(), bahdanau(cell="lstm", decoder_layers=2)], ids=["transformer", "rnn"])
def test_a_beam_of_one_is_greedy(config: TransformerConfig | BahdanauConfig) -> None:
    net = network(config)
    greedy = translate_greedy(net, SOURCES, 12)
    assert [h[0].ids for h in search(net, SOURCES, SearchOptions(1, 1.0, 12))] == greedy


def test_no_translation_has_a_forbidden_token() -> None:
    net = network(bahdanau())
    written = {number for ids in translate_greedy(net, SOURCES, 12) for number in ids}
    assert len(written) > 1
    found = search(net, SOURCES, SearchOptions(2, 1.0, 12, forbidden=tuple(written)))
    assert not written & {number for hypotheses in found for each in hypotheses for number in each.ids}


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
