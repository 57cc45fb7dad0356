"""Building blocks that the graphs of all architectures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from training.export.graph import GraphBuilder
from training.export.precision import Arithmetic

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64

_POSITIONS_AT_ONCE = 16

Output = Callable[[GraphBuilder, str], str]
"""The output layer: hidden [..., E] → logits float32 [..., V]."""

Arrays = list[tuple[str, Sequence[str | int]]]
"""(name, axes) of the arrays that graphs exchange."""


def valid_positions(graph: GraphBuilder, lengths: str, like: str, axis: int, between: int = 0) -> str:
    """Return bool [B, 1 …, S] with ``between`` ones, true within a row's length; S: size of ``like`` at ``axis``."""
    size = graph.op("Shape", like, start=axis, end=axis + 1)
    zero, one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
    places = graph.op("Range", zero, graph.op("Squeeze", size), one)
    return graph.op("Less", places, graph.op("Unsqueeze", lengths, graph.integers(*range(1, between + 2))))


def valid_mask(graph: GraphBuilder, arithmetic: Arithmetic, lengths: str, like: str, axis: int) -> str:
    """Return the mask that is added to scores: 0 within a row's length, -inf after it, [B, 1, 1, S]."""
    valid = valid_positions(graph, lengths, like, axis, between=2)
    zero, low = arithmetic.number(graph, 0.0), arithmetic.number(graph, float("-inf"))
    return graph.op("Where", valid, zero, low)


def top_candidates(graph: GraphBuilder, logits: str, rows: str, candidates: str) -> None:
    """Add the step's outputs: the best C tokens of every row and their log-probabilities, [B, K, C].

    logits float32 [N, V] or [N, 1, V]; rows int64 [2] = (B, K); candidates int64 [1] = C.
    """
    # Every alternative was slower: ReduceLogSumExp by a factor of nine, TopK of logits with max, exp and sum by two.
    logprobs, ids = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1, sorted=1)
    shape = graph.op("Concat", rows, graph.integers(-1), axis=0)
    graph.output("top_ids", graph.op("Reshape", ids, shape), INT64, ["B", "K", "C"])
    graph.output("top_logprobs", graph.op("Reshape", logprobs, shape), FLOAT, ["B", "K", "C"])


class Target(NamedTuple):
    """The target that forced decoding scores."""

    ids: str
    """int64 [B, T]."""
    lengths: str
    """int64 [B]."""


class Hidden(NamedTuple):
    """The input of the output layer, [B, T, width]."""

    tensor: str
    dtype: int
    width: int


def forced_outputs(graph: GraphBuilder, hidden: Hidden, target: Target, output: Output) -> None:
    """Add the outputs of scoring: log-probability and rank of every target token [B, T]; 0 in the padding.

    The output layer runs over a few positions at a time: over all at once, the logits of
    a batch would take hundreds of megabytes.
    """
    if hidden.dtype != FLOAT:  # a GPU has the memory, and a loop would synchronise at every iteration
        ids = graph.op("Unsqueeze", target.ids, graph.integers(2))
        _output_scores(graph, score(graph, output(graph, hidden.tensor), ids), target)
        return
    rows = graph.reshape(hidden.tensor, -1, hidden.width)
    ids = graph.reshape(target.ids, -1, 1)
    count = graph.op("Shape", ids, start=0, end=1)
    missing = graph.op("Mod", graph.op("Neg", count), graph.integers(_POSITIONS_AT_ONCE))
    after = graph.op("Concat", graph.integers(0, 0), missing, graph.integers(0), axis=0)
    parts = [
        graph.reshape(graph.op("Pad", rows, after), -1, _POSITIONS_AT_ONCE, hidden.width),
        graph.reshape(graph.op("Pad", ids, after), -1, _POSITIONS_AT_ONCE, 1),
    ]
    body = graph.subgraph("output")
    body_rows = body.input(body.fresh("rows"), FLOAT, [_POSITIONS_AT_ONCE, hidden.width])
    body_ids = body.input(body.fresh("ids"), INT64, [_POSITIONS_AT_ONCE, 1])
    scored = graph.scan(body, [], parts, ([], score(body, output(body, body_rows), body_ids)))
    flat = [graph.op("Slice", graph.reshape(part, -1), graph.integers(0), count) for part in scored]
    _output_scores(graph, flat, target)


def score(graph: GraphBuilder, logits: str, ids: str) -> list[str]:
    """Return float32 log-probabilities and numbers of better tokens: logits [..., V], ids [..., 1] → [..., 1]."""
    scores = graph.op("LogSoftmax", logits, axis=-1)  # as in the step, so that both have the same values
    chosen = graph.op("GatherElements", scores, ids, axis=-1)
    better = graph.op("Cast", graph.op("Greater", scores, chosen), to=FLOAT)
    return [chosen, graph.op("ReduceSum", better, graph.integers(-1), keepdims=1)]


def _output_scores(graph: GraphBuilder, scored: Sequence[str], target: Target) -> None:
    shape = graph.op("Shape", target.ids)
    logprobs, better = (graph.op("Reshape", tensor, shape) for tensor in scored)
    ranks = graph.op("Cast", graph.op("Add", better, graph.constant(np.array(1, np.float32))), to=INT64)
    valid = valid_positions(graph, target.lengths, target.ids, axis=1)
    zero = graph.constant(np.array(0, np.float32))
    graph.output("logprobs", graph.op("Where", valid, logprobs, zero), FLOAT, ["B", "T"])
    graph.output("ranks", graph.op("Mul", ranks, graph.op("Cast", valid, to=INT64)), INT64, ["B", "T"])
