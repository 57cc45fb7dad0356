"""Dropout: its share, its mean, its gradient."""

import pytest
import torch

from training.networks.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_keeps_the_mean_drops_its_share_and_passes_gradients_where_it_kept(rate: float) -> None:
    torch.manual_seed(0)
    values = torch.ones(400, 500, requires_grad=True)
    dropped = Dropout(rate).train()(values)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.005)
    assert len(dropped.unique()) == 2
    torch.testing.assert_close(torch.autograd.grad(dropped.sum(), values)[0], dropped.detach())


def test_dropout_is_repeatable_differs_from_call_to_call_and_rests_outside_training() -> None:
    dropout, ones = Dropout(0.5).train(), torch.ones(50, 50)
    torch.manual_seed(3)
    first, second = dropout(ones), dropout(ones)
    torch.manual_seed(3)
    assert torch.equal(dropout(ones), first)
    assert not torch.equal(first, second)
    assert torch.equal(dropout.eval()(ones), ones)
    assert torch.equal(Dropout(0.0).train()(ones), ones)


def test_dropout_bears_the_highest_rates_and_half_precision() -> None:
    assert Dropout(0.999).train()(torch.ones(1000)).isfinite().all()
    assert Dropout(0.1).train()(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16
