"""Label-smoothed cross-entropy (arXiv 1706.03762, section 5.4) that touches the logits as rarely as possible."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The vocabulary is a small model's largest array: its gradient is made in place, in one pass."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        logits = logits.float()
        normaliser = logits.logsumexp(-1)  # [N]
        chosen = logits.gather(1, targets[:, None]).squeeze(1)  # [N]
        likelihood = (normaliser - chosen).sum()
        even = (normaliser - logits.mean(-1)).sum()
        ctx.save_for_backward(logits, targets, normaliser)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(likelihood)
        return (1 - smoothing) * likelihood + smoothing * even, likelihood.detach().clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, normaliser = ctx.saved_tensors
        gradient = torch.sub(logits, normaliser[:, None]).exp_()  # softmax, [N, V]
        gradient -= ctx.smoothing / logits.shape[1]
        gradient.scatter_add_(1, targets[:, None], torch.full_like(normaliser, ctx.smoothing - 1)[:, None])
        return gradient.mul_(gradients[0]), None, None


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Sum over N tokens of the smoothed loss (differentiable) and of the plain negative log-likelihood, in nats.

    logits [N, V]; targets int64 [N]. Equal to ``functional.cross_entropy(label_smoothing=…, reduction="sum")``.
    """
    losses: tuple[Tensor, Tensor] = _SmoothedCrossEntropy.apply(logits, targets, smoothing)  # type: ignore[no-untyped-call]
    return losses
