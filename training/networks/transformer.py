"""The Transformer (arXiv 1706.03762)."""

import math

import torch
from torch import Tensor, nn

from service.bundle.vocabulary import PAD
from training.network_config import REACH, TransformerConfig
from training.networks.attention import MultiHeadAttention, directions, valid_positions
from training.networks.dropout import Dropout
from training.networks.interface import Decoded, Memory, State, partial_linear
from training.networks.positions import sinusoidal_table


def sinusoidal_positions(length: int, width: int, layout: str = "interleaved") -> Tensor:
    """Return the position table [length, width] of section 3.5, or another ``layout`` of it."""
    return torch.from_numpy(sinusoidal_table(length, width, layout))


_ACTIVATIONS = {"relu": torch.relu, "swish": nn.functional.silu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """The feed-forward network f(x W₁ + b₁) W₂ + b₂, with f(x) = max(0, x) in section 3.3."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feed_forward)
        self.outer = nn.Linear(config.feed_forward, config.width)
        self.dropout = Dropout(config.activation_dropout)
        self.activation = _ACTIVATIONS[config.activation]

    def forward(self, values: Tensor) -> Tensor:
        """Return [..., W] of [..., W]."""
        result: Tensor = self.outer(self.dropout(self.activation(self.inner(values))))
        return result


class Residual(nn.Module):
    """The residual connection around a sub-layer: sum, dropout, and LayerNorm after (section 5.4) or before it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.dropout = Dropout(config.dropout)
        self.before = config.norm == "pre"

    def enter(self, values: Tensor) -> Tensor:
        """Return the input of the sub-layer."""
        return self.norm(values) if self.before else values

    def leave(self, values: Tensor, result: Tensor) -> Tensor:
        """Add the sub-layer's result to its input."""
        total: Tensor = values + self.dropout(result)
        return total if self.before else self.norm(total)


class EncoderLayer(nn.Module):
    """An encoder layer: self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        reach = REACH if config.positions == "relative" else 0
        self.attention = MultiHeadAttention(config.width, config.heads, config.attention_dropout, reach)
        self.attention_frame = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_frame = Residual(config)

    def forward(self, values: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return [B, S, W] and weights [B, H, S, S], from [B, S, W] and a bool for [B, H, S, S] (broadcast)."""
        seen = self.attention_frame.enter(values)
        attended = self.attention(seen, *self.attention.keys_values(seen), valid)
        values = self.attention_frame.leave(values, attended.context)
        result = self.feed_forward(self.feed_forward_frame.enter(values))
        return self.feed_forward_frame.leave(values, result), attended.weights


class Ssru(nn.Module):
    """The simpler simple recurrent unit (Kim et al. 2019, D19-5632): its forget gate does not depend on its cell."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.candidate = nn.Linear(width, width, bias=False)
        self.forget = nn.Linear(width, width)

    def forward(self, values: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs [B, T, W] and the last cell [B, W], from values [B, T, W] and the cell before them."""
        candidates, kept, cells = self.candidate(values), torch.sigmoid(self.forget(values)), []
        for candidate, keep in zip(candidates.unbind(1), kept.unbind(1), strict=True):
            cell = candidate + keep * (cell - candidate)
            cells.append(cell)
        return torch.relu(torch.stack(cells, dim=1)), cell


class DecoderLayer(nn.Module):
    """A decoder layer: what is known of the past, attention over the source, feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.recurrent = config.decoder == "ssru"
        if self.recurrent:
            self.ssru = Ssru(config.width)
            self.ssru_frame = Residual(config)
        else:
            self.attention = MultiHeadAttention(config.width, config.heads, config.attention_dropout)
            self.attention_frame = Residual(config)
        self.cross = MultiHeadAttention(config.width, config.heads, config.attention_dropout)
        self.cross_frame = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_frame = Residual(config)

    def forward(
        self, values: Tensor, past: State, causal: Tensor, memory: State, valid: Tensor
    ) -> tuple[Tensor, tuple[Tensor | None, Tensor], State]:
        """Run T positions after P past ones.

        values [B, T, W]; past keys and values [B, H, P, D], or a cell [B, W], or nothing at the beginning; causal bool
        [T, P + T]; memory keys and values [B, H, S, D]; valid bool [B, 1, 1, S]. Returns values, (self, cross) weights,
        keys and values so far or the next cell.
        """
        own, values, kept = self._unit(values, past) if self.recurrent else self._attend(values, past, causal)
        cross = self.cross(self.cross_frame.enter(values), memory[0], memory[1], valid)
        values = self.cross_frame.leave(values, cross.context)
        result = self.feed_forward(self.feed_forward_frame.enter(values))
        values = self.feed_forward_frame.leave(values, result)
        return values, (own, cross.weights), kept

    def _attend(self, values: Tensor, past: State, causal: Tensor) -> tuple[Tensor | None, Tensor, State]:
        seen = self.attention_frame.enter(values)
        keys, vals = self.attention.keys_values(seen)
        if past:
            keys, vals = torch.cat([past[0], keys], dim=2), torch.cat([past[1], vals], dim=2)
        own = self.attention(seen, keys, vals, causal)
        return own.weights, self.attention_frame.leave(values, own.context), (keys, vals)

    def _unit(self, values: Tensor, past: State) -> tuple[Tensor | None, Tensor, State]:
        seen = self.ssru_frame.enter(values)
        result, cell = self.ssru(seen, past[0] if past else torch.zeros_like(seen[:, 0]))
        return None, self.ssru_frame.leave(values, result), (cell,)


class Transformer(nn.Module):
    """Encoder and decoder with one embedding matrix for source, target and output (section 3.4).

    With ``share_embeddings: false`` the source has its own table, with ``tie_output: false`` the target, too.
    """

    by_piece = ("embedding.weight", "source_embedding.weight", "target_embedding.weight", "output_bias")
    """Parameters whose first axis is the vocabulary."""

    def __init__(self, config: TransformerConfig, vocabulary: int, max_positions: int = 512) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.width, padding_idx=PAD)
        own = not config.share_embeddings
        self.source_embedding = nn.Embedding(vocabulary, config.width, padding_idx=PAD) if own else None
        own = not config.tie_output
        self.target_embedding = nn.Embedding(vocabulary, config.width, padding_idx=PAD) if own else None
        self.output_bias = nn.Parameter(torch.zeros(vocabulary))
        self.scale = math.sqrt(config.width) if config.scale_embedding else 1.0  # section 3.4
        self.positions: Tensor
        positions = sinusoidal_positions(max_positions, config.width, config.positions)
        if config.positions == "learned":
            self.positions = nn.Parameter(positions)
        else:
            self.register_buffer("positions", positions, persistent=False)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # With LayerNorm before each sub-layer the sum itself is not normalised, so this is done at the end.
        final = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm = final(config.width, config.norm_epsilon)
        self.decoder_norm = final(config.width, config.norm_epsilon)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for attention in (m for m in self.modules() if isinstance(m, MultiHeadAttention)):
            for half in attention.key_value.weight.data.chunk(2):  # as two square matrices
                nn.init.xavier_uniform_(half)
        for table in (self.embedding, self.source_embedding, self.target_embedding):
            if table is not None:
                nn.init.normal_(table.weight, std=self.config.width**-0.5)

    def _embed(self, table: nn.Embedding, tokens: Tensor, first: int = 0, positions: bool = True) -> Tensor:
        values = table(tokens) * self.scale  # [B, T, W]
        if positions:
            values = values + self.positions[first : first + tokens.shape[1]]
        return self.dropout(values)  # type: ignore[no-any-return]

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Return keys and values of every decoder layer's cross attention, each [B, H, S, D]."""
        valid = valid_positions(lengths, source.shape[1])[:, None, None, :]
        if self.config.positions == "directional":
            # A position after the sentence's end sees all of it: of nothing, a softmax would not be a number.
            allowed = directions(source.shape[1], self.config.heads, source.device)  # [H, S, S]
            valid = valid & (allowed | ~valid.transpose(-1, -2))
        table, added = self.source_embedding or self.embedding, self.config.encoder_adds_positions
        values, weights = self._embed(table, source, positions=added), []
        for layer in self.encoder:
            values, own = layer(values, valid)
            weights.append(own)
        values = self.encoder_norm(values)
        arrays = [array for layer in self.decoder for array in layer.cross.keys_values(values)]  # type: ignore[operator, union-attr]
        return Memory(tuple(arrays), lengths, torch.stack(weights, dim=1))

    def _run(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, list[Tensor], list[Tensor], State]:
        """Return hidden [B, T, W], self and cross weights by layer, and the state, for tokens [B, T] after P others.

        The state has the keys and values of every layer, or its cell; the last array is P, [B].
        """
        past, each = int(state[-1][0]) if state else 0, 1 if self.config.decoder == "ssru" else 2
        total = past + tokens.shape[1]
        causal = torch.ones(total, total, dtype=torch.bool, device=tokens.device).tril()[past:]
        valid = valid_positions(memory.lengths, memory.arrays[0].shape[2])[:, None, None, :]
        values = self._embed(self.target_embedding or self.embedding, tokens, past)
        own: list[Tensor] = []
        cross, present = [], []
        for i, layer in enumerate(self.decoder):
            before = state[each * i : each * (i + 1)] if state else ()
            values, weights, kept = layer(values, before, causal, memory.arrays[2 * i : 2 * i + 2], valid)
            own += [] if weights[0] is None else [weights[0]]
            cross.append(weights[1])
            present.extend(kept)
        present.append(torch.full((len(tokens),), total, device=tokens.device))
        return self.decoder_norm(values), own, cross, tuple(present)

    def decode(self, target_in: Tensor, memory: Memory) -> Decoded:
        """Return hidden [B, T, W], cross attention [B, L, H, T, S] and decoder attention [B, L, H, T, T], if any."""
        hidden, own, cross, _ = self._run(target_in, (), memory)
        return Decoded(hidden, torch.stack(cross, dim=1), torch.stack(own, dim=1) if own else None)

    def logits(self, hidden: Tensor, pieces: Tensor | None = None) -> Tensor:
        """Return the logits [..., V] by the embedding matrix (section 3.4), or [..., C] of the ``pieces`` [C]."""
        return partial_linear(hidden, self.embedding.weight, self.output_bias, pieces)

    def start(self, memory: Memory) -> State:
        """Return nothing: neither keys and values, nor cells."""
        return ()

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Return logits [B, V], the state with one more position, and cross attention [B, L, H, S]."""
        hidden, _, cross, state = self._run(tokens[:, None], state, memory)
        return self.logits(hidden[:, 0]), state, torch.stack(cross, dim=1)[:, :, :, 0]
