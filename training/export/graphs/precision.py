"""The operations of a graph in each precision: products, lookups, sums; the graphs do not depend on the precision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from training.export.graphs.builder import MICROSOFT, GraphBuilder
from training.export.parameters import OUTPUT_BIAS
from training.export.shortlist import Tokens


class Operand(NamedTuple):
    """A tensor that products read, and the name of its site in calibration."""

    site: str
    tensor: str


class Norm(NamedTuple):
    """A LayerNorm: the name of its parameters, and its epsilon."""

    name: str
    epsilon: float


class QuantisedRange(NamedTuple):
    """The quantisation of a site's numbers to uint8: ``q = round(x / scale) + zero``."""

    scale: float
    zero: int
    shifted: bool = False
    """Whether ``q`` ends at 254: as intgemm's, which is -127 to 127 with 127 added."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of calibration."""

    ranges: dict[str, QuantisedRange]
    """For every site."""
    by_row: frozenset[str] = frozenset()
    """Products whose input gets a scale for every row, because a fixed one loses too much."""


class Arithmetic:
    """float32 products with float32 weights, for the reference and for calibration."""

    dtype: int = TensorProto.FLOAT
    always: Tokens | None = None
    """The tokens that a step scores for every sentence; None: the whole vocabulary."""
    lists: bool = False
    """Whether each sentence also has a list of its own."""

    def __init__(self) -> None:
        self.products: dict[str, tuple[str, ...]] = {}
        """The sites that every product reads."""

    def operand(self, graph: GraphBuilder, site: str, tensor: str) -> Operand:
        """Declare that products read ``tensor``."""
        graph.record("operands", site, tensor)
        return Operand(site, tensor)

    def product(self, graph: GraphBuilder, name: str, *operands: Operand) -> str:
        """Return ``concat(operands) @ weight + bias`` with the matrix ``name``: [..., K] → [..., N]."""
        self.products[name] = tuple(operand.site for operand in operands)
        result = graph.op("MatMul", self._joined(graph, operands), self._matrix(graph, name))
        return self._add_bias(graph, result, f"{name}.bias")

    def scaled(self, graph: GraphBuilder, name: str, operand: Operand, factor: float) -> tuple[str, float]:
        """Return a product with a factor, if that costs nothing, and the factor that is left."""
        return self.product(graph, name, operand), factor

    def lookup(self, graph: GraphBuilder, table: str, ids: str) -> str:
        """Return rows of a table: int64 [...] → [..., E]."""
        return graph.op("Gather", graph.weight(f"{table}.weight"), ids)

    def logits(self, graph: GraphBuilder, table: str, operand: Operand, factor: float) -> str:
        """Return ``factor · operand @ tableᵀ + output bias``, always float32: [..., E] → [..., V]."""
        self.products[table] = (operand.site,)
        hidden = operand.tensor
        if factor != 1:
            hidden = graph.op("Mul", hidden, self.number(graph, factor))
        result = graph.op("MatMul", hidden, graph.op("Transpose", self._table(graph, table), perm=[1, 0]))
        return graph.op("Add", self.to_float(graph, result), graph.weight(OUTPUT_BIAS))

    def add_norm(self, graph: GraphBuilder, values: str, result: str, norm: Norm) -> tuple[str, str]:
        """Return LayerNorm(values + result) and the sum itself, each [..., W].

        These are two nodes, because ONNX Runtime's fused SkipLayerNormalization was seven times slower on a CPU. The
        sum is a Sum instead of an Add, because ONNX Runtime would fuse an Add.
        """
        total = graph.op("Sum", values, result)
        scale, bias = (self.vector(graph, f"{norm.name}.{part}") for part in ("weight", "bias"))
        return graph.op("LayerNormalization", total, scale, bias, axis=-1, epsilon=norm.epsilon), total

    def vector(self, graph: GraphBuilder, name: str) -> str:
        """Return a parameter that is never quantised."""
        return self.from_float(graph, graph.weight(name))

    def number(self, graph: GraphBuilder, value: float) -> str:
        """Return a scalar constant of this precision."""
        return graph.constant(np.array(value, np.float16 if self.dtype == TensorProto.FLOAT16 else np.float32))

    def from_float(self, graph: GraphBuilder, tensor: str) -> str:
        """Cast float32 to this precision."""
        return tensor if self.dtype == TensorProto.FLOAT else graph.op("Cast", tensor, to=self.dtype)

    def to_float(self, graph: GraphBuilder, tensor: str) -> str:
        """Cast this precision to float32."""
        return tensor if self.dtype == TensorProto.FLOAT else graph.op("Cast", tensor, to=TensorProto.FLOAT)

    def _joined(self, graph: GraphBuilder, operands: tuple[Operand, ...]) -> str:
        if len(operands) == 1:
            return operands[0].tensor
        return graph.op("Concat", *(operand.tensor for operand in operands), axis=-1)

    def _matrix(self, graph: GraphBuilder, name: str) -> str:
        return graph.weight(f"{name}.weight")

    def _table(self, graph: GraphBuilder, name: str) -> str:
        return graph.weight(f"{name}.weight")

    def _add_bias(self, graph: GraphBuilder, result: str, bias: str) -> str:
        return graph.op("Add", result, self.vector(graph, bias)) if bias in graph.store else result


