"""The simpler simple recurrent unit (Kim et al. 2019, D19-5632) in place of a decoder's self-attention."""

from training.export.graphs.builder import Axes, GraphBuilder
from training.export.graphs.precision import Arithmetic


class Ssru:
    """Builds one layer's unit, for one step and for whole targets; both do the same operations on a position."""

    def __init__(self, arithmetic: Arithmetic, name: str, width: int) -> None:
        self._arithmetic, self._name, self._width = arithmetic, name, width

    def step(self, graph: GraphBuilder, seen: str, cell: str) -> tuple[str, list[str]]:
        """Return the output [N, 1, W] and the next cell, from the input and the cell, each [N, 1, W]."""
        following = _blend(graph, *self._gates(graph, seen), cell)
        return graph.op("Relu", following), [following]

    def sequence(self, graph: GraphBuilder, seen: str) -> str:
        """Return the outputs of all positions: [B, T, W] → [B, T, W]."""
        sequences = [graph.op("Transpose", gate, perm=[1, 0, 2]) for gate in self._gates(graph, seen)]  # [T, B, W]
        start = self.start(graph, graph.op("Shape", sequences[0], start=1))
        axes: Axes = ["B", self._width]
        body, dtype = graph.subgraph("unit"), self._arithmetic.dtype
        cell, candidate, keep = (body.input(body.fresh(name), dtype, axes) for name in ("cell", "candidate", "keep"))
        following = [_blend(body, candidate, keep, cell)]
        cells = graph.scan(body, [start], sequences, (following, following))[1]
        return graph.op("Transpose", graph.op("Relu", cells), perm=[1, 0, 2])

    def start(self, graph: GraphBuilder, shape: str) -> str:
        """Return the cell before the first position, which is zero."""
        return graph.op("Expand", self._arithmetic.number(graph, 0.0), shape)

    def _gates(self, graph: GraphBuilder, seen: str) -> tuple[str, str]:
        """Return the candidate for the cell, and how much of the old one is kept."""
        operand = self._arithmetic.operand(graph, self._name, seen)
        product = self._arithmetic.product(graph, f"{self._name}.gates", operand)
        candidate, forget = graph.split(product, [self._width] * 2)
        return candidate, graph.op("Sigmoid", forget)


def _blend(graph: GraphBuilder, candidate: str, keep: str, cell: str) -> str:
    return graph.op("Add", candidate, graph.op("Mul", keep, graph.op("Sub", cell, candidate)))
