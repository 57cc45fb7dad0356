"""Every variant of both networks, seen through the interface that training and decoding use."""

import numpy as np
import pytest
import torch

from tests.support.tiny_networks import VARIANTS, VOCABULARY, network
from training.data.batching import Batch, collate
from training.networks.attention import masked_softmax, valid_positions
from training.networks.build import build_network
from training.recipe import BahdanauConfig, TransformerConfig
from training.trainer.loss import smoothed_cross_entropy

variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
Config = TransformerConfig | BahdanauConfig


def ragged() -> Batch:
    sources, targets = ([5, 6, 7, 8, 2], [9, 2], [2]), ([5, 6, 2], [30, 31, 32, 2], [2])
    return collate(*([np.array(ids, np.uint16) for ids in side] for side in (sources, targets)))


@variants
def test_steps_give_what_teacher_forcing_gives(config: Config) -> None:
    net, batch = network(config), ragged()
    memory = net.encode(batch.source, batch.source_lengths)
    decoded = net.decode(batch.target_in, memory)
    expected, state = net.logits(decoded.hidden), net.start(memory)
    for position, tokens in enumerate(batch.target_in.unbind(1)):
        logits, state, attention = net.step(tokens, state, memory)
        torch.testing.assert_close(logits, expected[:, position])
        torch.testing.assert_close(attention, decoded.cross_attention[:, :, :, position])


def test_two_layers_have_the_shapes_of_the_textbook() -> None:
    """d2l.ai checks its Seq2SeqAttentionDecoder with these sizes: output 4 × 7 × 10, two states of 4 × 16."""
    sizes = {"embedding": 8, "encoder_hidden": 16, "decoder_hidden": 16, "attention_size": 16}
    layers = {"encoder_layers": 2, "decoder_layers": 2, "bidirectional": False, "start": "copy", "output": "linear"}
    net = build_network(BahdanauConfig.model_validate({"kind": "bahdanau", **sizes, **layers}), 10)
    sentences = torch.zeros(4, 7, dtype=torch.long)
    memory = net.encode(sentences, torch.full((4,), 7))
    assert net.logits(net.decode(sentences, memory).hidden).shape == (4, 7, 10)
    assert memory.arrays[0].shape == (4, 7, 16)
    assert [tuple(state.shape) for state in net.start(memory)[:-1]] == [(4, 16), (4, 16)]


def test_every_query_may_have_a_length_of_its_own() -> None:
    """The example of d2l.ai's masked_softmax."""
    valid = valid_positions(torch.tensor([[1, 3], [2, 4]]), 4)
    weights = masked_softmax(torch.rand(2, 2, 4), valid)
    assert (weights > 0).sum(-1).tolist() == [[1, 3], [2, 4]]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2))
    rows = valid_positions(torch.tensor([2, 3]), 4)
    assert rows.tolist() == [[True, True, False, False], [True, True, True, False]]


@variants
def test_selected_rows_go_on_as_before(config: Config) -> None:
    net, batch = network(config), ragged()
    memory = net.encode(batch.source, batch.source_lengths)
    tokens = torch.tensor([1, 1, 1])
    _, state, _ = net.step(tokens, net.start(memory), memory)
    expected, _, _ = net.step(tokens + 4, state, memory)
    rows = torch.tensor([2, 0, 0])
    logits, _, _ = net.step(tokens + 4, tuple(array[rows] for array in state), memory.select(rows))
    torch.testing.assert_close(logits, expected[rows])


@variants
def test_every_variant_learns_in_a_few_updates(config: Config) -> None:
    torch.manual_seed(1)
    net, batch = build_network(config, VOCABULARY), ragged()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        decoded = net.decode(batch.target_in, net.encode(batch.source, batch.source_lengths))
        loss, _ = smoothed_cross_entropy(net.logits(decoded.hidden)[valid], batch.target_out[valid], 0.1)
        loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


@variants
def test_every_parameter_is_used(config: Config) -> None:
    net, batch = network(config).train(), ragged()
    valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
    decoded = net.decode(batch.target_in, net.encode(batch.source, batch.source_lengths))
    loss = net.logits(decoded.hidden)[valid].logsumexp(-1).sum()
    if decoded.choices is not None:  # sampled positions have a gradient by REINFORCE alone
        loss = loss + decoded.choices.log_probability.sum()
    loss.backward()
    assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []
