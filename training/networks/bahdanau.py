"""The RNN encoder–decoder with attention (arXiv 1409.0473, appendix A) and common variants of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from service.bundle.vocabulary import PAD
from training.networks.dropout import Dropout
from training.networks.interface import Decoded, Memory, State
from training.networks.output import partial_linear
from training.networks.recurrent_attention import RecurrentAttention
from training.recipe import BahdanauConfig


class Encoder(nn.Module):
    """The encoder: annotations h_j of every source token from a (bidirectional) RNN, section 3.2."""

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__()
        kind = nn.GRU if config.cell == "gru" else nn.LSTM
        self.rnn = kind(
            config.embedding,
            config.encoder_hidden,
            num_layers=config.encoder_layers,
            bidirectional=config.bidirectional,
            batch_first=True,
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return annotations [B, S, O] and final states of the top layer [B, directions, H], from [B, S, E] and [B]."""
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, final = self.rnn(packed)
        hidden = final[0] if isinstance(final, tuple) else final  # [layers · directions, B, H]
        annotations, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=embedded.shape[1])
        directions = 2 if self.rnn.bidirectional else 1
        return annotations, hidden[-directions:].transpose(0, 1)


class DeepOutput(nn.Module):
    """The deep output layer: t = maxout(U s + V E y + C c), then logits W t, appendix A.2.2.

    The state is the one that was computed from this context, as in later implementations, not the previous one.
    """

    def __init__(self, config: BahdanauConfig, memory_size: int) -> None:
        super().__init__()
        self.mix = nn.Linear(config.decoder_hidden + config.embedding + memory_size, 2 * config.output_size)
        self.dropout = Dropout(config.dropout)

    def forward(self, state: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """Return t, [..., output_size], from [..., D], [..., E] and [..., M]."""
        mixed = self.mix(torch.cat([state, embedded, context], dim=-1))  # [..., 2 l]
        result: Tensor = self.dropout(mixed.unflatten(-1, (-1, 2)).amax(-1))  # maxout over pairs
        return result


class Bahdanau(nn.Module):
    """The network: encoder, attention, decoder and deep output over one joint vocabulary."""

    by_piece = ("source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias")
    """Parameters whose first axis is the vocabulary."""

    def __init__(self, config: BahdanauConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.memory_size = config.encoder_hidden * (2 if config.bidirectional else 1)
        self.source_embedding = nn.Embedding(vocabulary, config.embedding, padding_idx=PAD)
        self.target_embedding = nn.Embedding(vocabulary, config.embedding, padding_idx=PAD)
        self.encoder = Encoder(config)
        self.bridge = nn.Linear(config.encoder_hidden, config.decoder_hidden)
        self.attention = RecurrentAttention(config, self.memory_size)
        cell = nn.GRUCell if config.cell == "gru" else nn.LSTMCell
        self.transition = nn.GRUCell(config.embedding, config.decoder_hidden) if config.conditional else None
        first = self.memory_size + (0 if config.conditional else config.embedding)
        sizes = [first] + [config.decoder_hidden] * (config.decoder_layers - 1)
        self.cells = nn.ModuleList(cell(size, config.decoder_hidden) for size in sizes)
        self.deep_output = DeepOutput(config, self.memory_size)
        self.output = nn.Linear(config.output_size, vocabulary)
        self.dropout = Dropout(config.dropout)
        self._initialise()

    def _initialise(self) -> None:
        for name, parameter in self.named_parameters():
            if "weight_hh" in name:  # recurrent matrices orthogonal: appendix B.1
                for gate in parameter.data.split(parameter.shape[1]):
                    nn.init.orthogonal_(gate)
            elif parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=self.config.embedding**-0.5)
        if self.config.tie_embeddings:
            self.target_embedding.weight = self.source_embedding.weight
            self.output.weight = self.source_embedding.weight

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Return annotations [B, S, M], projected keys [B, S, A] and the initial state [B, D], from [B, S] and [B]."""
        annotations, final = self.encoder(self.dropout(self.source_embedding(source)), lengths)
        annotations = self.dropout(annotations)
        # s_0 = tanh(W h_1 of the backward RNN): appendix A.2.2; the forward RNN's last state if it is the only one.
        initial = torch.tanh(self.bridge(final[:, -1]))
        if self.config.attention == "none":  # the fixed context: the final states of both directions
            return Memory((final.flatten(1)[:, None, :], annotations[:, :, :1], initial), lengths, None)
        return Memory((annotations, self.attention.keys(annotations), initial), lengths, None)

    def start(self, memory: Memory) -> State:
        """Return the state of every decoder layer [B, D], then an LSTM's cells; zero above the first layer."""
        initial = memory.arrays[2]
        hidden = [initial] + [torch.zeros_like(initial) for _ in self.cells[1:]]
        cells = [torch.zeros_like(initial) for _ in self.cells] if self.config.cell == "lstm" else []
        return (*hidden, *cells)

    def _advance(self, embedded: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Return one step: embedded [B, E] → context [B, M], next state, weights [B, S]."""
        annotations, keys, _ = memory.arrays
        depth = len(self.cells)
        if self.transition is not None:
            # 1703.04357: s' from the previous word, attention from s', then s from c and s'
            state = (self.transition(embedded, state[0]),)
        context, weights = self.attention(state[depth - 1], annotations, keys, memory.lengths)
        values = context if self.transition is not None else torch.cat([embedded, context], dim=-1)
        hidden, cells = [], []
        for i, cell in enumerate(self.cells):
            if self.config.cell == "lstm":
                values, kept = cell(values, (state[i], state[depth + i]))
                cells.append(kept)
            else:
                values = cell(values, state[i])
            hidden.append(values)
        return context, (*hidden, *cells), weights

    def decode(self, target_in: Tensor, memory: Memory) -> Decoded:
        """Return hidden [B, T, E'] and cross attention [B, 1, 1, T, S], from [B, T]."""
        embedded = self.dropout(self.target_embedding(target_in))
        state = self.start(memory)
        states, contexts, weights = [], [], []
        for inputs in embedded.unbind(1):
            context, state, attention = self._advance(inputs, state, memory)
            states.append(state[len(self.cells) - 1])
            contexts.append(context)
            weights.append(attention)
        hidden = self.deep_output(torch.stack(states, 1), embedded, torch.stack(contexts, 1))
        return Decoded(hidden, torch.stack(weights, 1)[:, None, None], None)

    def logits(self, hidden: Tensor, pieces: Tensor | None = None) -> Tensor:
        """Return the logits [..., V] of [..., output_size], or [..., C] of the ``pieces`` [C]."""
        return partial_linear(hidden, self.output.weight, self.output.bias, pieces)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Return logits [B, V], the next state and cross attention [B, 1, 1, S], from the last tokens [B]."""
        embedded = self.dropout(self.target_embedding(tokens))
        context, state, weights = self._advance(embedded, state, memory)
        hidden = self.deep_output(state[len(self.cells) - 1], embedded, context)
        return self.logits(hidden), state, weights[:, None, None]
