"""Attention of a recurrent decoder as graph nodes, for every score: global, local, monotonic, hard or none."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from service.bundle.scores import AttentionScore, Normalisation, ScoreFunction
from training.export.graphs.blocks import Arrays, valid_positions
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic
from training.export.layouts import KEY_ENERGY, QUERY_ENERGY
from training.recipe import BahdanauConfig

SCORES, QUERIES, KEYS, ENERGY = (f"cross.0.{part}" for part in ("scores", "queries", "keys", "energy"))
"""The sites of what a decoder's weights are made of."""


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


class RecurrentAttention:
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
        if self._config.score in ("concat", "gaussian"):
            arrays.append(("keys", ["B", 1, "S"]))
        return arrays

    @property
    def score(self) -> AttentionScore | None:
        """Return how scores are computed; None: the weights are fixed."""
        if self._config.attention == "none":
            return None
        functions: dict[str, ScoreFunction] = {"additive": "additive", "scaled_dot": "scaled_dot"}
        functions |= {"dot": "dot", "general": "dot"}
        normalisations: dict[str, Normalisation] = {"local": "local", "hard": "hard"}
        return AttentionScore(
            functions.get(self._config.score, "other"),
            normalisations.get(self._config.attention, "softmax"),
            float(np.float32(self._scale)),
        )

    @property
    def _scale(self) -> float:
        return 1 / math.sqrt(self._config.decoder_hidden) if self._config.score == "scaled_dot" else 1.0

    @staticmethod
    def _record(graph: GraphBuilder, query: str, keys: str, perm: Sequence[int] = ()) -> None:
        """Record the query of one step, in the loop, and the keys, outside of it."""
        graph.record("scores", QUERIES, query)
        graph.root.record("scores", KEYS, keys, perm)

    @staticmethod
    def record_all_steps(graph: GraphBuilder) -> None:
        """Record what the loop over target tokens has recorded as if there was no loop, with an axis for heads."""
        sites = graph.sites
        for site in [site for site in (SCORES, QUERIES) if site in sites]:
            steps = graph.reshape(sites[site], 0, 0, 1, -1)  # [T, B, 1, …]: a query has an axis for columns, too
            graph.record("scores", site, steps, [1, 2, 0, 3])
        if KEYS in sites:
            graph.record("scores", KEYS, graph.op("Unsqueeze", sites[KEYS], graph.integers(1)))
        if ENERGY in sites:
            graph.record("scores", ENERGY, graph.reshape(sites[ENERGY], -1))

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
        if self._config.score == "gaussian":  # ‖h‖² / 2
            squared = graph.op("ReduceSumSquare", annotations, graph.integers(-1), keepdims=1)  # [B, S, 1]
            halved = graph.op("Mul", squared, self._arithmetic.number(graph, 0.5))
            return [annotations, graph.op("Transpose", halved, perm=[0, 2, 1])]
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

    def attend(
        self, graph: GraphBuilder, state: str, queries: Sequence[str], source: Source, step: str
    ) -> tuple[str, str]:
        """Return context [N, M] and weights [B, K, S] from the state [N, D], its products and the step's number.

        ``step`` is in the graph's float type, [B, K, 1]; only monotonic attention reads it.
        """
        if self._config.attention == "none":
            shared = graph.op("Unsqueeze", source.memory[0], graph.integers(1))  # [B, 1, M]
            spread = graph.op("Expand", shared, self._shape(graph, source, 1))  # [B, K, M]
            return graph.reshape(spread, -1, self._config.memory_size), source.even
        scores = self._scores(graph, state, queries, source)
        if self._config.attention == "local":
            weights = self._local(graph, scores, queries[-1], source)
        elif self._config.attention == "monotonic":
            weights = self._softmax(graph, scores, self._inside(graph, step, source)[0])
        elif self._config.attention == "hard":
            weights = self._hard(graph, scores, source)
        else:
            weights = self._softmax(graph, scores, source.valid)
        context = graph.op("MatMul", weights, source.memory[0])  # [B, K, M]
        return graph.reshape(context, -1, self._config.memory_size), weights

    def _shape(self, graph: GraphBuilder, source: Source, *rest: int) -> str:
        return graph.op("Concat", source.rows, graph.integers(*rest), axis=0)

    def _scores(self, graph: GraphBuilder, state: str, queries: Sequence[str], source: Source) -> str:
        """Return the scores [B, K, S]."""
        if self._additive:
            query = graph.op("Reshape", queries[0], self._shape(graph, source, 1, self._config.attention_size))
            keys = graph.op("Unsqueeze", source.memory[1], graph.integers(1))  # [B, 1, S, A]
            self._record(graph, query, source.memory[1])
            graph.root.record("scores", ENERGY, graph.weight("attention.score.energy"))
            hidden = graph.op("Tanh", graph.op("Add", query, keys))  # [B, K, S, A]
            energy = self._arithmetic.vector(graph, "attention.score.energy")
            return graph.op("Squeeze", graph.op("MatMul", hidden, energy), graph.integers(3))
        if self._config.score == "concat":
            state_energy = graph.op("MatMul", state, self._arithmetic.vector(graph, QUERY_ENERGY))  # [N, 1]
            return graph.op("Add", graph.op("Reshape", state_energy, self._shape(graph, source, 1)), source.memory[1])
        query = graph.op("Reshape", state, self._shape(graph, source, self._config.decoder_hidden))  # [B, K, D]
        if self._config.score == "general":
            self._record(graph, query, source.memory[1], [0, 2, 1])
            return graph.op("MatMul", query, source.memory[1])
        products = graph.fused("FusedMatMul", query, source.memory[0], transB=1, alpha=self._scale)
        if self._config.score != "gaussian":
            self._record(graph, query, source.memory[0])
            return products
        # -‖q - h‖² / 2 = q h - ‖h‖² / 2 - ‖q‖² / 2
        squared = graph.op("ReduceSumSquare", query, graph.integers(-1), keepdims=1)  # [B, K, 1]
        state_energy = graph.op("Mul", squared, self._arithmetic.number(graph, 0.5))
        return graph.op("Sub", graph.op("Sub", products, source.memory[1]), state_energy)

    def _softmax(self, graph: GraphBuilder, scores: str, allowed: str) -> str:
        low = self._arithmetic.number(graph, float("-inf"))
        masked = graph.op("Where", allowed, scores, low)
        graph.record("scores", SCORES, masked)
        return graph.op("Softmax", masked, axis=-1)

    def _local(self, graph: GraphBuilder, scores: str, hidden: str, source: Source) -> str:
        """Return the weights of local-p around the predicted centre (1508.04025, equations 9 and 10)."""
        number = self._arithmetic.number
        energy = self._arithmetic.vector(graph, "attention.centre.energy")
        share = graph.op("Sigmoid", graph.op("MatMul", graph.op("Tanh", hidden), energy))  # [N, 1]
        share = graph.op("Reshape", share, self._shape(graph, source, 1))  # [B, K, 1]
        inside, distance = self._inside(graph, graph.op("Mul", source.lengths, share), source)
        ratio = graph.op("Div", distance, number(graph, float(self._config.window)))
        bell = graph.op("Exp", graph.op("Mul", graph.op("Mul", ratio, ratio), number(graph, -2.0)))
        shaped = graph.op("Mul", self._softmax(graph, scores, inside), bell)
        total = graph.op("ReduceSum", shaped, graph.integers(-1), keepdims=1)
        least = 1e-12 if self._arithmetic.dtype == TensorProto.FLOAT else 6e-8
        return graph.op("Div", shaped, graph.op("Max", total, number(graph, least)))

    def _inside(self, graph: GraphBuilder, centre: str, source: Source) -> tuple[str, str]:
        """Return the positions within the window, or the nearest one, bool [B, K, S], and all distances.

        ``centre`` is [B, K, 1].
        """
        number = self._arithmetic.number
        distance = graph.op("Sub", source.places, centre)  # [B, K, S]
        away = graph.op("Abs", distance)
        inside = graph.op("Where", source.valid, away, number(graph, float("inf")))
        nearest = graph.op("Equal", away, graph.op("ReduceMin", inside, graph.integers(-1), keepdims=1))
        near = graph.op("LessOrEqual", away, number(graph, float(self._config.window)))
        return graph.op("And", source.valid, graph.op("Or", near, nearest)), distance

    def _hard(self, graph: GraphBuilder, scores: str, source: Source) -> str:
        """Return the weights of hard attention: one position has all of the weight."""
        low = self._arithmetic.number(graph, float("-inf"))
        masked = graph.op("Where", source.valid, scores, low)
        graph.record("scores", SCORES, masked)
        best = graph.op("ArgMax", masked, axis=-1, keepdims=1)
        places = graph.op("Cast", source.places, to=TensorProto.INT64)
        return graph.op("Cast", graph.op("Equal", places, best), to=self._arithmetic.dtype)
