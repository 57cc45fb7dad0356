"""Numbers worked out by hand or by a second, slower way, for each part of the networks."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.tiny_networks import bahdanau, network, transformer
from training.networks.attention import (
    AdditiveScore,
    ConcatScore,
    GaussianScore,
    MultiHeadAttention,
    ProductScore,
)
from training.networks.bahdanau import Bahdanau, DeepOutput
from training.networks.build import build_network
from training.networks.dropout import Dropout
from training.networks.interface import Choices
from training.networks.recurrent_attention import LocalCentre, RecurrentAttention
from training.networks.recurrent_encoders import ConvolutionalEncoder
from training.networks.transformer import Transformer, sinusoidal_positions
from training.recipe import BahdanauConfig
from training.trainer.loss import reinforce_loss


def test_positions_are_those_of_the_paper() -> None:
    table = sinusoidal_positions(3, 4)
    expected = [[math.sin(2), math.cos(2), math.sin(2 / 100), math.cos(2 / 100)]]
    torch.testing.assert_close(table[:1], torch.tensor([[0.0, 1.0, 0.0, 1.0]]))
    torch.testing.assert_close(table[2:], torch.tensor(expected))
    assert sinusoidal_positions(5, 7).shape == (5, 7)  # an odd width


def test_multi_head_attention_is_pytorchs() -> None:
    torch.manual_seed(0)
    ours, theirs = MultiHeadAttention(8, 2, 0.0), nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    query, memory = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    valid = torch.arange(5) < torch.tensor([[5], [2], [1]])
    context, weights = ours(query, *ours.keys_values(memory), valid[:, None, None, :])
    expected = theirs(query, memory, memory, key_padding_mask=~valid, average_attn_weights=False)
    torch.testing.assert_close(context, expected[0])
    torch.testing.assert_close(weights, expected[1])


def test_scores_are_those_of_their_papers() -> None:
    torch.manual_seed(0)
    query, memory = torch.randn(1, 4), torch.randn(1, 3, 4)
    q, keys = query[0], memory[0]
    additive, concat = AdditiveScore(4, 4, 5), ConcatScore(4, 4)
    dot, scaled, general = (ProductScore(4, 4, *flags) for flags in ((False, False), (False, True), (True, False)))
    joined = torch.cat([concat.query.weight, concat.key.weight], dim=1)[0]  # W_a
    assert isinstance(general.key, nn.Linear)
    by_hand: list[tuple[Any, Tensor]] = [
        (additive, additive.energy(torch.tanh(additive.query(q) + additive.key(keys)))[:, 0]),
        (concat, torch.stack([joined @ torch.cat([q, key]) for key in keys])),
        (dot, keys @ q),
        (scaled, keys @ q / 2),
        (general, keys @ general.key.weight.T @ q),
        (GaussianScore(), -(keys - q).square().sum(-1) / 2),
    ]
    for score, expected in by_hand:
        torch.testing.assert_close(score(query, score.keys(memory))[0], expected)


def test_local_attention_keeps_its_place_in_half_precision() -> None:
    torch.manual_seed(0)
    centre = LocalCentre(10, 7)
    query, lengths = torch.randn(4, 10), torch.tensor([500, 300, 140, 70])
    exact = centre(query, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        half = centre(query, lengths)
    assert half.dtype == torch.float32
    assert not half.remainder(0.5).eq(0).any()  # bf16 knows only whole and half places up here
    torch.testing.assert_close(half, exact, rtol=0.02, atol=0.5)


def test_local_attention_follows_the_gaussian_around_its_centre() -> None:
    torch.manual_seed(0)
    config = bahdanau(attention="local", score="dot", window=2)
    attention = RecurrentAttention(config, 10)
    assert attention.centre is not None
    for parameter in attention.centre.parameters():  # sigmoid(0) = 1/2: the centre is the middle of the sentence
        parameter.data.zero_()
    memory, lengths = torch.zeros(1, 8, 10), torch.tensor([8])
    _, weights = attention(torch.zeros(1, 10), memory, attention.keys(memory), lengths, torch.tensor([0]))
    gaussian = torch.tensor([0, 0, math.exp(-2), math.exp(-0.5), 1, math.exp(-0.5), math.exp(-2), 0])
    torch.testing.assert_close(weights[0], gaussian / gaussian.sum())


def test_monotonic_attention_is_a_softmax_around_the_steps_own_number() -> None:
    attention = RecurrentAttention(bahdanau(attention="monotonic", score="dot", window=1), 10)
    memory, lengths = torch.zeros(1, 6, 10), torch.tensor([5])
    memory[0, 2, 0] = math.log(2)
    query = torch.eye(10)[:1]
    expected = {0: [1, 1, 0, 0, 0, 0], 1: [1, 1, 2, 0, 0, 0], 4: [0, 0, 0, 1, 1, 0], 9: [0, 0, 0, 0, 1, 0]}
    for step, by_hand in expected.items():  # past the end of the sentence, the last position is left
        _, weights = attention(query, memory, attention.keys(memory), lengths, torch.tensor([step]))
        shares = torch.tensor([by_hand], dtype=torch.float32)
        torch.testing.assert_close(weights, shares / shares.sum())


def test_reinforce_rewards_a_choice_with_its_own_token_against_that_of_other_sentences() -> None:
    rewards, valid = torch.tensor([[-1.0, -3.0], [-2.0, 0.0]]), torch.tensor([[True, True], [True, False]])
    likelihood = torch.tensor([[-0.1, -0.2], [-0.3, -0.4]], requires_grad=True)
    entropy = torch.tensor([[0.5, 0.25], [1.0, 9.0]])
    loss = reinforce_loss(Choices(likelihood, entropy, 0.01), rewards, valid)
    # Baselines: -2 for the first sentence's tokens, (-1 - 3) / 2 = -2 for the second's.
    advantages = torch.tensor([[-1 + 2, -3 + 2], [-2 + 2, 0]], dtype=torch.float32)
    by_hand = -(advantages * likelihood.detach()).sum() - 0.01 * 1.75
    torch.testing.assert_close(loss.detach(), by_hand)
    loss.backward()
    torch.testing.assert_close(likelihood.grad, -advantages)


def test_hard_attention_looks_at_one_position_and_reinforce_has_its_choices_in_training() -> None:
    torch.manual_seed(0)
    config = bahdanau(attention="hard", hard_gradient="reinforce")
    net = build_network(config, 40).train()
    assert isinstance(net, Bahdanau)
    source, lengths = torch.tensor([[5, 6, 2, 0], [2, 0, 0, 0]]), torch.tensor([3, 1])
    decoded = net.decode(torch.tensor([[1, 7], [1, 8]]), net.encode(source, lengths))
    assert decoded.choices is not None
    assert (decoded.cross_attention.amax(-1) == 1).all()
    torch.testing.assert_close(decoded.choices.log_probability[1], torch.zeros(2))  # one position: no choice
    torch.testing.assert_close(decoded.choices.entropy[1], torch.zeros(2))
    assert (decoded.choices.entropy[0] > 0).all()
    served = net.eval().decode(torch.tensor([[1, 7], [1, 8]]), net.encode(source, lengths))
    assert served.choices is None
    assert (served.cross_attention.amax(-1) == 1).all()


def test_without_attention_the_context_holds_both_last_states_and_the_decoder_starts_from_one() -> None:
    net = network(bahdanau(attention="none"))
    assert isinstance(net, Bahdanau)
    assert net.bridge is not None
    source, lengths = torch.tensor([[5, 6, 2, 0], [7, 8, 9, 2]]), torch.tensor([3, 4])
    annotations = net.encoder(net.source_embedding(source), lengths).annotations
    forward, backward = torch.stack([annotations[0, 2, :5], annotations[1, 3, :5]]), annotations[:, 0, 5:]
    memory = net.encode(source, lengths)
    torch.testing.assert_close(memory.arrays[0][:, 0], torch.cat([forward, backward], dim=-1))
    torch.testing.assert_close(net.start(memory)[0], torch.tanh(net.bridge(backward)))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_copied_states_are_the_final_ones_of_the_same_layer(cell: str) -> None:
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    net = network(bahdanau(cell=cell, bidirectional=False, encoder_hidden=10, start="copy", **layers))
    assert isinstance(net, Bahdanau)
    source, lengths = torch.tensor([[5, 6, 2]]), torch.tensor([3])
    _, final = net.encoder.rnn(net.source_embedding(source))  # type: ignore[operator]
    kinds = final if cell == "lstm" else (final,)
    *states, step = net.start(net.encode(source, lengths))
    assert len(states) == 2 * len(kinds)
    for i, state in enumerate(states):
        torch.testing.assert_close(state, kinds[i // 2][i % 2])
    assert step.tolist() == [0]


def test_a_linear_output_reads_the_state_alone() -> None:
    net = network(bahdanau(output="linear"))
    assert isinstance(net, Bahdanau)
    memory = net.encode(torch.tensor([[5, 6, 2]]), torch.tensor([3]))
    logits, state, _ = net.step(torch.tensor([1]), net.start(memory), memory)
    torch.testing.assert_close(logits, state[0] @ net.output.weight.T + net.output.bias)


def test_dropout_between_layers_is_between_layers() -> None:
    config = bahdanau(encoder_layers=2, decoder_layers=2, dropout=0.0, layer_dropout=0.5)
    source, lengths, target = torch.tensor([[5, 6, 2]]), torch.tensor([3]), torch.tensor([[1, 7]])

    def twice(config: BahdanauConfig) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = build_network(config, 40).train()
        return [net.decode(target, net.encode(source, lengths)).hidden for _ in range(2)]

    assert not torch.equal(*twice(config))
    assert torch.equal(*twice(config.model_copy(update={"encoder_layers": 1, "decoder_layers": 1})))


def test_the_convolutional_encoder_is_pytorchs_convolution() -> None:
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(bahdanau(encoder="convolutional", encoder_layers=2, kernel=3)).eval()
    embedded, lengths = torch.randn(2, 5, 6), torch.tensor([5, 3])
    encoded = encoder(embedded, lengths)
    for row, length in enumerate(lengths.tolist()):
        values = encoder.project(embedded[row : row + 1, :length])
        for layer in encoder.layers:
            assert isinstance(layer, nn.Linear)
            kernel = layer.weight.unflatten(1, (3, -1)).transpose(1, 2)  # [out, in, k]
            convolved = nn.functional.conv1d(values.transpose(1, 2), kernel, layer.bias, padding=1)
            values = values + torch.tanh(convolved.transpose(1, 2))
        torch.testing.assert_close(encoded.annotations[row, :length], values[0])
        torch.testing.assert_close(encoded.context[row], values[0].mean(0))


def test_without_positions_the_encoder_sees_a_bag_of_words() -> None:
    source, shuffled = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[7, 2, 5, 6]])
    lengths, target = torch.tensor([4]), torch.tensor([[1, 9, 10]])
    ordered = ("interleaved", "learned", "relative", "directional")
    for positions, same in (("none", True), *((name, False) for name in ordered)):
        net = network(transformer(positions=positions))
        one, other = (net.logits(net.decode(target, net.encode(ids, lengths)).hidden) for ids in (source, shuffled))
        assert torch.allclose(one, other, atol=1e-5) is same


def test_relative_attention_adds_the_vector_of_a_clipped_distance_to_each_key() -> None:
    torch.manual_seed(0)
    attention, words = MultiHeadAttention(8, 2, 0.0, reach=2), torch.randn(1, 6, 8)
    assert attention.relative is not None
    nn.init.normal_(attention.relative)
    keys, values = attention.keys_values(words)
    weights = attention(words, keys, values, torch.ones(1, 1, 1, 6, dtype=torch.bool)).weights[0]
    queries = attention.query(words).view(6, 2, 4)
    for head, t in itertools.product(range(2), range(6)):
        near = torch.stack([keys[0, head, s] + attention.relative[max(-2, min(2, s - t)) + 2] for s in range(6)])
        torch.testing.assert_close(weights[head, t], torch.softmax(near @ queries[t, head] / 2, 0))


def test_directional_heads_see_one_side_each() -> None:
    net = network(transformer(positions="directional", heads=4))
    weights = net.encode(torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([4, 2])).attention
    assert weights is not None
    for row, length in ((0, 4), (1, 2)):
        seen = weights[row, :, :, :length, :length] > 0
        assert torch.equal(seen[:, :2], torch.ones_like(seen[:, :2]).tril())
        assert torch.equal(seen[:, 2:], torch.ones_like(seen[:, 2:]).triu())
    with pytest.raises(ValueError, match="even number of heads"):
        transformer(positions="directional", heads=1)


def test_embeddings_begin_with_the_deviation_of_the_recipe() -> None:
    for given, expected in ((None, 1 / 8), (1.0, 1.0)):
        torch.manual_seed(0)
        net = build_network(bahdanau(embedding=64, output_size=64, embedding_deviation=given), 400)
        assert isinstance(net, Bahdanau)
        assert net.target_embedding.weight.std().item() == pytest.approx(expected, rel=0.05)


def test_maxout_takes_the_larger_of_two() -> None:
    output = DeepOutput(BahdanauConfig(kind="bahdanau", embedding=4, decoder_hidden=4, output_size=4), 4).eval()
    inputs = torch.ones(1, 4), torch.ones(1, 4), torch.ones(1, 4)
    mixed = output.mix(torch.ones(1, 12))[0]
    torch.testing.assert_close(output(*inputs)[0], torch.maximum(mixed[0::2], mixed[1::2]))


def test_embeddings_are_shared() -> None:
    net = build_network(bahdanau(tie_embeddings=True), 40)
    assert isinstance(net, Bahdanau)
    assert net.source_embedding.weight is net.target_embedding.weight is net.output.weight
    changed = network(transformer())
    assert isinstance(changed, Transformer)
    hidden = torch.randn(8)
    torch.testing.assert_close(changed.logits(hidden), changed.embedding.weight @ hidden + changed.output_bias)


def test_fresh_logits_are_small_so_that_training_starts_near_log_vocabulary() -> None:
    for config in (transformer(width=64), transformer(width=64, norm="pre"), bahdanau()):
        torch.manual_seed(0)
        net = build_network(config, 500).eval()
        source = torch.randint(3, 500, (8, 9))
        decoded = net.decode(source, net.encode(source, torch.full((8,), 9)))
        loss = nn.functional.cross_entropy(net.logits(decoded.hidden).flatten(0, 1), source.roll(1).flatten())
        assert loss.item() < math.log(500) + 1.0


def test_dropout_drops_its_share_keeps_the_mean_is_repeatable_and_rests_outside_training() -> None:
    for rate in (0.1, 0.5):
        dropout, values = Dropout(rate).train(), torch.ones(400, 500, requires_grad=True)
        torch.manual_seed(0)
        dropped, other = dropout(values), dropout(values)
        assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
        assert dropped.mean().item() == pytest.approx(1.0, abs=0.005)
        assert len(dropped.unique()) == 2
        torch.testing.assert_close(torch.autograd.grad(dropped.sum(), values)[0], dropped.detach())
        torch.manual_seed(0)
        assert torch.equal(dropout(values), dropped)
        assert not torch.equal(dropped, other)
        assert torch.equal(dropout.eval()(values), values)


def test_dropout_bears_the_highest_rates_and_half_precision() -> None:
    assert Dropout(0.999).train()(torch.ones(1000)).isfinite().all()
    assert Dropout(0.1).train()(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16
