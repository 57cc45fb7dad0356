"""Attention of a recurrent decoder: global, local, monotonic, hard, or none."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.networks.attention import (
    AdditiveScore,
    Attended,
    ConcatScore,
    GaussianScore,
    ProductScore,
    masked_softmax,
    valid_positions,
)
from training.recipe import BahdanauConfig

Score = AdditiveScore | ConcatScore | GaussianScore | ProductScore


def make_score(config: BahdanauConfig, memory_size: int) -> Score:
    """Return the alignment model that the recipe names."""
    query = config.decoder_hidden
    if config.score == "additive":
        return AdditiveScore(query, memory_size, config.attention_size)
    if config.score == "concat":
        return ConcatScore(query, memory_size)
    if config.score == "gaussian":
        return GaussianScore()
    return ProductScore(query, memory_size, projected=config.score == "general", scaled=config.score == "scaled_dot")


class LocalCentre(nn.Module):
    """The centre of local-p attention, p = S · sigmoid(vᵀ tanh(W s)) (1508.04025, section 3.2, equation 9)."""

    def __init__(self, query_size: int, attention_size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(query_size, attention_size, bias=False)
        self.energy = nn.Linear(attention_size, 1, bias=False)

    def forward(self, query: Tensor, lengths: Tensor) -> Tensor:
        """Return positions [B, 1] between 0 and the length of the row, from [B, Q] and [B]."""
        energy: Tensor = self.energy(torch.tanh(self.hidden(query)))
        # In fp32 also under mixed precision, because bf16 has no number between 128 and 129.
        return lengths[:, None] * torch.sigmoid(energy.float())


class RecurrentAttention(nn.Module):
    """The context c_i of a decoder step from its previous state (1409.0473, equations 5 and 6)."""

    def __init__(self, config: BahdanauConfig, memory_size: int) -> None:
        super().__init__()
        self.kind, self.window = config.attention, config.window
        self.sampled = config.attention == "hard" and config.hard_gradient == "reinforce"
        self.soft_share = 0.0
        """REINFORCE in training: the probability that a step takes the expectation instead of a sample."""
        self.score = make_score(config, memory_size) if config.attention != "none" else None
        self.centre = LocalCentre(config.decoder_hidden, config.attention_size) if self.kind == "local" else None

    def keys(self, memory: Tensor) -> Tensor:
        """Return the part of the score that depends only on the source: [B, S, M] → [B, S, …]."""
        assert self.score is not None  # `none` has no keys
        return self.score.keys(memory)

    def forward(self, query: Tensor, memory: Tensor, keys: Tensor, lengths: Tensor, step: Tensor) -> Attended:
        """Return context [B, M] and weights [B, S], from [B, Q], [B, S, M], [B, S, …], [B] and the step's number [B].

        ``none``: memory is the one fixed context [B, 1, M], and the weights are uniform over the source.
        """
        valid = valid_positions(lengths, keys.shape[1])  # [B, S]
        if self.score is None:
            return Attended(memory[:, 0], valid / lengths[:, None])
        scores = self.score(query, keys)  # [B, S]
        if self.centre is not None:
            weights = self._local(scores, self.centre(query, lengths), valid)
        elif self.kind == "monotonic":
            weights = masked_softmax(scores, self._inside(step[:, None].float(), valid)[0])
        elif self.kind == "hard":
            weights = self._hard(scores, valid)
        else:
            weights = masked_softmax(scores, valid)
        return Attended(torch.bmm(weights[:, None, :], memory).squeeze(1), weights)

    def choices(self, query: Tensor, keys: Tensor, lengths: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of the ``chosen`` positions, one-hot [B, S], and the entropy, each [B].

        A row with soft weights chose nothing: its log-probability is zero, without a gradient.
        """
        assert self.score is not None
        valid = valid_positions(lengths, keys.shape[1])
        log_weights = self.score(query, keys).masked_fill(~valid, -1e9).log_softmax(-1)
        sampled = chosen.detach() * (chosen.amax(-1, keepdim=True) == 1)
        return (log_weights * sampled).sum(-1), -(log_weights.exp() * log_weights).sum(-1)

    def _inside(self, centre: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions within the window, or the nearest one, bool [B, S], and all distances [B, S]."""
        distance = torch.arange(valid.shape[1], device=valid.device) - centre  # [B, S]
        nearest = distance.abs() == distance.abs().masked_fill(~valid, float("inf")).amin(-1, keepdim=True)
        return valid & ((distance.abs() <= self.window) | nearest), distance

    def _local(self, scores: Tensor, centre: Tensor, valid: Tensor) -> Tensor:
        """Return the softmax within the window times a Gaussian around its centre (1508.04025, equation 10).

        It is normalised again, so that rows sum to one as everywhere else.
        """
        inside, distance = self._inside(centre, valid)
        shaped = masked_softmax(scores.float(), inside) * torch.exp(-2 * (distance / self.window) ** 2)  # σ = D / 2
        return shaped / shaped.sum(-1, keepdim=True).clamp_min(1e-12)

    def _hard(self, scores: Tensor, valid: Tensor) -> Tensor:
        """Return one position for each step, one-hot [B, S]; training samples it.

        ``straight_through``: by Gumbel-softmax (1611.01144), whose gradient is that of the soft sample. ``reinforce``:
        without a gradient, for which ``choices`` has what REINFORCE needs; or, in ``soft_share`` of the steps, the
        expectation of the sample, which is soft attention and has one (1502.03044, section 4.1).
        """
        masked = scores.masked_fill(~valid, float("-inf"))
        if self.training and not self.sampled:
            return functional.gumbel_softmax(masked, hard=True)
        best = torch.multinomial(masked.softmax(-1), 1).squeeze(-1) if self.training else masked.argmax(-1)
        chosen = functional.one_hot(best, scores.shape[1]).to(scores.dtype)
        if not (self.training and self.soft_share):
            return chosen
        soft = torch.rand(len(scores), 1, device=scores.device) < self.soft_share
        return torch.where(soft, masked.softmax(-1), chosen)
