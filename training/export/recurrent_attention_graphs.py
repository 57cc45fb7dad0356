"""Attention of a recurrent decoder as graph nodes, for every score: global, local, hard or none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from training.export.bahdanau_parameters import KEY_ENERGY, QUERY_ENERGY
from training.export.graph import GraphBuilder
from training.export.graph_blocks import Arrays, valid_positions
from training.export.precision import Arithmetic
from training.recipe import BahdanauConfig


class Source(NamedTuple):
    """The values of the source that a step needs, computed once outside of any loop."""

    memory: list[str]
    """The memory arrays."""
    rows: str
    """int64 [2] = (B, K)."""
    lengths: str
    """In the graph's float type, [B, 1, 1]."""
    valid: str
    """bool [B, 1, S]."""
    places: str
    """0 … S-1 in the graph's float type, [S]."""
    even: str
    """Uniform weights over the source [B, 1, S], for networks without attention."""


class Attention:
    """Builds the nodes of ``training.networks.recurrent_attention`` for K rows of each sentence."""

    def __init__(self, config: BahdanauConfig, arithmetic: Arithmetic) -> None:
        self._config, self._arithmetic = config, arithmetic
        self._additive = config.score == "additive"

    def memory(self, size: int) -> Arrays:
        """Return the names and axes of the memory arrays for annotations of ``size``."""
        if self._config.attention == "none":
            return [("context", ["B", size])]
        arrays: Arrays = [("annotations", ["B", "S", size])]
        if self._additive:
            arrays.append(("keys", ["B", "S", self._config.attention_size]))
        if self._config.score == "general":
            arrays.append(("keys", ["B", self._config.decoder_hidden, "S"]))
        if self._config.score == "concat":
            arrays.append(("keys", ["B", 1, "S"]))
        return arrays

    def query_sizes(self) -> list[int]:
        """Return the columns of the state's matrix that belong to attention."""
        size = self._config.attention_size
        if self._config.attention == "none":
            return []
        return [size] * (int(self._additive) + int(self._config.attention == "local"))

    def prepare(self, graph: GraphBuilder, annotations: str) -> list[str]:
        """Return the memory arrays from annotations [B, S, M]."""
        if self._config.score in ("dot", "scaled_dot"):
            return [annotations]
        if self._config.score == "concat":  # a vector, stored as floats
            keys = graph.op("MatMul", annotations, self._arithmetic.vector(graph, KEY_ENERGY))  # [B, S, 1]
            return [annotations, graph.op("Transpose", keys, perm=[0, 2, 1])]
        operand = self._arithmetic.operand(graph, "annotations", annotations)
        keys = self._arithmetic.product(graph, "keys", operand)
        return [annotations, keys if self._additive else graph.op("Transpose", keys, perm=[0, 2, 1])]

    def source(self, graph: GraphBuilder, memory: list[str], lengths: str, rows: str) -> Source:
        """Return the values that every step needs; ``lengths`` int64 [B]."""
        if self._config.attention == "none":
            return self._fixed_source(graph, memory, lengths, rows)
        size = graph.op("Shape", memory[0], start=1, end=2)
        zero, one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
        places = graph.op("Range", zero, graph.op("Squeeze", size), one)
        numbers = graph.op("Cast", lengths, to=self._arithmetic.dtype)
        return Source(
            memory,
            rows,
            graph.op("Unsqueeze", numbers, graph.integers(1, 2)),
            graph.op("Unsqueeze", valid_positions(graph, lengths, memory[0], axis=1), graph.integers(1)),
            graph.op("Cast", places, to=self._arithmetic.dtype),
            "",
        )

    def _fixed_source(self, graph: GraphBuilder, memory: list[str], lengths: str, rows: str) -> Source:
        if not any(value.name == "source" for value in graph.inputs):  # a step returns no weights
            return Source(memory, rows, "", "", "", "")
        valid = graph.op("Cast", valid_positions(graph, lengths, "source", axis=1), to=self._arithmetic.dtype)
        numbers = graph.op("Unsqueeze", graph.op("Cast", lengths, to=self._arithmetic.dtype), graph.integers(1))
        even = graph.op("Unsqueeze", graph.op("Div", valid, numbers), graph.integers(1))
        return Source(memory, rows, "", "", "", even)

    def attend(self, graph: GraphBuilder, state: str, queries: Sequence[str], source: Source) -> tuple[str, str]:
        """Return context [N, M] and weights [B, K, S] from the state [N, D] and its products."""
        if self._config.attention == "none":
            shared = graph.op("Unsqueeze", source.memory[0], graph.integers(1))  # [B, 1, M]
            spread = graph.op("Expand", shared, self._shape(graph, source, 1))  # [B, K, M]
            size = self._config.encoder_hidden * (2 if self._config.bidirectional else 1)
            return graph.reshape(spread, -1, size), source.even
        scores = self._scores(graph, state, queries, source)
        if self._config.attention == "local":
            weights = self._local(graph, scores, queries[-1], source)
        elif self._config.attention == "hard":
            weights = self._hard(graph, scores, source)
        else:
            weights = self._softmax(graph, scores, source.valid)
        size = self._config.encoder_hidden * (2 if self._config.bidirectional else 1)
        context = graph.op("MatMul", weights, source.memory[0])  # [B, K, M]
        return graph.reshape(context, -1, size), weights

    def _shape(self, graph: GraphBuilder, source: Source, *rest: int) -> str:
        return graph.op("Concat", source.rows, graph.integers(*rest), axis=0)

    def _scores(self, graph: GraphBuilder, state: str, queries: Sequence[str], source: Source) -> str:
        """Return the scores [B, K, S]."""
        if self._additive:
            query = graph.op("Reshape", queries[0], self._shape(graph, source, 1, self._config.attention_size))
            keys = graph.op("Unsqueeze", source.memory[1], graph.integers(1))  # [B, 1, S, A]
            hidden = graph.op("Tanh", graph.op("Add", query, keys))  # [B, K, S, A]
            energy = self._arithmetic.vector(graph, "attention.score.energy")
            return graph.op("Squeeze", graph.op("MatMul", hidden, energy), graph.integers(3))
        if self._config.score == "concat":
            own = graph.op("MatMul", state, self._arithmetic.vector(graph, QUERY_ENERGY))  # [N, 1]
            return graph.op("Add", graph.op("Reshape", own, self._shape(graph, source, 1)), source.memory[1])
        query = graph.op("Reshape", state, self._shape(graph, source, self._config.decoder_hidden))  # [B, K, D]
        if self._config.score == "general":
            return graph.op("MatMul", query, source.memory[1])
        alpha = 1 / math.sqrt(self._config.decoder_hidden) if self._config.score == "scaled_dot" else 1.0
        return graph.fused("FusedMatMul", query, source.memory[0], transB=1, alpha=alpha)

    def _softmax(self, graph: GraphBuilder, scores: str, allowed: str) -> str:
        low = self._arithmetic.number(graph, float("-inf"))
        return graph.op("Softmax", graph.op("Where", allowed, scores, low), axis=-1)

    def _local(self, graph: GraphBuilder, scores: str, hidden: str, source: Source) -> str:
        """Return the weights of local-p around the predicted centre (1508.04025, equations 9 and 10)."""
        number = self._arithmetic.number
        energy = self._arithmetic.vector(graph, "attention.centre.energy")
        share = graph.op("Sigmoid", graph.op("MatMul", graph.op("Tanh", hidden), energy))  # [N, 1]
        share = graph.op("Reshape", share, self._shape(graph, source, 1))  # [B, K, 1]
        distance = graph.op("Sub", source.places, graph.op("Mul", source.lengths, share))  # [B, K, S]
        away = graph.op("Abs", distance)
        known = graph.op("Where", source.valid, away, number(graph, float("inf")))
        nearest = graph.op("Equal", away, graph.op("ReduceMin", known, graph.integers(-1), keepdims=1))
        near = graph.op("LessOrEqual", away, number(graph, float(self._config.window)))
        inside = graph.op("And", source.valid, graph.op("Or", near, nearest))
        ratio = graph.op("Div", distance, number(graph, float(self._config.window)))
        bell = graph.op("Exp", graph.op("Mul", graph.op("Mul", ratio, ratio), number(graph, -2.0)))
        shaped = graph.op("Mul", self._softmax(graph, scores, inside), bell)
        total = graph.op("ReduceSum", shaped, graph.integers(-1), keepdims=1)
        least = 1e-12 if self._arithmetic.dtype == TensorProto.FLOAT else 6e-8
        return graph.op("Div", shaped, graph.op("Max", total, number(graph, least)))

    def _hard(self, graph: GraphBuilder, scores: str, source: Source) -> str:
        """Return the weights of hard attention: one position has all of the weight."""
        low = self._arithmetic.number(graph, float("-inf"))
        best = graph.op("ArgMax", graph.op("Where", source.valid, scores, low), axis=-1, keepdims=1)
        places = graph.op("Cast", source.places, to=TensorProto.INT64)
        return graph.op("Cast", graph.op("Equal", places, best), to=self._arithmetic.dtype)
