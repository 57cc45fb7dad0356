"""Losses are the textbook ones, sampled and guided; weight decay is for matrices; without it the optimiser is Adam."""

import pytest
import torch
from torch import distributions
from torch.nn import functional

from tests.support.tiny_networks import bahdanau, network, transformer
from training.recipe import BahdanauConfig, OptimisationConfig, TransformerConfig
from training.trainer.loss import divergence, guided_cross_entropy, sample_pieces, smoothed_cross_entropy
from training.trainer.optimiser import make_optimiser


@pytest.mark.parametrize("config", [transformer(), bahdanau(tie_embeddings=True)], ids=["transformer", "rnn"])
def test_biases_norms_and_embeddings_are_not_decayed(config: TransformerConfig | BahdanauConfig) -> None:
    net = network(config)
    optimiser = make_optimiser(net, OptimisationConfig(weight_decay=0.1, peak_rate=1.0), fused=False)
    before = {name: value.clone() for name, value in net.named_parameters()}
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()

    smaller = {name for name, value in net.named_parameters() if not torch.equal(value, before[name])}
    assert smaller == {name for name, value in before.items() if value.dim() > 1 and "embedding" not in name}


def test_without_decay_it_is_adam() -> None:
    net, other = network(transformer()), network(transformer())
    config = OptimisationConfig(peak_rate=0.01)
    ours = make_optimiser(net, config, fused=False)
    theirs = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, config.beta2), eps=1e-9)
    for seed in range(3):
        for one, two in zip(net.parameters(), other.parameters(), strict=True):
            torch.manual_seed(seed)
            one.grad = two.grad = torch.randn_like(one)
        ours.step()
        theirs.step()
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_pytorchs_label_smoothing(smoothing: float) -> None:
    torch.manual_seed(1)
    logits = (3 * torch.randn(7, 11)).requires_grad_()
    targets = torch.randint(11, (7,))
    smoothed, likelihood = smoothed_cross_entropy(logits, targets, smoothing)
    expected = functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(smoothed, expected)
    torch.testing.assert_close(likelihood, functional.cross_entropy(logits, targets, reduction="sum").detach())
    torch.testing.assert_close(torch.autograd.grad(smoothed / 7, logits), torch.autograd.grad(expected / 7, logits))


def test_huge_logits_do_not_overflow() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    smoothed, _ = smoothed_cross_entropy(logits, torch.tensor([1]), 0.1)
    assert smoothed.isfinite()
    assert torch.autograd.grad(smoothed, logits)[0].isfinite().all()


def test_sampled_gradients_are_close_to_those_of_the_whole_softmax_on_average() -> None:
    torch.manual_seed(1)
    hidden, weight, targets = torch.randn(6, 8).requires_grad_(), torch.randn(400, 8) / 2, torch.randint(400, (6,))

    def gradient(pieces: torch.Tensor, counts: torch.Tensor | None) -> torch.Tensor:
        loss, _ = smoothed_cross_entropy(hidden @ weight[pieces].T, torch.searchsorted(pieces, targets), 0.1, counts)
        return torch.autograd.grad(loss, hidden)[0]

    whole = gradient(torch.arange(400), None)
    drawn = torch.stack([gradient(*sample_pieces(targets, 400, 100)) for _ in range(400)]).mean(0)
    assert (drawn - whole).norm() < 0.05 * whole.norm()
    torch.testing.assert_close(gradient(*sample_pieces(targets, 400, 400)), whole)


def test_guided_loss_is_least_where_attention_looks_at_the_link() -> None:
    wanted = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])  # the second target token has no link
    right = guided_cross_entropy(torch.tensor([[[0.9, 0.1], [0.5, 0.5]]]), wanted)
    wrong = guided_cross_entropy(torch.tensor([[[0.1, 0.9], [0.5, 0.5]]]), wanted)
    torch.testing.assert_close(right, torch.tensor(0.9).log().neg())
    assert wrong > right


def test_the_divergence_of_two_passes_is_that_of_their_predictions() -> None:
    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(3))
    first, second = (distributions.Categorical(logits=part) for part in logits.chunk(2))
    expected = distributions.kl_divergence(first, second) + distributions.kl_divergence(second, first)
    torch.testing.assert_close(divergence(logits), expected.sum())
    assert divergence(torch.cat([logits, logits])) == 0  # without dropout, passes do not differ
