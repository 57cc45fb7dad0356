"""Dropout: its share, its mean, its gradient."""

import pytest
import torch

from training.networks.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_keeps_the_mean_and_drops_its_share(rate: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(rate).train()(torch.ones(400, 500))
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.005)
    assert len(dropped.unique()) == 2


def test_dropout_is_repeatable_and_differs_from_call_to_call() -> None:
    dropout, ones = Dropout(0.5).train(), torch.ones(50, 50)
    torch.manual_seed(3)
    first, second = dropout(ones), dropout(ones)
    torch.manual_seed(3)
    assert torch.equal(dropout(ones), first)
    assert not torch.equal(first, second)


def test_dropout_rests_outside_training() -> None:
    values = torch.randn(5, 5)
    assert torch.equal(Dropout(0.5).eval()(values), values)
    assert torch.equal(Dropout(0.0).train()(values), values)


def test_dropout_passes_gradients_where_it_kept() -> None:
    torch.manual_seed(0)
    values = torch.ones(100, requires_grad=True)
    dropped = Dropout(0.5).train()(values)
    dropped.sum().backward()
    assert values.grad is not None
    torch.testing.assert_close(values.grad, dropped.detach())


def test_dropout_bears_the_highest_rates_and_half_precision() -> None:
    assert Dropout(0.999).train()(torch.ones(1000)).isfinite().all()
    assert Dropout(0.1).train()(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16
