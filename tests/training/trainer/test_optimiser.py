"""Weight decay is for matrices; without it the optimiser is Adam; Muon is for matrices alone."""

import pytest
import torch

from tests.support.tiny_networks import bahdanau, network, transformer
from training.recipe import BahdanauConfig, OptimisationConfig, TransformerConfig
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


def trained(config: OptimisationConfig, updates: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Return a network after updates with the same made-up gradients, and its optimiser."""
    net = network(transformer())
    return net, updated(net, make_optimiser(net, config, fused=False), range(updates))


def updated(net: torch.nn.Module, optimiser: torch.optim.Optimizer, seeds: range) -> torch.optim.Optimizer:
    for seed in seeds:
        torch.manual_seed(seed)
        for parameter in net.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimiser.step()
    return optimiser


def test_muon_turns_matrices_by_as_much_as_adam_and_leaves_embeddings_to_adam() -> None:
    muon, _ = trained(OptimisationConfig(peak_rate=0.01, optimiser="muon"), 3)
    adam, _ = trained(OptimisationConfig(peak_rate=0.01), 3)
    start = network(transformer())
    for (name, one), two, old in zip(muon.named_parameters(), adam.parameters(), start.parameters(), strict=True):
        if one.dim() > 1 and "embedding" not in name:
            assert not torch.equal(one, two), name
            assert 0.1 < float(((one - old).norm() / (two - old).norm()).detach()) < 2, name
        else:
            torch.testing.assert_close(one, two)


def test_muon_goes_on_from_a_checkpoint_as_if_never_stopped() -> None:
    config = OptimisationConfig(peak_rate=0.01, optimiser="muon")
    whole, _ = trained(config, 6)
    net, optimiser = trained(config, 3)
    again = make_optimiser(net, config, fused=False)
    again.load_state_dict(optimiser.state_dict())
    updated(net, again, range(3, 6))
    for one, two in zip(net.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one, two)


def test_a_checkpoint_of_the_other_optimiser_is_refused() -> None:
    _, adam = trained(OptimisationConfig(), 1)
    muon = make_optimiser(network(transformer()), OptimisationConfig(optimiser="muon"), fused=False)
    with pytest.raises(ValueError, match=r"optimisation\.optimiser"):
        muon.load_state_dict(adam.state_dict())
