"""Gradient × input against a difference of two log-probabilities."""

import pytest
import torch

from service.bundle.vocabulary import EOS
from tests.support.tiny_networks import VARIANTS, network
from training.evaluation.attribution import gradient_times_input, target_logprobs

SOURCE, TARGET = (5, 9, 7, EOS), (8, 6, EOS)
STEP = 1e-4


@pytest.mark.parametrize("name", ["post-norm", "pre-norm", "score-additive", "conditional", "deep-lstm"])
def test_it_is_what_a_slightly_smaller_embedding_takes_away(name: str) -> None:
    made = network(VARIANTS[name]).double()
    found = gradient_times_input(made, SOURCE, TARGET)
    assert found.shape == (3, 4)
    with torch.no_grad():
        for place in range(len(SOURCE)):
            scale = torch.ones(1, len(SOURCE), 1, dtype=torch.float64)
            scale[0, place] = 1 - STEP
            whole = target_logprobs(made, SOURCE, TARGET, lambda embedded: embedded)
            smaller = target_logprobs(made, SOURCE, TARGET, scale.mul)
            torch.testing.assert_close((whole - smaller) / STEP, found[:, place], atol=5e-3, rtol=5e-3)


def test_parameters_get_no_gradient() -> None:
    made = network(VARIANTS["post-norm"])
    gradient_times_input(made, SOURCE, TARGET)
    assert all(parameter.grad is None for parameter in made.parameters())
