"""Label-smoothed cross-entropy (arXiv 1706.03762, section 5.4) with as few passes over the logits as possible."""

from typing import Any

import torch
from torch import Tensor

from training.networks.interface import Choices


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The logits are a small model's largest array, so their gradient is computed in place, in one pass."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, smoothing: float, counts: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        logits = logits.float()
        if counts is None:
            shares, mean = torch.tensor(1 / logits.shape[1]), logits.mean(-1)
        else:
            shares = counts / counts.sum()  # [C]
            mean = logits @ shares
            logits = logits + counts.log()  # a candidate that stands for four pieces counts four times in the sum
        normaliser = logits.logsumexp(-1)  # [N]
        chosen = logits.gather(1, targets[:, None]).squeeze(1)  # [N]
        likelihood = (normaliser - chosen).sum()
        even = (normaliser - mean).sum()
        ctx.save_for_backward(logits, targets, normaliser, shares)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(likelihood)
        return (1 - smoothing) * likelihood + smoothing * even, likelihood.detach().clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        logits, targets, normaliser, shares = ctx.saved_tensors
        gradient = torch.sub(logits, normaliser[:, None]).exp_()  # softmax, [N, C]
        gradient -= (ctx.smoothing * shares).to(gradient.device)
        gradient.scatter_add_(1, targets[:, None], torch.full_like(normaliser, ctx.smoothing - 1)[:, None])
        return gradient.mul_(gradients[0]), None, None, None


def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float, counts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss (differentiable) and the negative log-likelihood, summed over N tokens, in nats.

    logits [N, C] of C candidate pieces; targets int64 [N], indices of candidates; counts [C]: the number of pieces for
    which a candidate stands (1 for a target), all 1 by default. If every piece is a candidate, the loss equals
    ``functional.cross_entropy(label_smoothing=…, reduction="sum")``.
    """
    losses: tuple[Tensor, Tensor] = _SmoothedCrossEntropy.apply(logits, targets, smoothing, counts)  # type: ignore[no-untyped-call]
    return losses


def divergence(logits: Tensor, counts: Tensor | None = None) -> Tensor:
    """Return KL(p‖q) + KL(q‖p) of two passes of the same N tokens, summed, in nats (R-Drop: 2106.14448, equation 2).

    logits [2N, C]: all of the first pass, then all of the second; counts [C] as in smoothed_cross_entropy.
    """
    logits = logits.float() if counts is None else logits.float() + counts.log()
    first, second = logits.log_softmax(-1).chunk(2)
    return ((first.exp() - second.exp()) * (first - second)).sum()


def sample_pieces(targets: Tensor, vocabulary: int, sampled: int) -> tuple[Tensor, Tensor]:
    """Return candidates for a softmax over part of the vocabulary: all targets and ``sampled`` other pieces at random.

    targets int64 [N] → pieces int64 [C], ascending, and counts float32 [C]: 1 for a target; for a sampled piece, the
    number of pieces for which it stands, so that the normaliser's expectation is that of the whole vocabulary
    (importance sampling with a uniform proposal: Jean et al. 2015, 1412.2007, section 3.1).
    """
    counts = torch.zeros(vocabulary, device=targets.device)
    counts[targets] = 1.0
    others = (counts == 0).nonzero().squeeze(1)
    chosen = others[torch.randperm(len(others), device=targets.device)[:sampled]]
    if len(chosen):
        counts[chosen] = len(others) / len(chosen)
    pieces = counts.nonzero().squeeze(1)
    return pieces, counts[pieces]


def guided_cross_entropy(weights: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy, in nats, of attention rows and their targets, over rows with a target.

    weights [..., T, S] of one head; wanted [..., T, S], whose rows sum to one or zero (1909.02074, equation 4).
    """
    linked = targets.sum().clamp_min(1.0)
    return -(targets * weights.clamp_min(1e-9).log()).sum() / linked


def reinforce_loss(choices: Choices, rewards: Tensor, valid: Tensor) -> Tensor:
    """Return the loss whose gradient is REINFORCE's for sampled choices, summed over steps (1502.03044, section 4.1).

    rewards [B, T]: the log-probability of every target token, zero where bool ``valid`` [B, T] is false. A choice is
    rewarded with the token of its own step alone, where the paper takes all later ones: their noise is large (on the
    made-up grammar 10.0 BLEU instead of 17.0, one seed, 120 sentences). The baseline, which lowers the variance and not
    the expectation, is the mean reward of a token in the batch's other sentences.
    """
    counts, totals = valid.sum(1, keepdim=True), rewards.sum(1, keepdim=True)  # [B, 1]
    baseline = (totals.sum() - totals) / (counts.sum() - counts).clamp_min(1)
    advantage = rewards - baseline * valid
    chosen: Tensor = -(advantage.detach() * choices.log_probability * valid).sum()
    return choices.weight * (chosen - choices.entropy_weight * (choices.entropy * valid).sum())
