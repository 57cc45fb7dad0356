"""Pieces that the graphs of every architecture share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from training.export.arithmetic import Arithmetic
from training.export.graph import GraphBuilder

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64

Arrays = list[tuple[str, Sequence[str | int]]]
"""(name, axes) of arrays that go from graph to graph."""


def valid_positions(graph: GraphBuilder, lengths: str, like: str, axis: int, between: int = 0) -> str:
    """bool [B, 1 …, S] with ``between`` ones, true within a row's length; S is the size of ``like`` at ``axis``."""
    size = graph.op("Shape", like, start=axis, end=axis + 1)
    zero, one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
    places = graph.op("Range", zero, graph.op("Squeeze", size), one)
    return graph.op("Less", places, graph.op("Unsqueeze", lengths, graph.integers(*range(1, between + 2))))


def valid_mask(graph: GraphBuilder, arithmetic: Arithmetic, lengths: str, like: str, axis: int) -> str:
    """What is added to scores: 0 within a row's length, -inf beyond, [B, 1, 1, S]."""
    valid = valid_positions(graph, lengths, like, axis, between=2)
    zero, low = arithmetic.number(graph, 0.0), arithmetic.number(graph, float("-inf"))
    return graph.op("Where", valid, zero, low)


def top_candidates(graph: GraphBuilder, logits: str, rows: str, candidates: str) -> None:
    """The step's outputs: the best C tokens of every row and their log-probabilities, [B, K, C].

    logits float32 [N, V] or [N, 1, V]; rows int64 [2] = (B, K); candidates int64 [1] = C.
    """
    # Every alternative was slower: ReduceLogSumExp nine times, TopK of logits with max, exp and sum twice.
    logprobs, ids = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1, sorted=1)
    shape = graph.op("Concat", rows, graph.integers(-1), axis=0)
    graph.output("top_ids", graph.op("Reshape", ids, shape), INT64, ["B", "K", "C"])
    graph.output("top_logprobs", graph.op("Reshape", logprobs, shape), FLOAT, ["B", "K", "C"])


def forced_outputs(graph: GraphBuilder, logits: str, target: str, target_lengths: str) -> None:
    """The forced pass' log-probability and rank of every target token [B, T]; 0 in the padding.

    logits float32 [B, T, V]; target int64 [B, T].
    """
    scores = graph.op("LogSoftmax", logits, axis=-1)  # as in the step, so that the two agree
    chosen = graph.op("GatherElements", scores, graph.op("Unsqueeze", target, graph.integers(2)), axis=2)
    logprobs = graph.op("Squeeze", chosen, graph.integers(2))  # [B, T]
    better = graph.op("Cast", graph.op("Greater", scores, chosen), to=FLOAT)
    ranks = graph.op("ReduceSum", better, graph.integers(-1), keepdims=0)
    ranks = graph.op("Cast", graph.op("Add", ranks, graph.constant(np.array(1, np.float32))), to=INT64)
    valid = valid_positions(graph, target_lengths, target, axis=1)
    zero = graph.constant(np.array(0, np.float32))
    graph.output("logprobs", graph.op("Where", valid, logprobs, zero), FLOAT, ["B", "T"])
    graph.output("ranks", graph.op("Mul", ranks, graph.op("Cast", valid, to=INT64)), INT64, ["B", "T"])
