"""What networks give to training, decoding and evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Memory:
    """The result of the encoder: everything about the source that does not change from step to step."""

    arrays: tuple[Tensor, ...]
    """Keys and values, each [B, ...], with all projections that do not depend on the target."""
    lengths: Tensor
    """int64 [B], including the end token."""
    attention: Tensor | None
    """Encoder self-attention [B, L, H, S, S], if the network has one."""

    def select(self, rows: Tensor) -> Memory:
        """Return the memory of some rows, repeated or reordered."""
        return Memory(tuple(array[rows] for array in self.arrays), self.lengths[rows], None)


State = tuple[Tensor, ...]
"""The state that a step passes to the next one; each array is [B, ...]."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The random choices of a training step that have no gradient of their own; REINFORCE gives them one."""

    log_probability: Tensor
    """[B, T]: of the position that each step chose."""
    entropy: Tensor
    """[B, T]: of the distribution that it was chosen from, in nats."""
    entropy_weight: float
    weight: float = 1.0
    """Of the loss of the choices."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of the decoder for T target positions at once."""

    hidden: Tensor
    """[B, T, E]: the input of the output layer."""
    cross_attention: Tensor
    """[B, L, H, T, S]: row t belongs to the step that produces target token t."""
    decoder_attention: Tensor | None
    """[B, L, H, T, T], if the network has one."""
    choices: Choices | None = None
    """Only while a network that needs REINFORCE is trained."""


def partial_linear(hidden: Tensor, weight: Tensor, bias: Tensor, rows: Tensor | None) -> Tensor:
    """Return x Wᵀ + b for all rows of W [V, E], or only for ``rows``, int64 [C]: [..., E] → [..., V] or [..., C]."""
    if rows is None:
        return functional.linear(hidden, weight, bias)
    return functional.linear(hidden, weight[rows], bias[rows])
