"""The graphs of the RNN encoder–decoder: encoder, one decoder step, forced decoding."""

from collections.abc import Mapping

import numpy as np

from training.export.graphs.blocks import (
    FLOAT,
    INT32,
    INT64,
    SITE,
    Arrays,
    Hidden,
    OutputLayer,
    Target,
    forced_outputs,
    shifted_right,
    valid_positions,
)
from training.export.graphs.builder import Axes, GraphBuilder
from training.export.graphs.precision import Arithmetic, Operand
from training.export.graphs.recurrent_attention import Attention, Source
from training.export.graphs.recurrent_encoders import Cell, advance, encode
from training.export.layouts import SOURCE, STATE, TARGET, TRANSITION
from training.recipe import BahdanauConfig


class BahdanauGraphs:
    """Builds the graphs of one network in one precision."""

    state_kind = "fixed"
    paddings: Mapping[str, float] = {}

    def __init__(self, config: BahdanauConfig, arithmetic: Arithmetic) -> None:
        self.config, self.arithmetic = config, arithmetic
        self.attention = Attention(config, arithmetic)
        self.target_table = SOURCE if config.tie_embeddings else TARGET
        self.output = OutputLayer(arithmetic, SOURCE if config.tie_embeddings else "output", config.logits_size)

    @property
    def memory(self) -> Arrays:
        """Return the annotations and the source's part of the score, or the one fixed context."""
        return self.attention.memory(self.config.memory_size)

    @property
    def state(self) -> Arrays:
        """Return the hidden state of every decoder layer, and the cells of an LSTM."""
        kinds = ("hidden", "cell") if self.config.cell == "lstm" else ("hidden",)
        axes: Axes = ["N", self.config.decoder_hidden]
        return [(f"{kind}_{i}", axes) for kind in kinds for i in range(self.config.decoder_layers)]

    def encoder(self, graph: GraphBuilder) -> None:
        """Build the encoder: source [B, S], source_lengths [B] → memory and initial states."""
        source = graph.input("source", INT64, ["B", "S"])
        lengths = graph.input("source_lengths", INT64, ["B"])
        memory, state = self._encode(graph, source, lengths)
        dtype = self.arithmetic.dtype
        for (name, axes), tensor in zip(self.memory, memory, strict=True):
            graph.output(name, tensor, dtype, axes)
        for (name, axes), tensor in zip(self.state, state, strict=True):
            graph.output(f"initial_{name}", tensor, dtype, ["B", *axes[1:]])
        self.output.give(graph)

    def decoder(self, graph: GraphBuilder) -> None:
        """Build one step of N = B · K rows."""
        dtype = self.arithmetic.dtype
        tokens = graph.input("tokens", INT64, ["B", "K"])
        past = graph.input("lengths", INT32, ["N"])
        graph.input("total_length", INT32, [1])
        lengths = graph.input("source_lengths", INT64, ["B"])
        candidates = graph.input("candidates", INT64, [1])
        memory = [graph.input(name, dtype, axes) for name, axes in self.memory]
        state = [graph.input(name, dtype, axes) for name, axes in self.state]
        rows = graph.op("Shape", tokens)  # [B, K]
        source = self.attention.source(graph, memory, lengths, rows)
        embedded = self.arithmetic.lookup(graph, self.target_table, graph.reshape(tokens, -1))  # [N, E]
        step = ""
        if self.config.attention == "monotonic":  # the number of tokens that the row has
            shape = graph.op("Concat", rows, graph.integers(1), axis=0)
            step = graph.op("Reshape", graph.op("Cast", past, to=dtype), shape)  # [B, K, 1]
        context, following, _ = self._advance(graph, embedded, state, source, step)
        for (name, axes), tensor in zip(self.state, following, strict=True):
            graph.output(f"next_{name}", tensor, dtype, axes)
        top = following[self.config.decoder_layers - 1]
        self.output.top(graph, self._deep_output(graph, top, embedded, context), rows, candidates)

    def forced(self, graph: GraphBuilder) -> None:
        """Build forced decoding: the same step inside a Scan over all target positions."""
        source_ids = graph.input("source", INT64, ["B", "S"])
        lengths = graph.input("source_lengths", INT64, ["B"])
        target = graph.input("target", INT64, ["B", "T"])
        target_lengths = graph.input("target_lengths", INT64, ["B"])
        memory, state = self._encode(graph, source_ids, lengths)
        rows = graph.op("Concat", graph.op("Shape", target, start=0, end=1), graph.integers(1), axis=0)
        source = self.attention.source(graph, memory, lengths, rows)
        shifted = shifted_right(graph, target)
        embedded = self.arithmetic.lookup(graph, self.target_table, graph.op("Transpose", shifted, perm=[1, 0]))
        tops, contexts, weights = self._scan_targets(graph, embedded, state, source)  # [T, B, …]
        hidden = graph.op("Transpose", self._deep_output(graph, tops, embedded, contexts), perm=[1, 0, 2])
        self.arithmetic.operand(graph, SITE, hidden)
        read = Hidden(hidden, self.arithmetic.dtype, self.config.logits_size)
        forced_outputs(graph, read, Target(target, target_lengths), self.output.logits)
        weights = graph.op("Transpose", self.arithmetic.to_float(graph, weights), perm=[1, 2, 0, 3])  # [B, 1, T, S]
        attention = graph.op("Unsqueeze", weights, graph.integers(1))
        graph.output("cross_attention", attention, FLOAT, ["B", 1, 1, "T", "S"])

    def _encode(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
        """Return memory arrays and initial states, in the order of ``memory`` and ``state``."""
        by_time = graph.op("Transpose", source, perm=[1, 0])
        values = self.arithmetic.lookup(graph, SOURCE, by_time)  # [S, B, E]
        valid = valid_positions(graph, lengths, source, axis=1)
        valid = graph.op("Unsqueeze", graph.op("Transpose", valid, perm=[1, 0]), graph.integers(2))  # [S, B, 1]
        encoded = encode(graph, self.arithmetic, self.config, values, valid)
        if self.config.start == "copy":
            state = encoded.final
        else:
            operand = self.arithmetic.operand(graph, "final", encoded.summary)
            initial = graph.op("Tanh", self.arithmetic.product(graph, "bridge", operand))  # [B, D]
            zeros = graph.op("Mul", initial, self.arithmetic.number(graph, 0.0))
            state = [initial] + [zeros] * (len(self.state) - 1)
        if self.config.attention == "none":
            return [encoded.context], state
        annotations = graph.op("Transpose", encoded.annotations, perm=[1, 0, 2])  # [B, S, M]
        return self.attention.prepare(graph, annotations), state

    def _advance(
        self, graph: GraphBuilder, embedded: str, state: list[str], source: Source, step: str
    ) -> tuple[str, list[str], str]:
        """Return one step: embedded [N, E] → context [N, M], next states, weights [B, K, S]; ``step``: its number."""
        depth = self.config.decoder_layers
        units, gates = self.config.decoder_hidden, Cell.gates(self.config)
        word = self.arithmetic.operand(graph, "embedded", embedded)
        if self.config.conditional:
            state = [self._transition(graph, word, state[0])]
        top = self.arithmetic.operand(graph, "state", state[depth - 1])
        parts = graph.split(self.arithmetic.product(graph, STATE, top), [gates * units, *self.attention.query_sizes()])
        context, weights = self.attention.attend(graph, top.tensor, parts[1:], source, step)
        seen = self.arithmetic.operand(graph, "context", context)
        operands = [seen] if self.config.conditional else [word, seen]
        hidden, cells = [], []
        for layer in range(depth):
            gated = parts[0]
            if layer < depth - 1:
                own = self.arithmetic.operand(graph, f"state_{layer}", state[layer])
                gated = self.arithmetic.product(graph, f"decoder.{layer}.hidden", own)
            inputs = self.arithmetic.product(graph, f"decoder.{layer}.input", *operands)
            kept = state[depth + layer] if self.config.cell == "lstm" else ""
            following = advance(graph, Cell(self.config.cell, units), (inputs, gated), (state[layer], kept))
            hidden.append(following[0])
            cells += following[1:]
            operands = [self.arithmetic.operand(graph, f"hidden_{layer}", following[0])]
        return context, [*hidden, *cells], weights

    def _transition(self, graph: GraphBuilder, word: Operand, state: str) -> str:
        """Compute a conditional GRU's first half (1703.04357): previous word and state [N, D] → attention's query."""
        own = self.arithmetic.operand(graph, "transition", state)
        inputs = self.arithmetic.product(graph, TRANSITION["ih"], word)
        gated = self.arithmetic.product(graph, TRANSITION["hh"], own)
        return advance(graph, Cell("gru", self.config.decoder_hidden), (inputs, gated), (state, ""))[0]

    def _scan_targets(
        self, graph: GraphBuilder, embedded: str, state: list[str], source: Source
    ) -> tuple[str, str, str]:
        """Run the step over [T, B, E]; returns top states [T, B, D], contexts [T, B, M], weights [T, B, 1, S]."""
        body = graph.subgraph("step")
        dtype = self.arithmetic.dtype
        inside = [body.input(body.fresh("state"), dtype, ["B", self.config.decoder_hidden]) for _ in state]
        inputs = body.input(body.fresh("embedded"), dtype, ["B", self.config.embedding])
        sequences, step = [embedded], ""
        if self.config.attention == "monotonic":
            step = body.input(body.fresh("step"), dtype, [1, 1, 1])
            sequences.append(self._steps(graph, embedded))
        context, following, weights = self._advance(body, inputs, inside, source, step)
        results = [following[self.config.decoder_layers - 1], context, weights]
        outer = graph.scan(body, state, sequences, (following, results))
        tops, contexts, all_weights = outer[len(state) :]
        return tops, contexts, all_weights

    def _steps(self, graph: GraphBuilder, embedded: str) -> str:
        """Return 0 … T-1 as [T, 1, 1, 1] for [T, B, E]."""
        zero, one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
        count = graph.op("Squeeze", graph.op("Shape", embedded, start=0, end=1))
        numbers = graph.op("Cast", graph.op("Range", zero, count, one), to=self.arithmetic.dtype)
        return graph.reshape(numbers, -1, 1, 1, 1)

    def _deep_output(self, graph: GraphBuilder, state: str, embedded: str, context: str) -> str:
        """Return maxout(U s + V E y + C c) of appendix A.2.2, [..., output_size], or the state if output is linear."""
        if self.config.output == "linear":
            return state
        names = ("top", state), ("embedded", embedded), ("context", context)
        operands = [self.arithmetic.operand(graph, site, tensor) for site, tensor in names]
        mixed = self.arithmetic.product(graph, "deep_output", *operands)
        size = self.config.output_size
        return graph.op("Max", *graph.split(mixed, [size, size]))
