"""The interface of networks that training, decoding and evaluation use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Memory:
    """What the encoder gives: everything about the source that does not change from step to step."""

    arrays: tuple[Tensor, ...]
    """Each [B, ...]: keys and values, projected where that does not depend on the target."""
    lengths: Tensor
    """int64 [B], the end token counted."""
    attention: Tensor | None
    """Encoder self-attention [B, L, H, S, S], where there is one."""

    def select(self, rows: Tensor) -> Memory:
        """Return the memory of some rows, repeated or reordered."""
        return Memory(tuple(array[rows] for array in self.arrays), self.lengths[rows], None)


State = tuple[Tensor, ...]
"""What a step hands to the next one, each array [B, ...]."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the decoder gives for T target positions at once."""

    hidden: Tensor
    """[B, T, E]: what the output layer turns into logits."""
    cross_attention: Tensor
    """[B, L, H, T, S]: row t belongs to the step that produces target token t."""
    decoder_attention: Tensor | None
    """[B, L, H, T, T], where there is one."""


class Network(Protocol):
    """An encoder–decoder network over one joint vocabulary."""

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """[B, S], [B] → memory."""

    def decode(self, target_in: Tensor, memory: Memory) -> Decoded:
        """Teacher forcing: [B, T] (begin token first) → hidden states and attention of every step."""

    def logits(self, hidden: Tensor, pieces: Tensor | None = None) -> Tensor:
        """[..., E] → [..., V], or [..., C] of some ``pieces`` int64 [C] only."""

    def start(self, memory: Memory) -> State:
        """Return the decoder's state before the first step."""

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """[B] last tokens → logits [B, V], next state, cross attention [B, L, H, S]."""
