"""Every variant of both networks, seen through the interface that training and decoding use."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.tiny_networks import VARIANTS, VOCABULARY, network
from training.data.batching import Batch, collate
from training.networks.attention import valid_positions
from training.networks.build import Network, build_network
from training.recipe import BahdanauConfig, TransformerConfig
from training.trainer.loss import smoothed_cross_entropy

variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS.keys())
Config = TransformerConfig | BahdanauConfig


SOURCES = [np.array(ids, np.uint16) for ids in ([5, 6, 7, 8, 2], [9, 2], [2])]
TARGETS = [np.array(ids, np.uint16) for ids in ([5, 6, 2], [30, 31, 32, 2], [2])]


def ragged() -> Batch:
    """Three pairs: sources of 5, 2 and 1 tokens, targets of 3, 4 and 1, end tokens counted."""
    return collate(SOURCES, TARGETS)


def teacher_forced(net: Network, batch: Batch) -> Tensor:
    """Logits [B, T, V]."""
    return net.logits(net.decode(batch.target_in, net.encode(batch.source, batch.source_lengths)).hidden)


@variants
def test_attention_sums_to_one_and_never_looks_at_padding(config: Config) -> None:
    net, batch = network(config), ragged()
    memory = net.encode(batch.source, batch.source_lengths)
    decoded = net.decode(batch.target_in, memory)
    maps = [decoded.cross_attention] + ([] if memory.attention is None else [memory.attention])
    padding = ~valid_positions(batch.source_lengths, batch.source.shape[1])
    for weights in maps:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        assert (weights >= 0).all()
        assert weights.masked_select(padding[:, None, None, None, :]).eq(0).all()


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


@variants
def test_a_sentence_does_not_see_its_neighbours(config: Config) -> None:
    net, batch = network(config), ragged()
    together = teacher_forced(net, batch)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = teacher_forced(net, collate([source], [target]))
        torch.testing.assert_close(alone[0], together[row, : len(target)])


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
        loss, _ = smoothed_cross_entropy(teacher_forced(net, batch)[valid], batch.target_out[valid], 0.1)
        loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


@variants
def test_every_parameter_is_used(config: Config) -> None:
    net = network(config).train()
    batch = ragged()
    valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
    decoded = net.decode(batch.target_in, net.encode(batch.source, batch.source_lengths))
    loss = net.logits(decoded.hidden)[valid].logsumexp(-1).sum()
    if decoded.choices is not None:  # sampled positions have a gradient by REINFORCE alone
        loss = loss + decoded.choices.log_probability.sum()
    loss.backward()
    assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []
