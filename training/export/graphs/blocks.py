"""Building blocks that the graphs of all architectures share: masks, scores of given targets, the output layer.

A step scores frequent tokens, the same ones for every sentence, and those of the sentence's own list. The columns of
the output matrix for that list are part of the sentence's memory, gathered once by the encoder graph. So a list
does not depend on the rest of the batch, and the K rows of a sentence share one product.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from service.bundle.shortlist import SCORED
from service.bundle.vocabulary import BOS
from training.export.graphs.builder import Axes, GraphBuilder
from training.export.graphs.precision import Arithmetic, Int8Arithmetic, Operand, always_ids
from training.export.parameters import SUPPRESSED
from training.export.shortlist import Tokens

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


def top_candidates(graph: GraphBuilder, logits: str, rows: str, candidates: str, known: str | None = None) -> None:
    """Add the step's outputs: the best C tokens of every row and their log-probabilities, [B, K, C].

    logits float32 [N, V] or [N, 1, V]; rows int64 [2] = (B, K); candidates int64 [1] = C; known int64 [V]: the tokens
    that are scored, if not all.
    """
    # Every alternative was slower: ReduceLogSumExp by a factor of nine, TopK of logits with max, exp and sum by two.
    logprobs, ids = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1, sorted=1)
    shape = graph.op("Concat", rows, graph.integers(-1), axis=0)
    ids = ids if known is None else graph.op("Gather", known, ids)
    graph.output("top_ids", graph.op("Reshape", ids, shape), INT64, ["B", "K", "C"])
    graph.output("top_logprobs", graph.op("Reshape", logprobs, shape), FLOAT, ["B", "K", "C"])


def shifted_right(graph: GraphBuilder, target: str) -> str:
    """Return the target after BOS, without its last token, int64 [B, T]; CUDA has no Pad of integers."""
    column = graph.op("Concat", graph.op("Shape", target, start=0, end=1), graph.integers(1), axis=0)
    first = graph.op("Expand", graph.integers(BOS), column)
    rest = graph.op("Slice", target, graph.integers(0), graph.integers(-1), graph.integers(1))
    return graph.op("Concat", first, rest, axis=1)


class ForcedTarget(NamedTuple):
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


def forced_outputs(graph: GraphBuilder, hidden: Hidden, target: ForcedTarget, output: Output) -> None:
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


def _output_scores(graph: GraphBuilder, scored: Sequence[str], target: ForcedTarget) -> None:
    shape = graph.op("Shape", target.ids)
    logprobs, better = (graph.op("Reshape", tensor, shape) for tensor in scored)
    ranks = graph.op("Cast", graph.op("Add", better, graph.constant(np.array(1, np.float32))), to=INT64)
    valid = valid_positions(graph, target.lengths, target.ids, axis=1)
    zero = graph.constant(np.array(0, np.float32))
    graph.output("logprobs", graph.op("Where", valid, logprobs, zero), FLOAT, ["B", "T"])
    graph.output("ranks", graph.op("Mul", ranks, graph.op("Cast", valid, to=INT64)), INT64, ["B", "T"])


SHORTLIST = "shortlist"
"""The encoder's input: the tokens of each sentence's own list, int64 [B, O], with padding for shorter lists."""
SITE = "output"


class ShortlistArray(NamedTuple):
    """A memory array that a shortlist needs."""

    name: str
    dtype: int
    axes: Axes
    padding: float | None = None
    """The value after a sentence's own tokens; None: any value."""


