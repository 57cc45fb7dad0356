"""The output layer: logits over the whole vocabulary, or in a step over the tokens that a sentence may need.

A step scores frequent tokens, the same ones for every sentence, and those of the sentence's own list. The columns of
the output matrix for that list are part of the sentence's memory, gathered once by the encoder graph. So a list
does not depend on the rest of the batch, and the K rows of a sentence share one product.
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import TensorProto

from training.export.graph import Axes, GraphBuilder
from training.export.graph_blocks import FLOAT, INT64, top_candidates
from training.export.parameters import SUPPRESSED
from training.export.precision import Arithmetic, Operand, always_ids

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
        if not self.arithmetic.lists:
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
        if self.arithmetic.always is None:
            top_candidates(graph, self.logits(graph, hidden), rows, candidates)
            return
        if not self.arithmetic.lists:
            self._top_of_always(graph, hidden, rows, candidates)
            return
        ids, weight, scale, bias = (graph.input(array.name, array.dtype, array.axes) for array in self.arrays)
        shape = graph.op("Concat", rows, graph.integers(self.width), axis=0)
        operand = Operand(SITE, hidden)
        product = self.arithmetic.integers(graph, operand, shape, weight)  # int32 [B, K, O]
        own = graph.op("Add", graph.op("Mul", graph.op("Cast", product, to=FLOAT), scale), bias)
        frequent = self.arithmetic.frequent(graph, self.table, operand, self.factor)  # [..., A]
        count = len(self.arithmetic.always)
        frequent = graph.op("Reshape", frequent, graph.op("Concat", rows, graph.integers(count), axis=0))
        logits = graph.op("Concat", frequent, own, axis=-1)  # [B, K, A + O]
        logprobs, places = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1)
        sentences = graph.op("Concat", graph.op("Shape", ids, start=0, end=1), graph.integers(count), axis=0)
        always = graph.op("Expand", always_ids(graph, self.arithmetic.always), sentences)  # [B, A]
        known = graph.op("Concat", always, ids, axis=1)
        chosen = graph.op("GatherElements", known, graph.reshape(places, 0, -1), axis=1)  # [B, K · C]
        graph.output("top_ids", graph.op("Reshape", chosen, graph.op("Shape", places)), INT64, ["B", "K", "C"])
        graph.output("top_logprobs", logprobs, FLOAT, ["B", "K", "C"])

    def _top_of_always(self, graph: GraphBuilder, hidden: str, rows: str, candidates: str) -> None:
        """Add the outputs of a step that scores the same tokens for every sentence."""
        assert self.arithmetic.always is not None
        logits = self.arithmetic.frequent(graph, self.table, Operand(SITE, hidden), self.factor)  # [..., A]
        logprobs, places = graph.ops("TopK", [graph.op("LogSoftmax", logits, axis=-1), candidates], 2, axis=-1)
        chosen = graph.op("Gather", always_ids(graph, self.arithmetic.always), places)
        shape = graph.op("Concat", rows, graph.integers(-1), axis=0)
        graph.output("top_ids", graph.op("Reshape", chosen, shape), INT64, ["B", "K", "C"])
        graph.output("top_logprobs", graph.op("Reshape", logprobs, shape), FLOAT, ["B", "K", "C"])
