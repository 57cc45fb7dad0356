"""The Transformer's graphs: encoder, one decoder step, forced decoding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from training.config import TransformerConfig
from training.data.subwords import BOS
from training.export.arithmetic import Arithmetic, Operand
from training.export.common import (
    FLOAT,
    INT32,
    INT64,
    Arrays,
    forced_outputs,
    top_candidates,
    valid_mask,
)
from training.export.graph import Axes, GraphBuilder
from training.export.parameters import POSITIONS
from training.export.transformer_parameters import EMBEDDING, norm_names


class _Stream:
    """The residual stream with its LayerNorms, sum and norm in one node: section 5.4, or pre-norm."""

    def __init__(self, graph: GraphBuilder, arithmetic: Arithmetic, norms: Sequence[str], before: bool) -> None:
        self._graph, self._arithmetic = graph, arithmetic
        self._norms, self._before = iter(norms), before
        self.seen = ""
        """What the next sub-layer reads."""
        self._sum = ""

    def start(self, embedded: str, positions: str) -> None:
        """Begin with embeddings [..., W] plus positions of the same shape."""
        if self._before:
            self._sum = embedded
            self.add(positions)
        else:
            self.seen = self._graph.op("Add", embedded, positions)

    def add(self, result: str) -> None:
        """Take in what a sub-layer gave [..., W]."""
        norm = next(self._norms)
        scale, bias = (self._arithmetic.vector(self._graph, f"{norm}.{part}") for part in ("weight", "bias"))
        values = self._sum if self._before else self.seen
        self.seen, _, _, self._sum = self._graph.ops(
            "SkipLayerNormalization",
            [values, result, scale, bias],
            [True, False, False, self._before],
            domain="com.microsoft",
            epsilon=1e-5,
        )


class TransformerGraphs:
    """Builds the graphs of one network in one arithmetic."""

    def __init__(self, config: TransformerConfig, arithmetic: Arithmetic) -> None:
        self.config, self.arithmetic = config, arithmetic
        self.head = config.width // config.heads

    @property
    def memory(self) -> Arrays:
        """Cross-attention keys, transposed so that no step has to, and values, of every decoder layer."""
        heads, size = self.config.heads, self.head
        arrays: Arrays = []
        for i in range(self.config.decoder_layers):
            arrays.append((f"cross_key_{i}", ["B", heads, size, "S"]))
            arrays.append((f"cross_value_{i}", ["B", heads, "S", size]))
        return arrays

    @property
    def state(self) -> Arrays:
        """Self-attention keys and values of every decoder layer."""
        axes: Axes = ["N", self.config.heads, "T", self.head]
        return [(f"self_{kind}_{i}", axes) for i in range(self.config.decoder_layers) for kind in ("key", "value")]

    state_kind = "cache"

    def encoder(self, graph: GraphBuilder) -> None:
        """source [B, S], source_lengths [B] → memory."""
        source = graph.input("source", INT64, ["B", "S"])
        lengths = graph.input("source_lengths", INT64, ["B"])
        arrays, _ = self._encode(graph, source, lengths)
        for (name, axes), tensor in zip(self.memory, arrays, strict=True):
            graph.output(name, tensor, self.arithmetic.dtype, axes)

    def decoder(self, graph: GraphBuilder) -> None:
        """One step of N = B · K rows."""
        tokens = graph.input("tokens", INT64, ["B", "K"])
        lengths = graph.input("lengths", INT32, ["N"])
        total = graph.input("total_length", INT32, [1])
        source_lengths = graph.input("source_lengths", INT64, ["B"])
        candidates = graph.input("candidates", INT64, [1])
        memory = [graph.input(name, self.arithmetic.dtype, axes) for name, axes in self.memory]
        state = [graph.input(name, self.arithmetic.dtype, axes) for name, axes in self.state]
        rows = graph.op("Shape", tokens)  # [B, K]
        split = graph.op("Concat", rows, graph.integers(self.config.heads, self.head), axis=0)
        mask = valid_mask(graph, self.arithmetic, source_lengths, memory[1], axis=2)
        stream = _Stream(graph, self.arithmetic, norm_names(self.config, "decoder"), self.config.norm == "pre")
        embedded = self.arithmetic.lookup(graph, EMBEDDING, graph.reshape(tokens, -1))  # [N, W]
        stream.start(embedded, self.arithmetic.from_float(graph, graph.op("Gather", graph.weight(POSITIONS), lengths)))
        for i in range(self.config.decoder_layers):
            name = f"decoder.{i}"
            qkv = self._product(graph, f"{name}.attention.qkv", stream.seen, f"{name}.attention")  # [N, 3W]
            pair = state[2 * i : 2 * i + 2]
            context, key, value = graph.ops(
                "GroupQueryAttention",
                [graph.reshape(qkv, -1, 1, 3 * self.config.width), "", "", *pair, lengths, total],
                3,
                domain="com.microsoft",
                num_heads=self.config.heads,
                kv_num_heads=self.config.heads,
            )
            for (array, axes), tensor in zip(self.state[2 * i : 2 * i + 2], (key, value), strict=True):
                graph.output(f"next_{array}", tensor, self.arithmetic.dtype, axes)
            context = graph.reshape(context, -1, self.config.width)
            stream.add(self._product(graph, f"{name}.attention.output", context))
            query = self._product(graph, f"{name}.cross.query", stream.seen, f"{name}.cross")
            query = graph.op("Transpose", graph.op("Reshape", query, split), perm=[0, 2, 1, 3])  # [B, H, K, D]
            weights = self._weights(graph, query, memory[2 * i], mask)
            context = graph.op("Transpose", graph.op("MatMul", weights, memory[2 * i + 1]), perm=[0, 2, 1, 3])
            stream.add(self._product(graph, f"{name}.cross.output", graph.reshape(context, -1, self.config.width)))
            stream.add(self._feed_forward(graph, name, stream.seen))
        top_candidates(graph, self._logits(graph, stream.seen), rows, candidates)

    def forced(self, graph: GraphBuilder) -> None:
        """Source and whole target at once, with every attention weight."""
        source = graph.input("source", INT64, ["B", "S"])
        source_lengths = graph.input("source_lengths", INT64, ["B"])
        target = graph.input("target", INT64, ["B", "T"])
        target_lengths = graph.input("target_lengths", INT64, ["B"])
        memory, encoder_weights = self._encode(graph, source, source_lengths)
        begin = graph.constant(np.array(BOS, np.int64))
        shifted = graph.op("Pad", target, graph.integers(0, 1, 0, -1), begin)
        size = graph.op("Shape", target, start=1, end=2)
        stream = self._start(graph, shifted, size, "decoder")
        mask = valid_mask(graph, self.arithmetic, source_lengths, memory[1], axis=2)
        causal = self._causal_mask(graph, size)
        own_weights, cross_weights = [], []
        for i in range(self.config.decoder_layers):
            name = f"decoder.{i}"
            query, key, value = self._heads(
                graph, self._product(graph, f"{name}.attention.qkv", stream.seen, f"{name}.attention"), 3
            )
            weights = self._weights(graph, query, graph.op("Transpose", key, perm=[0, 1, 3, 2]), causal)
            own_weights.append(weights)
            stream.add(self._product(graph, f"{name}.attention.output", self._merge(graph, weights, value)))
            (query,) = self._heads(graph, self._product(graph, f"{name}.cross.query", stream.seen, f"{name}.cross"), 1)
            weights = self._weights(graph, query, memory[2 * i], mask)
            cross_weights.append(weights)
            context = self._merge(graph, weights, memory[2 * i + 1])
            stream.add(self._product(graph, f"{name}.cross.output", context))
            stream.add(self._feed_forward(graph, name, stream.seen))
        forced_outputs(graph, self._logits(graph, stream.seen), target, target_lengths)
        heads = self.config.heads
        for kind, weights_list, axes in (
            ("cross_attention", cross_weights, ["T", "S"]),
            ("encoder_attention", encoder_weights, ["S", "S"]),
            ("decoder_attention", own_weights, ["T", "T"]),
        ):
            layers = [graph.op("Unsqueeze", weights, graph.integers(1)) for weights in weights_list]
            stacked = graph.op("Concat", *layers, axis=1) if len(layers) > 1 else layers[0]
            stacked = self.arithmetic.to_float(graph, stacked)
            graph.output(kind, stacked, FLOAT, ["B", len(layers), heads, *axes])

    def _encode(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
        """Memory arrays in the order of ``memory``, and the attention weights of every layer."""
        stream = self._start(graph, source, graph.op("Shape", source, start=1, end=2), "encoder")
        mask = valid_mask(graph, self.arithmetic, lengths, source, axis=1)
        all_weights = []
        for i in range(self.config.encoder_layers):
            name = f"encoder.{i}"
            qkv = self._product(graph, f"{name}.attention.qkv", stream.seen, f"{name}.attention")
            query, key, value = self._heads(graph, qkv, 3)
            weights = self._weights(graph, query, graph.op("Transpose", key, perm=[0, 1, 3, 2]), mask)
            all_weights.append(weights)
            stream.add(self._product(graph, f"{name}.attention.output", self._merge(graph, weights, value)))
            stream.add(self._feed_forward(graph, name, stream.seen))
        annotations = self.arithmetic.operand(graph, "annotations", stream.seen)
        arrays = []
        for i in range(self.config.decoder_layers):
            keys_values = self.arithmetic.product(graph, f"decoder.{i}.cross.key_value", annotations)
            key, value = self._heads(graph, keys_values, 2)
            arrays += [graph.op("Transpose", key, perm=[0, 1, 3, 2]), value]
        return arrays, all_weights

    def _start(self, graph: GraphBuilder, ids: str, size: str, side: str) -> _Stream:
        """Embeddings plus positions of whole sequences: [B, S] → [B, S, W]."""
        stream = _Stream(graph, self.arithmetic, norm_names(self.config, side), self.config.norm == "pre")
        embedded = self.arithmetic.lookup(graph, EMBEDDING, ids)
        positions = graph.op("Slice", graph.weight(POSITIONS), graph.integers(0), size)
        stream.start(embedded, self.arithmetic.from_float(graph, positions))
        return stream

    def _product(self, graph: GraphBuilder, name: str, tensor: str, site: str | None = None) -> str:
        operand = self.arithmetic.operand(graph, site or name, tensor)
        return self.arithmetic.product(graph, name, operand)

    def _feed_forward(self, graph: GraphBuilder, name: str, seen: str) -> str:
        inner = graph.op("Relu", self._product(graph, f"{name}.feed_forward.inner", seen))
        return self._product(graph, f"{name}.feed_forward.outer", inner)

    def _heads(self, graph: GraphBuilder, tensor: str, parts: int) -> list[str]:
        """[B, T, parts · W] → parts of [B, H, T, D]."""
        heads = self.config.heads
        split = graph.reshape(tensor, 0, 0, parts * heads, self.head)
        return graph.split(graph.op("Transpose", split, perm=[0, 2, 1, 3]), [heads] * parts, axis=1)

    def _merge(self, graph: GraphBuilder, weights: str, values: str) -> str:
        """[B, H, T, S], [B, H, S, D] → [B, T, W]."""
        context = graph.op("Transpose", graph.op("MatMul", weights, values), perm=[0, 2, 1, 3])
        return graph.reshape(context, 0, 0, self.config.width)

    def _weights(self, graph: GraphBuilder, query: str, transposed_key: str, mask: str) -> str:
        """softmax(q kᵀ / √d + mask): [B, H, T, D], [B, H, D, S] → [B, H, T, S]."""
        scores = graph.fused("FusedMatMul", query, transposed_key, alpha=1 / math.sqrt(self.head))
        return graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)

    def _causal_mask(self, graph: GraphBuilder, size: str) -> str:
        """0 where a position may be looked at, -inf above the diagonal: [T, T]."""
        low = self.arithmetic.number(graph, float("-inf"))
        square = graph.op("Expand", low, graph.op("Concat", size, size, axis=0))
        return graph.op("Trilu", square, graph.constant(np.array(1, np.int64)), upper=1)

    def _logits(self, graph: GraphBuilder, seen: str) -> str:
        operand: Operand = self.arithmetic.operand(graph, "output", seen)
        return self.arithmetic.logits(graph, EMBEDDING, operand, 1 / math.sqrt(self.config.width))