class OutputLayer(NamedTuple):
    """``factor · hidden @ tableᵀ + output bias``."""

    arithmetic: Arithmetic
    table: str
    width: int
    factor: float = 1.0

    @property
    def arrays(self) -> list[ShortlistArray]:
        """Return the arrays that the encoder passes to the step's output layer; none without a shortlist."""
        if not self.arithmetic.lists:
            return []
        return [
            ShortlistArray("output_ids", INT64, ["B", "O"], 0),
            ShortlistArray("output_weight", TensorProto.INT8, ["B", self.width, "O"]),
            ShortlistArray("output_scale", FLOAT, ["B", 1, "O"]),
            ShortlistArray("output_bias", FLOAT, ["B", 1, "O"], SUPPRESSED),
        ]

    def give(self, graph: GraphBuilder) -> None:
        """Add the encoder's part: the columns of the chosen tokens."""
        if not isinstance(self.arithmetic, Int8Arithmetic) or not self.arithmetic.lists:
            return
        ids = graph.input(SHORTLIST, INT64, ["B", "O"])
        weight = graph.op("Gather", graph.weight(f"{self.table}.weight"), ids)  # int8 [B, O, W]
        columns = [
            graph.op("Unsqueeze", graph.op("Gather", column, ids), graph.integers(1))
            for column in self.arithmetic.columns(graph, self.table, SITE, self.factor)
        ]
        for array, tensor in zip(
            self.arrays, [ids, graph.op("Transpose", weight, perm=[0, 2, 1]), *columns], strict=True
        ):
            graph.output(array.name, tensor, array.dtype, array.axes)

    def logits(self, graph: GraphBuilder, hidden: str) -> str:
        """Return the logits of the whole vocabulary: [..., W] → float32 [..., V]."""
        return self.arithmetic.logits(graph, self.table, Operand(SITE, hidden), self.factor)

    def top(self, graph: GraphBuilder, hidden: str, rows: str, candidates: str) -> None:
        """Add the step's outputs from hidden [N, 1, W] or [N, W]; rows int64 [2] = (B, K); candidates int64 [1]."""
        arithmetic, operand = self.arithmetic, Operand(SITE, hidden)
        if not isinstance(arithmetic, Int8Arithmetic) or arithmetic.always is None:
            top_candidates(graph, self.logits(graph, hidden), rows, candidates)
            return
        frequent = arithmetic.frequent(graph, self.table, operand, self.factor)  # [..., A]
        if not arithmetic.lists:
            top_candidates(graph, frequent, rows, candidates, always_ids(graph, arithmetic.always))
            return
        ids, weight, scale, bias = (graph.input(array.name, array.dtype, array.axes) for array in self.arrays)
        shape = graph.op("Concat", rows, graph.integers(self.width), axis=0)
        product = arithmetic.integers(graph, operand, shape, weight)  # int32 [B, K, O]
        scores = graph.op("Add", graph.op("Mul", graph.op("Cast", product, to=FLOAT), scale), bias)
        count = len(arithmetic.always)
        frequent = graph.op("Reshape", frequent, graph.op("Concat", rows, graph.integers(count), axis=0))
        logits = graph.op("Concat", frequent, scores, axis=-1)  # [B, K, A + O]
        logprobs, places = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1)
        chosen = self._chosen(graph, graph.reshape(places, 0, -1), arithmetic.always, ids)
        graph.output("top_ids", graph.op("Reshape", chosen, graph.op("Shape", places)), INT64, ["B", "K", "C"])
        graph.output("top_logprobs", logprobs, FLOAT, ["B", "K", "C"])

    @staticmethod
    def _chosen(graph: GraphBuilder, places: str, always: Tokens, ids: str) -> str:
        """Return the tokens at places [B, K · C] of ``always`` [A] followed by each sentence's own [B, O].

        They are looked up in the two lists: one table of both for each sentence takes 4 to 6 % of a step of 32 rows.
        """
        graph.note(SCORED, " ".join(map(str, always)))
        zero, last, count = (graph.constant(np.array(number)) for number in (0, len(always) - 1, len(always)))
        frequent = graph.op("Gather", always_ids(graph, always), graph.op("Min", places, last))
        place = graph.op("Max", graph.op("Sub", places, count), zero)
        listed = graph.op("GatherElements", ids, place, axis=1)
        return graph.op("Where", graph.op("Less", places, count), frequent, listed)
