"""The Transformer's graphs: encoder, one decoder step, forced decoding."""

import math
from collections.abc import Mapping
from typing import NamedTuple

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
    valid_mask,
    valid_positions,
)
from training.export.graphs.builder import MICROSOFT, Axes, GraphBuilder
from training.export.graphs.order import Order
from training.export.graphs.precision import Arithmetic
from training.export.graphs.residual import Stream
from training.export.graphs.ssru import Ssru
from training.export.layouts import EMBEDDING, SOURCE_EMBEDDING, embedding_scale, position_table
from training.recipe import TransformerConfig


class _Past(NamedTuple):
    """The numbers of tokens that have been decoded."""

    lengths: str
    """int32 [N]."""
    total: str
    """int32 [1]: the longest, with the new position."""


class _Shape(NamedTuple):
    """The values that every cross-attention of a step needs."""

    by_head: str
    """int64 [4] = (B, K, H, D)."""
    mask: str
    """Added to scores, [B, 1, 1, S]."""


VALID = "source_valid"
"""A memory array: 1 within a sentence and 0 after it, [B, 1, 1, S]. A step adds its logarithm to scores, in one small
node instead of six that compare positions with lengths (4 to 8 % of a step)."""


class TransformerGraphs:
    """Builds the graphs of one network in one precision."""

    def __init__(self, config: TransformerConfig, arithmetic: Arithmetic) -> None:
        self.config, self.arithmetic = config, arithmetic
        self.head = config.width // config.heads
        # GroupQueryAttention needs head sizes that are multiples of 8: others are padded with zeros in the cache.
        self.cached_head = -(-self.head // 8) * 8
        self.output = OutputLayer(arithmetic, EMBEDDING, config.width, 1 / embedding_scale(config))
        layers = config.decoder_layers if config.decoder == "ssru" else 0
        self.units = [Ssru(arithmetic, f"decoder.{i}.ssru", config.width) for i in range(layers)]

    paddings: Mapping[str, float] = {VALID: 0.0}

    @property
    def memory(self) -> Arrays:
        """Return cross-attention keys (transposed) and values of every decoder layer, and the valid positions."""
        heads, size = self.config.heads, self.head
        arrays: Arrays = []
        for i in range(self.config.decoder_layers):
            arrays.append((f"cross_key_{i}", ["B", heads, size, "S"]))
            arrays.append((f"cross_value_{i}", ["B", heads, "S", size]))
        return [*arrays, (VALID, ["B", 1, 1, "S"])]

    @property
    def state(self) -> Arrays:
        """Return self-attention keys and values of every decoder layer, or the cell of its unit."""
        layers = range(self.config.decoder_layers)
        if self.units:
            return [(f"cell_{i}", ["N", 1, self.config.width]) for i in layers]
        axes: Axes = ["N", self.config.heads, "T", self.cached_head]
        return [(f"self_{kind}_{i}", axes) for i in layers for kind in ("key", "value")]

    @property
    def state_kind(self) -> str:
        """Return whether the state grows with every token (``cache``) or not (``fixed``)."""
        return "fixed" if self.units else "cache"

    def encoder(self, graph: GraphBuilder) -> None:
        """Build the encoder: source [B, S], source_lengths [B] → memory."""
        source = graph.input("source", INT64, ["B", "S"])
        lengths = graph.input("source_lengths", INT64, ["B"])
        arrays, _ = self._encode(graph, source, lengths)
        valid = valid_positions(graph, lengths, source, axis=1, between=2)
        arrays.append(graph.op("Cast", valid, to=self.arithmetic.dtype))
        for (name, axes), tensor in zip(self.memory, arrays, strict=True):
            graph.output(name, tensor, self.arithmetic.dtype, axes)
        if self.units:
            batch = graph.op("Shape", source, start=0, end=1)
            shape = graph.op("Concat", batch, graph.integers(1, self.config.width), axis=0)
            for (name, axes), unit in zip(self.state, self.units, strict=True):
                graph.output(f"initial_{name}", unit.start(graph, shape), self.arithmetic.dtype, ["B", *axes[1:]])
        self.output.give(graph)

    def decoder(self, graph: GraphBuilder) -> None:
        """Build one step of N = B · K rows."""
        dtype = self.arithmetic.dtype
        tokens = graph.input("tokens", INT64, ["B", "K"])
        past = _Past(graph.input("lengths", INT32, ["N"]), graph.input("total_length", INT32, [1]))
        graph.input("source_lengths", INT64, ["B"])  # an input of every step; this one uses VALID instead
        candidates = graph.input("candidates", INT64, [1])
        memory = [graph.input(name, dtype, axes) for name, axes in self.memory]
        state = [graph.input(name, dtype, axes) for name, axes in self.state]
        rows = graph.op("Shape", tokens)  # [B, K]
        by_head = graph.op("Concat", rows, graph.integers(self.config.heads, self.head), axis=0)
        mask = graph.op("Log", memory[-1])
        stream = Stream(graph, self.arithmetic, self.config, "decoder")
        table = graph.reshape(graph.weight(position_table(self.config)), -1, 1, self.config.width)
        positions = graph.op("Gather", table, past.lengths)
        # [N, 1, W] throughout: the shape of self-attention's input and output, so that no reshape is needed.
        embedded = self.arithmetic.lookup(graph, EMBEDDING, graph.reshape(tokens, -1, 1))
        stream.start(embedded, self.arithmetic.from_float(graph, positions))
        each = len(state) // self.config.decoder_layers
        for i in range(self.config.decoder_layers):
            own = slice(each * i, each * (i + 1))
            if self.units:
                result, following = self.units[i].step(graph, stream.seen, *state[own])
            else:
                result, following = self._own_step(graph, i, stream.seen, state[own], past)
            for (name, axes), tensor in zip(self.state[own], following, strict=True):
                graph.output(f"next_{name}", tensor, dtype, axes)
            stream.add(result)
            arrays = memory[2 * i : 2 * i + 2]
            stream.add(self._cross_step(graph, i, stream.seen, arrays, _Shape(by_head, mask)))
            stream.add(self._feed_forward(graph, f"decoder.{i}", stream.seen))
        self.output.top(graph, stream.seen, rows, candidates)

    def _own_step(
        self, graph: GraphBuilder, layer: int, seen: str, state: list[str], past: _Past
    ) -> tuple[str, list[str]]:
        """Return self-attention of one new position of each row, [N, 1, W] → [N, 1, W], and its keys and values."""
        name, heads = f"decoder.{layer}.attention", self.config.heads
        qkv = self._product(graph, f"{name}.qkv", seen, name)
        missing = self.cached_head - self.head
        if missing:
            split = graph.reshape(qkv, -1, 3 * heads, self.head)
            padded = graph.op("Pad", split, graph.integers(0, 0, 0, 0, 0, missing))
            qkv = graph.reshape(padded, -1, 1, 3 * heads * self.cached_head)
        context, *following = graph.ops(
            "GroupQueryAttention",
            [qkv, "", "", *state, past.lengths, past.total],
            3,
            domain=MICROSOFT,
            num_heads=heads,
            kv_num_heads=heads,
            scale=1 / math.sqrt(self.head),
        )
        if missing:
            split = graph.reshape(context, -1, heads, self.cached_head)
            context = graph.reshape(graph.split(split, [self.head, missing])[0], -1, 1, self.config.width)
        return self._product(graph, f"{name}.output", context), following

    def _cross_step(self, graph: GraphBuilder, layer: int, seen: str, memory: list[str], shape: _Shape) -> str:
        """Return attention over the source, whose memory the K rows of a sentence share: [N, 1, W] → [N, 1, W]."""
        name = f"decoder.{layer}.cross"
        query = graph.op("Reshape", self._product(graph, f"{name}.query", seen, name), shape.by_head)
        query = graph.op("Transpose", query, perm=[0, 2, 1, 3])  # [B, H, K, D]
        weights = self._weights(graph, query, memory[0], shape.mask)
        context = graph.op("Transpose", graph.op("MatMul", weights, memory[1]), perm=[0, 2, 1, 3])
        return self._product(graph, f"{name}.output", graph.reshape(context, -1, 1, self.config.width))

    def forced(self, graph: GraphBuilder) -> None:
        """Build forced decoding: source and whole target at once, with every attention weight."""
        source = graph.input("source", INT64, ["B", "S"])
        source_lengths = graph.input("source_lengths", INT64, ["B"])
        target = graph.input("target", INT64, ["B", "T"])
        target_lengths = graph.input("target_lengths", INT64, ["B"])
        memory, encoder_weights = self._encode(graph, source, source_lengths)
        shifted = shifted_right(graph, target)
        size = graph.op("Shape", target, start=1, end=2)
        stream = self._start(graph, shifted, size, "decoder")
        causal = "" if self.units else self._causal_mask(graph, size)
        valid = valid_mask(graph, self.arithmetic, source_lengths, memory[1], axis=2)
        own_weights, cross_weights = [], []
        for i in range(self.config.decoder_layers):
            if self.units:
                stream.add(self.units[i].sequence(graph, stream.seen))
            else:
                own_weights.append(self._self_attention(graph, f"decoder.{i}.attention", stream, causal))
            cross_weights.append(self._forced_cross(graph, i, stream, memory[2 * i : 2 * i + 2], valid))
        hidden = self.arithmetic.operand(graph, SITE, stream.seen).tensor
        read = Hidden(hidden, self.arithmetic.dtype, self.config.width)
        forced_outputs(graph, read, Target(target, target_lengths), self.output.logits)
        self._output_weights(graph, "cross_attention", cross_weights, ("T", "S"))
        self._output_weights(graph, "encoder_attention", encoder_weights, ("S", "S"))
        if not self.units:
            self._output_weights(graph, "decoder_attention", own_weights, ("T", "T"))

    def _forced_cross(self, graph: GraphBuilder, layer: int, stream: Stream, memory: list[str], mask: str) -> str:
        """Pass all T positions through the rest of a decoder layer; returns the cross weights [B, H, T, S]."""
        name = f"decoder.{layer}"
        (query,) = self._heads(graph, self._product(graph, f"{name}.cross.query", stream.seen, f"{name}.cross"), 1)
        cross = self._weights(graph, query, memory[0], mask)
        stream.add(self._product(graph, f"{name}.cross.output", self._merge(graph, cross, memory[1])))
        stream.add(self._feed_forward(graph, name, stream.seen))
        return cross

    def _self_attention(
        self, graph: GraphBuilder, name: str, stream: Stream, mask: str, near: str | None = None
    ) -> str:
        """Self-attention of whole sequences, with vectors ``near`` [T, D, T] of distances; its weights [B, H, T, T]."""
        query, key, value = self._heads(graph, self._product(graph, f"{name}.qkv", stream.seen, name), 3)
        if near is not None:
            single = graph.op("MatMul", graph.op("Unsqueeze", query, graph.integers(3)), near)  # [B, H, T, 1, T]
            scale = self.arithmetic.number(graph, 1 / math.sqrt(self.head))
            mask = graph.op("Add", mask, graph.op("Mul", graph.op("Squeeze", single, graph.integers(3)), scale))
        weights = self._weights(graph, query, key, mask, transposed=True)
        stream.add(self._product(graph, f"{name}.output", self._merge(graph, weights, value)))
        return weights

    def _output_weights(self, graph: GraphBuilder, kind: str, layers: list[str], axes: tuple[str, str]) -> None:
        parts = [graph.op("Unsqueeze", weights, graph.integers(1)) for weights in layers]
        stacked = graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        shape: Axes = ["B", len(layers), self.config.heads, *axes]
        graph.output(kind, self.arithmetic.to_float(graph, stacked), FLOAT, shape)

    def _encode(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
        """Return memory arrays in the order of ``memory``, and the attention weights of every layer."""
        size = graph.op("Shape", source, start=1, end=2)
        stream = self._start(graph, source, size, "encoder")
        mask = valid_mask(graph, self.arithmetic, lengths, source, axis=1)
        order = Order(graph, self.arithmetic, self.config, size)
        mask, all_weights = order.directed(mask), []
        for i in range(self.config.encoder_layers):
            name = f"encoder.{i}.attention"
            all_weights.append(self._self_attention(graph, name, stream, mask, order.near(i)))
            stream.add(self._feed_forward(graph, f"encoder.{i}", stream.seen))
        annotations = self.arithmetic.operand(graph, "annotations", stream.seen)
        arrays = []
        for i in range(self.config.decoder_layers):
            keys_values = self.arithmetic.product(graph, f"decoder.{i}.cross.key_value", annotations)
            key, value = self._heads(graph, keys_values, 2)
            arrays += [graph.op("Transpose", key, perm=[0, 1, 3, 2]), value]
        return arrays, all_weights

    def _start(self, graph: GraphBuilder, ids: str, size: str, side: str) -> Stream:
        """Return embeddings plus positions, if they are added, of whole sequences: [B, S] → [B, S, W]."""
        stream = Stream(graph, self.arithmetic, self.config, side)
        own = side == "encoder" and not self.config.share_embeddings
        embedded = self.arithmetic.lookup(graph, SOURCE_EMBEDDING if own else EMBEDDING, ids)
        if side == "decoder" or self.config.encoder_adds_positions:
            table = graph.op("Slice", graph.weight(position_table(self.config)), graph.integers(0), size)
            positions = self.arithmetic.from_float(graph, table)
        else:
            shape = graph.op("Concat", size, graph.integers(self.config.width), axis=0)
            positions = graph.op("Expand", self.arithmetic.number(graph, 0.0), shape)
        stream.start(embedded, positions)
        return stream

    def _product(self, graph: GraphBuilder, name: str, tensor: str, site: str | None = None) -> str:
        operand = self.arithmetic.operand(graph, site or name, tensor)
        return self.arithmetic.product(graph, name, operand)

    def _feed_forward(self, graph: GraphBuilder, name: str, seen: str) -> str:
        inner = self._activation(graph, self._product(graph, f"{name}.feed_forward.inner", seen))
        return self._product(graph, f"{name}.feed_forward.outer", inner)

    def _activation(self, graph: GraphBuilder, inner: str) -> str:
        if self.config.activation == "swish":
            return graph.fused("QuickGelu", inner, alpha=1.0)
        return graph.op({"relu": "Relu", "gelu": "Gelu"}[self.config.activation], inner)

    def _heads(self, graph: GraphBuilder, tensor: str, parts: int) -> list[str]:
        """Return ``parts`` arrays [B, H, T, D] of [B, T, parts · W]."""
        heads = self.config.heads
        split = graph.reshape(tensor, 0, 0, parts * heads, self.head)
        return graph.split(graph.op("Transpose", split, perm=[0, 2, 1, 3]), [heads] * parts, axis=1)

    def _merge(self, graph: GraphBuilder, weights: str, values: str) -> str:
        """Return the weighted values of all heads: [B, H, T, S], [B, H, S, D] → [B, T, W]."""
        context = graph.op("Transpose", graph.op("MatMul", weights, values), perm=[0, 2, 1, 3])
        return graph.reshape(context, 0, 0, self.config.width)

    def _weights(self, graph: GraphBuilder, query: str, key: str, mask: str, transposed: bool = False) -> str:
        """Return softmax(q kᵀ / √d + mask) of [B, H, T, D] and [B, H, D, S] (``transposed``: [B, H, S, D])."""
        alpha = 1 / math.sqrt(self.head)
        scores = graph.fused("FusedMatMul", query, key, alpha=alpha, transB=int(transposed))
        return graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)

    def _causal_mask(self, graph: GraphBuilder, size: str) -> str:
        """Return the causal mask [T, T]: 0 up to the diagonal, -inf above it."""
        low = self.arithmetic.number(graph, float("-inf"))
        square = graph.op("Expand", low, graph.op("Concat", size, size, axis=0))
        return graph.op("Trilu", square, graph.constant(np.array(1, np.int64)), upper=1)
