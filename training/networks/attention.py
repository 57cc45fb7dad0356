"""Attention layers, which always return their weights and never store them."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.networks.dropout import Dropout


class Attended(NamedTuple):
    """The result of attention: the weighted values, and the weights."""

    context: Tensor
    weights: Tensor


def valid_positions(lengths: Tensor, size: int) -> Tensor:
    """Return bool [*, size] for lengths of any shape [*], of rows or of single queries: true within the length."""
    return torch.arange(size, device=lengths.device) < lengths[..., None]


def masked_softmax(scores: Tensor, valid: Tensor) -> Tensor:
    """Return the softmax over the last axis, with a weight of exactly zero where ``valid`` (broadcast) is false.

    A row must have at least one valid position.
    """
    return scores.masked_fill(~valid, float("-inf")).softmax(-1)


class AdditiveScore(nn.Module):
    """The additive score a(s, h) = vᵀ tanh(W s + U h): 1409.0473, appendix A.1.2."""

    def __init__(self, query_size: int, memory_size: int, attention_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, attention_size, bias=False)
        self.key = nn.Linear(memory_size, attention_size)
        self.energy = nn.Linear(attention_size, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """Return U h for all positions, computed once for each sentence: [B, S, M] → [B, S, A]."""
        keys: Tensor = self.key(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores [B, S] of [B, Q] and [B, S, A]."""
        hidden = torch.tanh(self.query(query)[:, None, :] + keys)  # [B, S, A]
        scores: Tensor = self.energy(hidden).squeeze(-1)  # [B, S]
        return scores


class ConcatScore(nn.Module):
    """The linear score(s, h) = W_a [s; h], known as *concat* in lecture notes.

    With W_a = [w_s, w_h] it is w_sᵀ s + w_hᵀ h. The query's part is the same at every position, so it cancels in the
    softmax, and the weights do not depend on the query. (1508.04025, section 3.1, uses this name for
    vᵀ tanh(W [s; h]), which is the additive score.)
    """

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, 1, bias=False)
        self.key = nn.Linear(memory_size, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """Return w_hᵀ h for all positions, computed once for each sentence: [B, S, M] → [B, S, 1]."""
        keys: Tensor = self.key(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores [B, S] of [B, Q] and [B, S, 1]."""
        scores: Tensor = self.query(query) + keys.squeeze(-1)
        return scores


class ProductScore(nn.Module):
    """The product scores: sᵀ W h (``general``), sᵀ h (``dot``) or sᵀ h / √d (``scaled_dot``).

    1508.04025, section 3.1, and 1706.03762, section 3.2.1.
    """

    def __init__(self, query_size: int, memory_size: int, projected: bool, scaled: bool) -> None:
        super().__init__()
        self.key = nn.Linear(memory_size, query_size, bias=False) if projected else nn.Identity()
        self.scale = 1 / math.sqrt(query_size) if scaled else 1.0

    def keys(self, memory: Tensor) -> Tensor:
        """Return W h, or h: [B, S, M] → [B, S, Q]."""
        keys: Tensor = self.key(memory)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores [B, S] of [B, Q] and [B, S, Q]."""
        return torch.bmm(keys, query[:, :, None]).squeeze(-1) * self.scale


class GaussianScore(nn.Module):
    """The score -‖s - h‖² / 2, whose softmax is Nadaraya and Watson's kernel regression with a Gaussian kernel."""

    def keys(self, memory: Tensor) -> Tensor:
        """Return h itself, [B, S, Q]."""
        return memory

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores [B, S] of [B, Q] and [B, S, Q]."""
        return -0.5 * (query[:, None, :] - keys).square().sum(-1)


def clipped_distances(size: int, reach: int, device: torch.device) -> Tensor:
    """Return int64 [size, size]: the distance from row to column, from 0 (``reach`` or more before) to 2 · reach."""
    places = torch.arange(size, device=device)
    return (places - places[:, None]).clamp(-reach, reach) + reach


def directions(size: int, heads: int, device: torch.device) -> Tensor:
    """Return bool [heads, size, size]: half of the heads see no later position, the other half no earlier one."""
    earlier = torch.ones(size, size, dtype=torch.bool, device=device).tril()
    return torch.stack([earlier, earlier.T]).repeat_interleave(heads // 2, 0)


class MultiHeadAttention(nn.Module):
    """Multi-head scaled dot-product attention: 1706.03762, section 3.2.

    With a ``reach`` k, it is relative: every distance from -k to k has a vector that is added to the keys there
    (1803.02155, equation 4, without the one for values). Distances beyond k are taken as k.
    """

    def __init__(self, width: int, heads: int, dropout: float, reach: int = 0) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)
        self.dropout = Dropout(dropout)
        self.relative = nn.Parameter(torch.zeros(2 * reach + 1, width // heads)) if reach else None

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of all heads: [B, S, W] → two of [B, H, S, W/H]."""
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Attended:
        """Return values [B, T, W] and weights [B, H, T, S]; ``valid`` can be broadcast to [B, H, T, S]."""
        queries = self._split(self.query(query))  # [B, H, T, D]
        scores = queries @ keys.transpose(-1, -2)  # [B, H, T, S]
        if self.relative is not None:
            near = self.relative[clipped_distances(keys.shape[2], len(self.relative) // 2, keys.device)]  # [T, S, D]
            scores = scores + torch.einsum("bhtd,tsd->bhts", queries, near)
        weights = masked_softmax(scores / math.sqrt(queries.shape[-1]), valid)
        context = self.dropout(weights) @ values  # [B, H, T, D]
        merged = context.transpose(1, 2).flatten(2)  # [B, T, W]
        return Attended(self.output(merged), weights)

    def _split(self, values: Tensor) -> Tensor:
        heads: Tensor = values.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B, T, W] → [B, H, T, D]
        return heads