class DequantisedArithmetic(Arithmetic):
    """float16 (or, to check the graph, float32) products with the int8 weights, expanded when the graph is loaded.

    This needs the session option ``session.disable_quant_qdq=1``; otherwise they are expanded in every run.
    """

    def __init__(self, dtype: int = TensorProto.FLOAT16) -> None:
        super().__init__()
        self.dtype = dtype

    def lookup(self, graph: GraphBuilder, table: str, ids: str) -> str:
        """Rows of a table: only those are expanded."""
        return self.from_float(graph, _int8_rows(graph, table, ids))

    def add_norm(self, graph: GraphBuilder, values: str, result: str, norm: Norm) -> tuple[str, str]:
        """Return one node, because CUDA has a kernel for it."""
        inputs = [values, result, *(self.vector(graph, f"{norm.name}.{part}") for part in ("weight", "bias"))]
        used, epsilon = [True, False, False, True], norm.epsilon
        normed, _, _, total = graph.ops("SkipLayerNormalization", inputs, used, domain=MICROSOFT, epsilon=epsilon)
        return normed, total

    def _matrix(self, graph: GraphBuilder, name: str) -> str:
        weight = graph.op("DequantizeLinear", graph.weight(f"{name}.weight"), graph.weight(f"{name}.scale"), axis=1)
        if f"{name}.rows" in graph.store:
            weight = graph.op("Mul", weight, graph.reshape(graph.weight(f"{name}.rows"), -1, 1))
        return self.from_float(graph, weight)

    def _table(self, graph: GraphBuilder, name: str) -> str:
        weight, scale = graph.weight(f"{name}.weight"), graph.weight(f"{name}.scale")
        return self.from_float(graph, graph.op("DequantizeLinear", weight, scale, axis=0))


