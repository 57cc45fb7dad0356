"""The residual connections of a Transformer's graphs."""

from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic, Norm
from training.export.layouts import norm_names
from training.recipe import TransformerConfig


class Stream:
    """The residual stream with its LayerNorms, sum and norm in one node: section 5.4, or pre-norm."""

    def __init__(self, graph: GraphBuilder, arithmetic: Arithmetic, config: TransformerConfig, side: str) -> None:
        self._graph, self._arithmetic = graph, arithmetic
        self._norms = (Norm(name, config.norm_epsilon) for name in norm_names(config, side))
        self._before = config.norm == "pre"
        self.seen = ""
        """The input of the next sub-layer."""
        self._sum = ""

    def start(self, embedded: str, positions: str) -> None:
        """Begin with embeddings [..., W] plus positions of the same shape."""
        if self._before:
            self._sum = embedded
            self.add(positions)
        else:
            self.seen = self._graph.op("Add", embedded, positions)

    def add(self, result: str) -> None:
        """Add the result of a sub-layer, [..., W]."""
        values = self._sum if self._before else self.seen
        self.seen, self._sum = self._arithmetic.add_norm(self._graph, values, result, next(self._norms))
