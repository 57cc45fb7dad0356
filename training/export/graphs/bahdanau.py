"""The graphs of the RNN encoder–decoder: encoder, one decoder step, forced decoding."""

import numpy as np

from training.export.graphs.blocks import Arrays, OutputLayer, shifted_right, valid_positions
from training.export.graphs.builder import Axes, GraphBuilder
from training.export.graphs.network import Attention, NetworkGraphs, Scores, Step
from training.export.graphs.precision import Arithmetic, Operand
from training.export.graphs.recurrent_attention import RecurrentAttention, Source
from training.export.graphs.recurrent_encoders import RecurrentCell, advance, encode
from training.export.layouts import SOURCE, STATE, TARGET, TRANSITION
from training.recipe import BahdanauConfig


class BahdanauGraphs(NetworkGraphs):
    """Builds the graphs of an RNN encoder–decoder."""

    def __init__(self, config: BahdanauConfig, arithmetic: Arithmetic) -> None:
        self.config, self.arithmetic = config, arithmetic
        self.attention = RecurrentAttention(config, arithmetic)
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

    @property
    def scores(self) -> Scores:
        """Return the score of the decoder's attention."""
        return {} if self.attention.score is None else {"cross": self.attention.score}

    def _step(self, graph: GraphBuilder, step: Step, memory: list[str], state: list[str]) -> tuple[str, list[str]]:
        """Return the deep output of one step, and the next states."""
        source = self.attention.source(graph, memory, step.lengths, step.rows)
        embedded = self.arithmetic.lookup(graph, self.target_table, graph.reshape(step.tokens, -1))  # [N, E]
        number = ""
        if self.config.attention == "monotonic":  # the number of tokens that the row has
            shape = graph.op("Concat", step.rows, graph.integers(1), axis=0)
            number = graph.op("Reshape", graph.op("Cast", step.past, to=self.arithmetic.dtype), shape)  # [B, K, 1]
        context, following, _ = self._advance(graph, embedded, state, source, number)
        top = following[self.config.decoder_layers - 1]
        return self._deep_output(graph, top, embedded, context), following

    def _forced(self, graph: GraphBuilder, source: str, lengths: str, target: str) -> tuple[str, Attention]:
        """Run the same step inside a Scan over all target positions."""
        memory, state = self._encoded(graph, source, lengths)
        rows = graph.op("Concat", graph.op("Shape", target, start=0, end=1), graph.integers(1), axis=0)
        shared = self.attention.source(graph, memory, lengths, rows)
        by_time = graph.op("Transpose", shifted_right(graph, target), perm=[1, 0])
        embedded = self.arithmetic.lookup(graph, self.target_table, by_time)
        tops, contexts, weights = self._scan_targets(graph, embedded, state, shared)  # [T, B, …]
        self.attention.record_all_steps(graph)
        hidden = graph.op("Transpose", self._deep_output(graph, tops, embedded, contexts), perm=[1, 0, 2])
        weights = graph.op("Unsqueeze", graph.op("Transpose", weights, perm=[1, 2, 0, 3]), graph.integers(1))
        return hidden, {"cross_attention": (weights, ["B", 1, 1, "T", "S"])}

    def _encoded(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
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
        units, gates = self.config.decoder_hidden, RecurrentCell.gates(self.config)
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
                operand = self.arithmetic.operand(graph, f"state_{layer}", state[layer])
                gated = self.arithmetic.product(graph, f"decoder.{layer}.hidden", operand)
            inputs = self.arithmetic.product(graph, f"decoder.{layer}.input", *operands)
            kept = state[depth + layer] if self.config.cell == "lstm" else ""
            following = advance(graph, RecurrentCell(self.config.cell, units), (inputs, gated), (state[layer], kept))
            hidden.append(following[0])
            cells += following[1:]
            operands = [self.arithmetic.operand(graph, f"hidden_{layer}", following[0])]
        return context, [*hidden, *cells], weights

    def _transition(self, graph: GraphBuilder, word: Operand, state: str) -> str:
        """Compute a conditional GRU's first half (1703.04357): previous word and state [N, D] → attention's query."""
        operand = self.arithmetic.operand(graph, "transition", state)
        inputs = self.arithmetic.product(graph, TRANSITION["ih"], word)
        gated = self.arithmetic.product(graph, TRANSITION["hh"], operand)
        return advance(graph, RecurrentCell("gru", self.config.decoder_hidden), (inputs, gated), (state, ""))[0]

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
