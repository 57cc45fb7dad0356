"""Weight decay is for matrices; without it the optimiser is Adam."""

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
