"""The encoders of the RNN encoder–decoder: recurrent layers, or convolutions in their place."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.networks.attention import valid_positions
from training.networks.dropout import Dropout
from training.recipe import BahdanauConfig


class Encoded(NamedTuple):
    """The result of an encoder."""

    annotations: Tensor
    """h_j of every source token, [B, S, M]."""
    context: Tensor
    """The sentence as one vector [B, M], for a decoder without attention."""
    summary: Tensor
    """The vector that the decoder's first state is computed from, [B, ...]."""
    final: tuple[Tensor, ...]
    """The final state of every layer, [B, M] each, then an LSTM's cells; empty for convolutions."""


class Encoder(nn.Module):
    """The encoder: annotations h_j of every source token from a (bidirectional) RNN, section 3.2."""

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__()
        kind = nn.GRU if config.cell == "gru" else nn.LSTM
        self.summary_size = config.encoder_hidden
        self.rnn = kind(
            config.embedding,
            config.encoder_hidden,
            num_layers=config.encoder_layers,
            bidirectional=config.bidirectional,
            batch_first=True,
            dropout=config.layer_dropout if config.encoder_layers > 1 else 0.0,
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> Encoded:
        """Return the result for [B, S, E] and [B]; the summary is the backward direction's final state [B, H]."""
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, final = self.rnn(packed)
        kinds = final if isinstance(final, tuple) else (final,)  # each [layers · directions, B, H]
        annotations, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=embedded.shape[1])
        directions = 2 if self.rnn.bidirectional else 1
        by_layer = [kind.unflatten(0, (-1, directions)).transpose(1, 2).flatten(2) for kind in kinds]  # [L, B, M]
        states = tuple(layer for kind in by_layer for layer in kind.unbind(0))
        return Encoded(annotations, by_layer[0][-1], kinds[0][-1], states)


class ConvolutionalEncoder(nn.Module):
    """Convolutions with residual connections, x + tanh(W [x_{j-k} … x_{j+k}] + b) (after 1611.02344, section 3)."""

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__()
        self.kernel, size = config.kernel, config.memory_size
        self.summary_size = size
        self.project = nn.Linear(config.embedding, size)
        self.layers = nn.ModuleList(nn.Linear(config.kernel * size, size) for _ in range(config.encoder_layers))
        self.dropout = Dropout(config.layer_dropout)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Encoded:
        """Return the result for [B, S, E] and [B]; context and summary are the mean of the annotations [B, M]."""
        size = embedded.shape[1]
        valid = valid_positions(lengths, size)[:, :, None]  # [B, S, 1]
        values, around = self.project(embedded), self.kernel // 2
        for i, layer in enumerate(self.layers):
            inputs = self.dropout(values) if i else values
            padded = functional.pad(inputs * valid, (0, 0, around, around))  # zeros on both sides of each sentence
            windows = torch.cat([padded[:, place : place + size] for place in range(self.kernel)], dim=-1)
            values = values + torch.tanh(layer(windows))
        mean = (values * valid).sum(1) / lengths[:, None]
        return Encoded(values, mean, mean, ())
