"""The network of arXiv 1703.03130: A = softmax(W2 tanh(W1 Hᵀ)), M = A H, and what is read from M."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.networks.attention import masked_softmax, valid_positions
from training.sentence.recipe import PrunedHidden, SentenceNetworkConfig


class SentenceOutput(NamedTuple):
    """The results of the network for B sentences of at most N tokens."""

    embedding: Tensor
    """float32 [B, D], of length 1."""
    attention: Tensor
    """A, float32 [B, r, N]; a row sums to 1, and padding has weight 0."""
    languages: Tensor
    """Log-probabilities [B, languages]."""
    domains: Tensor
    """Log-probabilities [B, domains]."""


class SentenceNetwork(nn.Module):
    """A bidirectional GRU, structured self-attention over its states, a hidden layer, and three outputs.

    The paper's recurrent layer is an LSTM; a GRU of the same width has three quarters of its parameters.
    """

    def __init__(self, config: SentenceNetworkConfig, vocabulary: int, languages: int, domains: int) -> None:
        super().__init__()
        self.config = config
        states = config.states
        self.embedding = nn.Embedding(vocabulary, config.embedding)
        self.forwards = nn.GRU(config.embedding, config.hidden)
        self.backwards = nn.GRU(config.embedding, config.hidden)
        self.w1 = nn.Linear(states, config.attention_size, bias=False)
        self.w2 = nn.Linear(config.attention_size, config.hops, bias=False)
        head = config.head
        self.hidden: FullHidden | SplitHidden = (
            SplitHidden(config.hops, states, head) if isinstance(head, PrunedHidden)
            else FullHidden(config.hops, states, head)
        )  # fmt: skip
        self.dropout = nn.Dropout(config.dropout)
        self.vector = nn.Linear(self.hidden.units, config.width)
        self.language = nn.Linear(self.hidden.units, languages)
        self.domain = nn.Linear(self.hidden.units, domains)
        nn.init.normal_(self.embedding.weight, std=config.embedding**-0.5)

    def forward(self, ids: Tensor, lengths: Tensor) -> SentenceOutput:
        """Return embedding, attention and classes of sentences: ids int64 [B, N] with padding, lengths int64 [B]."""
        states = self.states(ids, lengths)
        attention = self.attention(states, lengths)
        hidden = self.dropout(torch.relu(self.hidden(attention @ states)))
        return SentenceOutput(
            nn.functional.normalize(self.vector(hidden), dim=-1),
            attention,
            torch.log_softmax(self.language(hidden), dim=-1),
            torch.log_softmax(self.domain(hidden), dim=-1),
        )

    def states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return H, [B, N, states]: the states of both directions (equations 1 to 4), then the token embeddings."""
        steps = self.dropout(self.embedding(ids)).transpose(0, 1)
        parts = both_directions(self.forwards, self.backwards, steps, lengths)
        parts += [steps] if self.config.embedding_states else []
        return torch.cat(parts, dim=-1).transpose(0, 1)

    def attention(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return A, [B, r, N] (equation 6): r softmaxes over the tokens of each sentence."""
        scores = self.w2(torch.tanh(self.w1(states))).transpose(1, 2)
        return masked_softmax(scores, valid_positions(lengths, states.shape[1])[:, None])


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


class FullHidden(nn.Module):
    """A hidden layer whose units read all of M."""

    def __init__(self, hops: int, states: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.all = nn.Linear(hops * states, units)

    def forward(self, matrix: Tensor) -> Tensor:
        """Return the units before the activation: M [B, r, 2u] → [B, units]."""
        result: Tensor = self.all(matrix.flatten(1))
        return result


class SplitHidden(nn.Module):
    """The pruned hidden layer of appendix A: M^h [r, p] and M^v [2u, q], with weights of their own for each row."""

    def __init__(self, hops: int, states: int, config: PrunedHidden) -> None:
        super().__init__()
        self.units = hops * config.rows + states * config.columns
        self.rows = nn.Parameter(torch.empty(hops, states, config.rows))
        self.columns = nn.Parameter(torch.empty(states, hops, config.columns))
        self.bias = nn.Parameter(torch.zeros(self.units))
        for weight, inputs in ((self.rows, states), (self.columns, hops)):
            nn.init.uniform_(weight, -(inputs**-0.5), inputs**-0.5)

    def forward(self, matrix: Tensor) -> Tensor:
        """Return the units before the activation: M [B, r, 2u] → [B, r · p + 2u · q]."""
        rows = torch.bmm(matrix.transpose(0, 1), self.rows).transpose(0, 1).flatten(1)
        columns = torch.bmm(matrix.permute(2, 0, 1), self.columns).transpose(0, 1).flatten(1)
        return torch.cat([rows, columns], dim=1) + self.bias
