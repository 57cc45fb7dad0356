"""The RNN encoder–decoder with attention (arXiv 1409.0473, appendix A) and common variants of it."""

import torch
from torch import Tensor, nn

from service.bundle.vocabulary import PAD
from training.networks.dropout import Dropout
from training.networks.interface import Choices, Decoded, Memory, State, partial_linear
from training.networks.recurrent_attention import RecurrentAttention
from training.networks.recurrent_encoders import ConvolutionalEncoder, Encoder
from training.recipe import BahdanauConfig


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


class LinearOutput(nn.Module):
    """The plain output layer, whose logits depend on the decoder's state alone (d2l.ai)."""

    def __init__(self, config: BahdanauConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)

    def forward(self, state: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """Return the state, [..., D]."""
        result: Tensor = self.dropout(state)
        return result


class Bahdanau(nn.Module):
    """The network: encoder, attention, decoder and output layer over one joint vocabulary."""

    by_piece = ("source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias")
    """Parameters whose first axis is the vocabulary."""

    def __init__(self, config: BahdanauConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.memory_size = config.memory_size
        self.source_embedding = nn.Embedding(vocabulary, config.embedding, padding_idx=PAD)
        self.target_embedding = nn.Embedding(vocabulary, config.embedding, padding_idx=PAD)
        self.encoder = Encoder(config) if config.encoder == "recurrent" else ConvolutionalEncoder(config)
        self.bridge: nn.Linear | None = None
        if config.start == "bridge":
            self.bridge = nn.Linear(self.encoder.summary_size, config.decoder_hidden)
        self.attention = RecurrentAttention(config, self.memory_size)
        cell = nn.GRUCell if config.cell == "gru" else nn.LSTMCell
        self.transition = nn.GRUCell(config.embedding, config.decoder_hidden) if config.conditional else None
        first = self.memory_size + (0 if config.conditional else config.embedding)
        sizes = [first] + [config.decoder_hidden] * (config.decoder_layers - 1)
        self.cells = nn.ModuleList(cell(size, config.decoder_hidden) for size in sizes)
        self.deep_output = DeepOutput(config, self.memory_size) if config.output == "deep" else LinearOutput(config)
        self.output = nn.Linear(config.logits_size, vocabulary)
        self.dropout = Dropout(config.dropout)
        self.layer_dropout = Dropout(config.layer_dropout)
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
            nn.init.normal_(embedding.weight, std=self.config.embedding_deviation or self.config.embedding**-0.5)
        if self.config.tie_embeddings:
            self.target_embedding.weight = self.source_embedding.weight
            self.output.weight = self.source_embedding.weight

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Return annotations [B, S, M], projected keys [B, S, A] and initial states [B, L, D], from [B, S] and [B].

        There is one initial state, that of the lowest layer, or with ``start: copy`` one for every layer and kind.
        """
        encoded = self.encoder(self.dropout(self.source_embedding(source)), lengths)
        annotations = self.dropout(encoded.annotations)
        # s_0 = tanh(W h_1 of the backward RNN): appendix A.2.2; the forward RNN's last state if it is the only one.
        first = encoded.final if self.bridge is None else (torch.tanh(self.bridge(encoded.summary)),)
        initial = torch.stack(first, dim=1)
        if self.config.attention == "none":  # the fixed context: the final states of both directions
            return Memory((encoded.context[:, None, :], annotations[:, :, :1], initial), lengths, None)
        return Memory((annotations, self.attention.keys(annotations), initial), lengths, None)

    def start(self, memory: Memory) -> State:
        """Return the state of every decoder layer [B, D], then an LSTM's cells; then the step's number, int64 [B].

        States without an initial value are zero.
        """
        initial = memory.arrays[2].unbind(1)
        kinds = 2 if self.config.cell == "lstm" else 1
        rest = [torch.zeros_like(initial[0])] * (kinds * len(self.cells) - len(initial))
        return (*initial, *rest, torch.zeros_like(memory.lengths))

    def _advance(self, embedded: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor, Tensor]:
        """Return one step: embedded [B, E] → context [B, M], next state, weights [B, S], attention's query [B, D]."""
        annotations, keys, _ = memory.arrays
        depth, step = len(self.cells), state[-1]
        if self.transition is not None:
            # 1703.04357: s' from the previous word, attention from s', then s from c and s'
            state = (self.transition(embedded, state[0]), step)
        query = state[depth - 1]
        context, weights = self.attention(query, annotations, keys, memory.lengths, step)
        values = context if self.transition is not None else torch.cat([embedded, context], dim=-1)
        hidden, cells = [], []
        for i, cell in enumerate(self.cells):
            values = self.layer_dropout(values) if i else values
            if self.config.cell == "lstm":
                values, kept = cell(values, (state[i], state[depth + i]))
                cells.append(kept)
            else:
                values = cell(values, state[i])
            hidden.append(values)
        return context, (*hidden, *cells, step + 1), weights, query

    def decode(self, target_in: Tensor, memory: Memory) -> Decoded:
        """Return hidden [B, T, E'] and cross attention [B, 1, 1, T, S], from [B, T]."""
        embedded = self.dropout(self.target_embedding(target_in))
        state = self.start(memory)
        states, contexts, weights, queries = [], [], [], []
        for inputs in embedded.unbind(1):
            context, state, attention, query = self._advance(inputs, state, memory)
            states.append(state[len(self.cells) - 1])
            contexts.append(context)
            weights.append(attention)
            queries.append(query)
        hidden = self.deep_output(torch.stack(states, 1), embedded, torch.stack(contexts, 1))
        return Decoded(hidden, torch.stack(weights, 1)[:, None, None], None, self._choices(queries, weights, memory))

    def _choices(self, queries: list[Tensor], weights: list[Tensor], memory: Memory) -> Choices | None:
        """Return what REINFORCE needs, in training, from the query and the chosen position of every step."""
        if not (self.training and self.attention.sampled):
            return None
        keys, lengths = memory.arrays[1], memory.lengths
        found = [self.attention.choices(q, keys, lengths, w) for q, w in zip(queries, weights, strict=True)]
        likelihood, entropy = (torch.stack(parts, 1) for parts in zip(*found, strict=True))
        return Choices(likelihood, entropy, self.config.entropy_weight, self.config.reinforce_weight)

    def logits(self, hidden: Tensor, pieces: Tensor | None = None) -> Tensor:
        """Return the logits [..., V] of [..., output_size], or [..., C] of the ``pieces`` [C]."""
        return partial_linear(hidden, self.output.weight, self.output.bias, pieces)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Return logits [B, V], the next state and cross attention [B, 1, 1, S], from the last tokens [B]."""
        embedded = self.dropout(self.target_embedding(tokens))
        context, state, weights, _ = self._advance(embedded, state, memory)
        hidden = self.deep_output(state[len(self.cells) - 1], embedded, context)
        return self.logits(hidden), state, weights[:, None, None]
