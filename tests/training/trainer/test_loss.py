"""The fast loss is the textbook one, value and gradient."""

import pytest
import torch
from torch.nn import functional

from training.trainer.loss import smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_pytorchs_label_smoothing(smoothing: float) -> None:
    torch.manual_seed(1)
    logits = (3 * torch.randn(7, 11)).requires_grad_()
    targets = torch.randint(11, (7,))

    smoothed, likelihood = smoothed_cross_entropy(logits, targets, smoothing)
    (smoothed / 7).backward()
    ours = logits.grad
    logits.grad = None
    expected = functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    (expected / 7).backward()

    torch.testing.assert_close(smoothed, expected)
    torch.testing.assert_close(likelihood, functional.cross_entropy(logits, targets, reduction="sum").detach())
    torch.testing.assert_close(ours, logits.grad)


def test_huge_logits_do_not_overflow() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)

    smoothed, _ = smoothed_cross_entropy(logits, torch.tensor([1]), 0.1)
    smoothed.backward()

    assert torch.isfinite(smoothed)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