class Int8Arithmetic(Arithmetic):
    """uint8 activations times int8 weights; the numbers of a row never depend on other rows.

    Scales of activations are constants from calibration or, where that loses too much, one for each row.
    """

    def __init__(self, plan: Calibration, always: Tokens | None = None, lists: bool = True) -> None:
        super().__init__()
        self._plan, self.always, self.lists = plan, always, lists and always is not None

    def product(self, graph: GraphBuilder, name: str, *operands: Operand) -> str:
        """Return the exact integer product; the bias is added after the conversion to float."""
        return self._product(graph, name, operands)

    def scaled(self, graph: GraphBuilder, name: str, operand: Operand, factor: float) -> tuple[str, float]:
        """Return the product with the factor in its constants, or without it where each row has its own scale."""
        if name in self._plan.by_row:
            return self.product(graph, name, operand), factor
        return self._product(graph, name, [operand], factor), 1.0

    def _product(self, graph: GraphBuilder, name: str, operands: Sequence[Operand], by: float = 1.0) -> str:
        weight, scale = graph.weight(f"{name}.weight"), graph.weight(f"{name}.scale")
        bias = graph.weight(f"{name}.bias") if f"{name}.bias" in graph.store else ""
        if name in self._plan.by_row:
            return self._by_row(graph, operands[0].tensor, weight, scale, bias)
        if f"{name}.{SHIFTED}" in graph.store:
            return self._shifted(graph, name, operands[0], by)
        scale, bias = self._times(graph, by, scale, bias)
        ranges = [self._plan.ranges[operand.site] for operand in operands]
        parts = [self._quantise(graph, operand.tensor, r) for operand, r in zip(operands, ranges, strict=True)]
        joined = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=-1)
        if f"{name}.rows" in graph.store:  # this graph does not use them, but they are needed to read the weights back
            graph.root.note(f"{name}.rows", str(graph.store.offset(f"{name}.rows")))
        # The parts have one zero point; their different scales are folded into the rows of the matrix.
        factor = ranges[0].scale if len(parts) == 1 else 1.0
        return self._multiply(graph, joined, weight, QuantisedRange(factor, ranges[0].zero), scale, bias)

    def _shifted(self, graph: GraphBuilder, name: str, operand: Operand, by: float) -> str:
        """Multiply as intgemm does, in its order: the bias takes back what was added to the input."""
        quantised = self._quantise(graph, operand.tensor, self._plan.ranges[operand.site])
        weight, scale, bias = (graph.weight(f"{name}.{part}") for part in ("weight", SHIFTED, f"{SHIFTED}_bias"))
        for unused in (f"{name}.scale", f"{name}.bias"):  # not used here, but needed to read the weights back
            if unused in graph.store:
                graph.root.note(unused, str(graph.store.offset(unused)))
        scale, bias = self._times(graph, by, scale, bias)
        return graph.fused("MatMulIntegerToFloat", quantised, weight, self.number(graph, 1.0), scale, "", "", bias)

    def _times(self, graph: GraphBuilder, by: float, *constants: str) -> list[str]:
        """Return a product's constants with a factor, computed when the graph is loaded."""
        if by == 1.0:
            return [*constants]
        return [constant and graph.op("Mul", constant, self.number(graph, by)) for constant in constants]

    def lookup(self, graph: GraphBuilder, table: str, ids: str) -> str:
        """Rows of a table: only those are expanded."""
        return _int8_rows(graph, table, ids)

    def logits(self, graph: GraphBuilder, table: str, operand: Operand, factor: float) -> str:
        """Return the logits; the table is stored once, [V, E], and transposed when the graph is loaded."""
        names = (f"{table}.weight", f"{table}.scale", OUTPUT_BIAS)
        return self._logits(graph, operand, factor, [graph.weight(name) for name in names])

    def frequent(self, graph: GraphBuilder, table: str, operand: Operand, factor: float) -> str:
        """Return the logits of ``always``, [..., W] → [..., A]; their rows are gathered when the graph is loaded."""
        assert self.always is not None
        names, ids = (f"{table}.weight", f"{table}.scale", OUTPUT_BIAS), always_ids(graph, self.always)
        return self._logits(graph, operand, factor, [graph.op("Gather", graph.weight(name), ids) for name in names])

    def _logits(self, graph: GraphBuilder, operand: Operand, factor: float, rows: Sequence[str]) -> str:
        """Return the logits of rows of a table, given their int8 [R, E], scales [R] and biases [R]."""
        weight = graph.op("Transpose", rows[0], perm=[1, 0])
        site = self._plan.ranges[operand.site]
        quantised = self._quantise(graph, operand.tensor, site)
        # MatMulIntegerToFloat spends 4 ns on the scale of each column, for any number of rows: a tenth of a step of one
        # row. So the scales are multiplied afterwards; the bias is divided by them when the graph is loaded.
        scale = graph.op("Mul", rows[1], self.number(graph, site.scale * factor))
        bias = graph.op("Div", rows[2], scale)
        unit = self.number(graph, 1.0)
        return graph.op(
            "Mul", self._multiply(graph, quantised, weight, QuantisedRange(1.0, site.zero), unit, bias), scale
        )

    def columns(self, graph: GraphBuilder, table: str, site: str, factor: float) -> tuple[str, str]:
        """Return scale and bias [V], which turn ``integers`` into logits, computed when the graph is loaded.

        The bias includes the zero point's part of the product.
        """
        of_input = self._plan.ranges[site]
        scale = graph.op("Mul", graph.weight(f"{table}.scale"), self.number(graph, of_input.scale * factor))
        sums = graph.op("Cast", graph.weight(f"{table}.weight"), to=TensorProto.INT32)
        sums = graph.op("Cast", graph.op("ReduceSum", sums, graph.integers(1), keepdims=0), to=TensorProto.FLOAT)
        shift = graph.op("Mul", graph.op("Mul", sums, self.number(graph, of_input.zero)), scale)
        return scale, graph.op("Sub", graph.weight(OUTPUT_BIAS), shift)

    def integers(self, graph: GraphBuilder, operand: Operand, shape: str, weight: str) -> str:
        """Multiply the operand [..., W], as [B, K, W], by int8 [B, W, O] → int32 [B, K, O].

        Without a zero point it is faster in ONNX Runtime for a single row.
        """
        quantised = self._quantise(graph, operand.tensor, self._plan.ranges[operand.site])
        return graph.op("MatMulInteger", graph.op("Reshape", quantised, shape), weight)

    def _multiply(
        self, graph: GraphBuilder, quantised: str, weight: str, site: QuantisedRange, scale: str, bias: str
    ) -> str:
        factor, zero = self.number(graph, site.scale), graph.constant(np.array(site.zero, np.uint8))
        inputs = [quantised, weight, factor, scale, zero, ""] + ([bias] if bias else [])
        return graph.fused("MatMulIntegerToFloat", *inputs)

    def _quantise(self, graph: GraphBuilder, tensor: str, site: QuantisedRange) -> str:
        key = ("quantised", tensor, site)
        if key not in graph.made:
            scale, zero = self.number(graph, site.scale), graph.constant(np.array(site.zero, np.uint8))
            if site.shifted:  # QuantizeLinear ends at 255
                tensor = graph.op("Clip", tensor, "", self.number(graph, 127 * site.scale))
            graph.made[key] = graph.op("QuantizeLinear", tensor, scale, zero)
        return graph.made[key]

    def _by_row(self, graph: GraphBuilder, tensor: str, weight: str, scale: str, bias: str) -> str:
        highest = graph.op("ReduceMax", graph.op("Abs", tensor), graph.integers(-1), keepdims=1)
        step = graph.op("Mul", highest, self.number(graph, 1 / 127))
        safe = graph.op("Max", step, self.number(graph, 1e-12))
        scaled = graph.op("Div", tensor, safe)
        quantised = self._quantise(graph, scaled, QuantisedRange(1.0, 128))
        result = self._multiply(graph, quantised, weight, QuantisedRange(1.0, 128), scale, "")
        result = graph.op("Mul", result, safe)
        return graph.op("Add", result, bias) if bias else result


SHIFTED = "shifted"
"""The end of the names of the scale and, with ``_bias``, of the bias of a product as intgemm computes it."""
ALWAYS = "output.always"
"""The name of the tokens of ``always`` in the weight store, if there are too many for a constant."""
MOST_CONSTANTS = 1024


def always_ids(graph: GraphBuilder, always: Tokens) -> str:
    """Return the tokens that every sentence may use, int64 [A]."""
    return graph.weight(ALWAYS) if len(always) > MOST_CONSTANTS else graph.integers(*always.tolist())


def _int8_rows(graph: GraphBuilder, table: str, ids: str) -> str:
    rows = graph.op("Gather", graph.weight(f"{table}.weight"), ids)  # int8 [..., E]
    scales = graph.op("Gather", graph.reshape(graph.weight(f"{table}.scale"), -1, 1), ids)  # [..., 1]
    return graph.op("Mul", graph.op("Cast", rows, to=TensorProto.FLOAT), scales)
