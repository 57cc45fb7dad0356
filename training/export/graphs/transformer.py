"""The Transformer's graphs: encoder, one decoder step, forced decoding."""

import math

import numpy as np

from service.bundle.scores import AttentionScore
from training.export.graphs.blocks import Arrays, OutputLayer, shifted_right, valid_mask, valid_positions
from training.export.graphs.builder import MICROSOFT, Axes, GraphBuilder
from training.export.graphs.network import Attention, NetworkGraphs, Scores, Step
from training.export.graphs.order import Order
from training.export.graphs.precision import Arithmetic
from training.export.graphs.residual import Stream
from training.export.graphs.ssru import Ssru
from training.export.layouts import EMBEDDING, embedding_scale, looked_up, position_table
from training.recipe import TransformerConfig

VALID = "source_valid"
"""A memory array: 1 within a sentence and 0 after it, [B, 1, 1, S]. A step adds its logarithm to scores, in one small
node instead of six that compare positions with lengths (4 to 8 % of a step)."""


class TransformerGraphs(NetworkGraphs):
    """Builds the graphs of a Transformer."""

    def __init__(self, config: TransformerConfig, arithmetic: Arithmetic) -> None:
        self.config, self.arithmetic, self.paddings = config, arithmetic, {VALID: 0.0}
        self.head = config.width // config.heads
        # GroupQueryAttention needs head sizes that are multiples of 8: others are padded with zeros in the cache.
        self.cached_head = -(-self.head // 8) * 8
        self.output = OutputLayer(arithmetic, EMBEDDING, config.width, 1 / embedding_scale(config))
        layers = config.decoder_layers if config.decoder == "ssru" else 0
        self.state_kind = "fixed" if layers else "cache"
        self.units = [Ssru(arithmetic, f"decoder.{i}.ssru", config.width) for i in range(layers)]

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
    def scores(self) -> Scores:
        """Return scaled products; with relative positions, those of the encoder have a second term."""
        scaled = AttentionScore("scaled_dot", scale=float(np.float32(1 / math.sqrt(self.head))))
        encoder = AttentionScore("other") if self.config.positions == "relative" else scaled
        return {"cross": scaled, "encoder": encoder} | ({} if self.units else {"decoder": scaled})

    def _encoded(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
        """Return the memory arrays, and the empty cells of recurrent units."""
        arrays, _ = self._encode(graph, source, lengths)
        valid = valid_positions(graph, lengths, source, axis=1, between=2)
        arrays.append(graph.op("Cast", valid, to=self.arithmetic.dtype))
        if not self.units:
            return arrays, []
        batch = graph.op("Shape", source, start=0, end=1)
        shape = graph.op("Concat", batch, graph.integers(1, self.config.width), axis=0)
        return arrays, [unit.start(graph, shape) for unit in self.units]

    def _step(self, graph: GraphBuilder, step: Step, memory: list[str], state: list[str]) -> tuple[str, list[str]]:
        """Return the last layer's [N, 1, W], and the next keys and values or cells."""
        by_head = graph.op("Concat", step.rows, graph.integers(self.config.heads, self.head), axis=0)
        mask = graph.op("Log", memory[-1])
        stream = Stream(graph, self.arithmetic, self.config, "decoder")
        table = graph.reshape(graph.weight(position_table(self.config)), -1, 1, self.config.width)
        positions = graph.op("Gather", table, step.past)
        # [N, 1, W] throughout: the shape of self-attention's input and output, so that no reshape is needed.
        embedded = self.arithmetic.lookup(graph, looked_up(self.config, "decoder"), graph.reshape(step.tokens, -1, 1))
        stream.start(embedded, self.arithmetic.from_float(graph, positions))
        width, following = len(state) // self.config.decoder_layers, []
        for i in range(self.config.decoder_layers):
            layer_state = state[width * i : width * (i + 1)]
            if self.units:
                result, present = self.units[i].step(graph, stream.seen, *layer_state)
            else:
                result, present = self._own_step(graph, i, stream.seen, layer_state, step)
            following += present
            stream.add(result)
            stream.add(self._cross_step(graph, i, stream.seen, memory[2 * i : 2 * i + 2], (by_head, mask)))
            stream.add(self._feed_forward(graph, f"decoder.{i}", stream.seen))
        return stream.seen, following

    def _own_step(
        self, graph: GraphBuilder, layer: int, seen: str, state: list[str], step: Step
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
            [qkv, "", "", *state, step.past, step.total],
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

    def _cross_step(
        self, graph: GraphBuilder, layer: int, seen: str, memory: list[str], shared: tuple[str, str]
    ) -> str:
        """Return attention over the source, whose memory the K rows of a sentence share: [N, 1, W] → [N, 1, W].

        ``shared``: int64 [4] = (B, K, H, D), and what is added to scores, [B, 1, 1, S].
        """
        name = f"decoder.{layer}.cross"
        # ONNX Runtime multiplies one row by a matrix without copying it only if the product has no factor: 5 to 8 % of
        # a greedy step of 32 rows and more.
        operand = self.arithmetic.operand(graph, name, seen)
        query, factor = self.arithmetic.scaled(graph, f"{name}.query", operand, 1 / math.sqrt(self.head))
        query = graph.op("Transpose", graph.op("Reshape", query, shared[0]), perm=[0, 2, 1, 3])  # [B, H, K, D]
        if factor == 1.0:
            scores = graph.op("MatMul", query, memory[0])
        else:
            scores = graph.fused("FusedMatMul", query, memory[0], alpha=factor)
        weights = graph.op("Softmax", graph.op("Add", scores, shared[1]), axis=-1)
        context = graph.op("Transpose", graph.op("MatMul", weights, memory[1]), perm=[0, 2, 1, 3])
        return self._product(graph, f"{name}.output", graph.reshape(context, -1, 1, self.config.width))

    def _forced(self, graph: GraphBuilder, source: str, lengths: str, target: str) -> tuple[str, Attention]:
        """Return the last layer's [B, T, W], and the weights of all layers and heads."""
        memory, encoder_weights = self._encode(graph, source, lengths)
        shifted = shifted_right(graph, target)
        size = graph.op("Shape", target, start=1, end=2)
        stream = self._start(graph, shifted, size, "decoder")
        causal = "" if self.units else self._causal_mask(graph, size)
        valid = valid_mask(graph, self.arithmetic, lengths, memory[1], axis=2)
        own_weights, cross_weights = [], []
        for i in range(self.config.decoder_layers):
            if self.units:
                stream.add(self.units[i].sequence(graph, stream.seen))
            else:
                own_weights.append(self._self_attention(graph, f"decoder.{i}.attention", stream, causal))
            cross_weights.append(self._forced_cross(graph, i, stream, memory[2 * i : 2 * i + 2], valid))
        attention: Attention = {
            "cross_attention": self._stacked(graph, cross_weights, "T", "S"),
            "encoder_attention": self._stacked(graph, encoder_weights, "S", "S"),
        }
        if not self.units:
            attention["decoder_attention"] = self._stacked(graph, own_weights, "T", "T")
        return stream.seen, attention

    def _forced_cross(self, graph: GraphBuilder, layer: int, stream: Stream, memory: list[str], mask: str) -> str:
        """Pass all T positions through the rest of a decoder layer; returns the cross weights [B, H, T, S]."""
        name = f"decoder.{layer}"
        (query,) = self._heads(graph, self._product(graph, f"{name}.cross.query", stream.seen, f"{name}.cross"), 1)
        cross = self._weights(graph, f"cross.{layer}", query, memory[0], mask)
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
        weights = self._weights(graph, name.removesuffix(".attention"), query, key, mask)
        stream.add(self._product(graph, f"{name}.output", self._merge(graph, weights, value)))
        return weights

    def _stacked(self, graph: GraphBuilder, layers: list[str], *axes: str) -> tuple[str, list[str | int]]:
        """Return the weights of all layers [B, L, H, ...] and their axes."""
        parts = [graph.op("Unsqueeze", weights, graph.integers(1)) for weights in layers]
        stacked = graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        return stacked, ["B", len(layers), self.config.heads, *axes]

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
        embedded = self.arithmetic.lookup(graph, looked_up(self.config, side), ids)
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

    def _weights(self, graph: GraphBuilder, site: str, query: str, key: str, mask: str) -> str:
        """Return softmax(q kᵀ / √d + mask) of [B, H, T, D] and [B, H, S, D], or [B, H, D, S] for ``cross`` sites."""
        across = site.startswith("cross")
        scores = graph.fused("FusedMatMul", query, key, alpha=1 / math.sqrt(self.head), transB=int(not across))
        masked = graph.op("Add", scores, mask)
        graph.record("scores", f"{site}.scores", masked)
        if self.scores[site.split(".")[0]].function != "other":
            graph.record("scores", f"{site}.queries", query)
            graph.record("scores", f"{site}.keys", key, [0, 1, 3, 2] if across else [])
        return graph.op("Softmax", masked, axis=-1)

    def _causal_mask(self, graph: GraphBuilder, size: str) -> str:
        """Return the causal mask [T, T]: 0 up to the diagonal, -inf above it."""
        low = self.arithmetic.number(graph, float("-inf"))
        square = graph.op("Expand", low, graph.op("Concat", size, size, axis=0))
        return graph.op("Trilu", square, graph.constant(np.array(1, np.int64)), upper=1)
