"""Decoding with a PyTorch network; tests/contract/test_beam.py compares its beam search with that of the service."""

import itertools

import numpy as np
import pytest
import torch

from service.bundle.vocabulary import EOS
from tests.support.tiny_networks import VARIANTS, bahdanau, network, transformer
from training.data.batching import collate
from training.decoding.batches import evaluating, length_groups
from training.decoding.beam_search import SearchOptions
from training.decoding.forced import cross_attention
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


def test_no_translation_has_a_forbidden_token() -> None:
    net = network(bahdanau())
    written = {number for found in search(net, SOURCES, SearchOptions(1, 1.0, 12)) for number in found[0].ids}
    assert len(written) > 1
    found = search(net, SOURCES, SearchOptions(2, 1.0, 12, forbidden=tuple(written)))
    assert not written & {number for hypotheses in found for each in hypotheses for number in each.ids}


@pytest.mark.parametrize("name", ["post-norm", "score-additive", "attention-local", "lstm"])
def test_forced_scores_are_those_of_the_search(name: str) -> None:
    net = eager(VARIANTS[name], 5.0)
    found = search(net, SOURCES, SearchOptions(2, 1.0, 40))
    pairs = [(source, h) for source, hypotheses in zip(SOURCES, found, strict=True) for h in hypotheses if h.finished]
    assert pairs
    attention = cross_attention(net, [source for source, _ in pairs], [h.ids for _, h in pairs])
    for (source, hypothesis), weights in zip(pairs, attention, strict=True):
        batch = collate(*([np.array([*ids, EOS], np.uint16)] for ids in (source, hypothesis.ids)))
        with torch.no_grad():
            decoded = net.decode(batch.target_in, net.encode(batch.source, batch.source_lengths))
            logprobs = net.logits(decoded.hidden).log_softmax(-1).gather(-1, batch.target_out[:, :, None])
        assert logprobs.mean().item() == pytest.approx(hypothesis.score, abs=1e-5)
        np.testing.assert_allclose(weights, decoded.cross_attention[0], atol=1e-5)


def test_an_untrained_network_is_not_waited_for() -> None:
    found = search(network(transformer()), SOURCES, SearchOptions(1, max_length=500))
    assert all(len(each[0].ids) <= 2 * (len(s) + 1) + 8 for s, each in zip(SOURCES, found, strict=True))


def test_nothing_gives_nothing() -> None:
    net = network(bahdanau())
    assert search(net, [], SearchOptions()) == []
    assert cross_attention(net, [], []) == []


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
