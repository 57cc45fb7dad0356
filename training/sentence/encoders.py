"""Encoders of sentences for classification, of one size: what each lets a word know of the others, and how it pools.

Each maps embedded words [B, N, WIDTH] and lengths [B] to a vector of the sentence [B, ``size``] and the weight of every
word in it [B, N], which sums to 1. What stands after a sentence's end changes nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from training.networks.attention import MultiHeadAttention, masked_softmax, valid_positions
from training.networks.transformer import sinusoidal_positions

WIDTH = 64
"""Of the embeddings. The sizes below give each encoder 16,000 to 17,000 parameters."""
LONGEST = 512


class EncodedReview(NamedTuple):
    """The results of an encoder for B sentences of at most N words."""

    vector: Tensor
    weights: Tensor
    penalty: Tensor | float = 0.0
    """Added to the loss."""


class Average(nn.Module):
    """The mean of the words, and a feed-forward network over it (Iyyer et al. 2015, deep averaging network)."""

    path = "no path"
    size = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 128), nn.ReLU(), nn.Linear(128, WIDTH), nn.ReLU())

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return the vector and equal weights."""
        weights = valid_positions(lengths, words.shape[1]) / lengths[:, None]
        return EncodedReview(self.layers(torch.einsum("bn,bnw->bw", weights, words)), weights)


def maximum(features: Tensor, lengths: Tensor) -> EncodedReview:
    """Return the largest value of each feature over the words of a sentence: [B, N, F] → [B, F].

    The weight of a word is its share of these maxima.
    """
    valid = valid_positions(lengths, features.shape[1])[:, :, None]
    values, chosen = features.masked_fill(~valid, -torch.inf).max(1)
    return EncodedReview(values, one_hot(chosen, features.shape[1]).float().mean(1))


class Convolution(nn.Module):
    """Convolutions over 3 and 5 words and the maximum of each (Kim 2014, 1408.5882)."""

    path = "within 5 words"
    size = 64

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(WIDTH, 32, width, padding=width // 2) for width in (3, 5))

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return the maxima and each word's share of them, as the middle of a window."""
        inside = (words * valid_positions(lengths, words.shape[1])[:, :, None]).transpose(1, 2)
        found = [torch.relu(convolution(inside)) for convolution in self.convolutions]
        return maximum(torch.cat(found, 1).transpose(1, 2), lengths)


def both_directions(forwards: nn.GRU, backwards: nn.GRU, steps: Tensor, lengths: Tensor) -> list[Tensor]:
    """Return the states of both directions, each [N, B, u], of steps [N, B, W].

    The backward direction reads each sentence reversed within its length, so that it begins at its last token.
    Padded sequences take half the time of packed ones on a CPU.
    """
    places = reversal(lengths, len(steps)).T[:, :, None]
    back = backwards(steps.gather(0, places.expand_as(steps)))[0]
    return [forwards(steps)[0], back.gather(0, places.expand_as(back))]


def reversal(lengths: Tensor, size: int) -> Tensor:
    """Return int64 [B, N]: the positions of each sentence from its last token to its first; padding stays."""
    places = torch.arange(size, device=lengths.device).expand(len(lengths), size)
    return torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)


class Recurrent(nn.Module):
    """A bidirectional GRU and the maximum of each unit over the words (Conneau et al. 2017, 1705.02364)."""

    path = "n"

    def __init__(self, hidden: int = 28) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.forwards, self.backwards = nn.GRU(WIDTH, hidden), nn.GRU(WIDTH, hidden)

    def states(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the states of both directions, [B, N, size]."""
        steps = words.transpose(0, 1)
        return torch.cat(both_directions(self.forwards, self.backwards, steps, lengths), -1).transpose(0, 1)

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return the maxima and each word's share of them."""
        return maximum(self.states(words, lengths), lengths)


class Recursive(nn.Module):
    """A gated composition of neighbours over a balanced binary tree, from the words to the root."""

    path = "2 log n"
    size = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.compose = nn.Linear(2 * WIDTH, 2 * WIDTH)

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return the root and equal weights; a node without a right neighbour moves up as it is."""
        nodes, count = words, lengths
        while nodes.shape[1] > 1:
            left, right = nodes[:, 0::2], nodes[:, 1::2]
            right = nn.functional.pad(right, (0, 0, 0, left.shape[1] - right.shape[1]))
            candidate, gate = self.compose(torch.cat([left, right], -1)).chunk(2, -1)
            joined = torch.lerp((left + right) / 2, torch.tanh(candidate), torch.sigmoid(gate))
            pairs = valid_positions(count // 2, left.shape[1])[:, :, None]
            nodes, count = torch.where(pairs, joined, left), (count + 1) // 2
        return EncodedReview(nodes[:, 0], valid_positions(lengths, words.shape[1]) / lengths[:, None])


class SelfAttention(nn.Module):
    """Multi-head self-attention with a residual connection, and the mean of its results."""

    path = "1"
    size = WIDTH

    def __init__(self, positions: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(WIDTH, 4, 0.0)
        self.norm = nn.LayerNorm(WIDTH)
        table = sinusoidal_positions(LONGEST, WIDTH, "interleaved" if positions else "none")
        self.positions: Tensor
        self.register_buffer("positions", table * WIDTH**-0.5)  # as long as an embedding

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return the mean, and how much attention each word gets from all words in all heads."""
        valid = valid_positions(lengths, words.shape[1])
        seen = words + self.positions[: words.shape[1]]
        found = self.attention(seen, *self.attention.keys_values(seen), valid[:, None, None])
        mean = valid / lengths[:, None]
        weights = torch.einsum("bt,bhts->bs", mean, found.weights) / self.attention.heads
        return EncodedReview(torch.einsum("bn,bnw->bw", mean, self.norm(seen + found.context)), weights)


class Structured(Recurrent):
    """Hops over the states of a bidirectional GRU (1703.03130), with their penalty."""

    hops = 4

    def __init__(self, factor: float = 0.1) -> None:
        super().__init__(hidden=20)
        self.factor = factor
        self.w1, self.w2 = nn.Linear(self.size, 32, bias=False), nn.Linear(32, self.hops, bias=False)
        self.all, self.size = nn.Linear(self.hops * self.size, 28), 28

    def forward(self, words: Tensor, lengths: Tensor) -> EncodedReview:
        """Return a hidden layer over M = A H, and the mean of the hops."""
        states = self.states(words, lengths)
        hops = self.hops_over(states, lengths)
        vector = torch.relu(self.all((hops @ states).flatten(1)))
        return EncodedReview(vector, hops.mean(1), self.factor * overlap(hops).mean())

    def hops_over(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return A, [B, r, N] (equation 6): r softmaxes over the words of each sentence."""
        scores = self.w2(torch.tanh(self.w1(states))).transpose(1, 2)
        return masked_softmax(scores, valid_positions(lengths, states.shape[1])[:, None])


def overlap(attention: Tensor) -> Tensor:
    """Return ‖A Aᵀ − I‖²_F of each sentence (equation 8): [B, r, N] → [B]."""
    gram = attention @ attention.transpose(1, 2)
    difference = gram - torch.eye(gram.shape[-1], device=gram.device)
    return difference.square().sum(dim=(1, 2))


ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "average": Average,
    "convolution": Convolution,
    "bidirectional GRU": Recurrent,
    "recursive, balanced tree": Recursive,
    "self-attention": lambda: SelfAttention(positions=False),
    "self-attention, positions": lambda: SelfAttention(positions=True),
    "structured self-attention": Structured,
}
