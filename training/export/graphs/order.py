"""What an encoder knows of the order of words without a table of positions: distances or directions."""

import numpy as np

from training.export.graphs.blocks import INT64
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic
from training.export.layouts import relative_name
from training.network_config import REACH, TransformerConfig

_NEVER = -1e4
"""Added to a score, it leaves no weight beside others; unlike infinity, it is a number where it is added to all."""


class Order:
    """The order of S positions in one graph; nothing where the network has a table."""

    def __init__(self, graph: GraphBuilder, arithmetic: Arithmetic, config: TransformerConfig, size: str) -> None:
        self._graph, self._arithmetic, self._config, self._size = graph, arithmetic, config, size
        self._distances = self._clipped_distances() if config.positions == "relative" else None

    def directed(self, mask: str) -> str:
        """Return the mask [B, 1, 1, S] with that of the direction of each head, [B, H, S, S]."""
        if self._config.positions != "directional":
            return mask
        graph, half = self._graph, self._config.heads // 2
        square = graph.op("Concat", self._size, self._size, axis=0)
        low = graph.op("Expand", self._arithmetic.number(graph, _NEVER), square)
        later = graph.op("Trilu", low, graph.constant(np.array(1, np.int64)), upper=1)
        earlier = graph.op("Trilu", low, graph.constant(np.array(-1, np.int64)), upper=0)
        heads = [graph.op("Unsqueeze", relation, graph.integers(0)) for relation in [later] * half + [earlier] * half]
        return graph.op("Add", mask, graph.op("Concat", *heads, axis=0))

    def near(self, layer: int) -> str | None:
        """Return the vector of every distance, [S, D, S] for queries, values, keys."""
        if self._distances is None:
            return None
        graph = self._graph
        vectors = graph.op("Gather", graph.weight(relative_name(layer)), self._distances)  # [S, S, D]
        return self._arithmetic.from_float(graph, graph.op("Transpose", vectors, perm=[0, 2, 1]))

    def _clipped_distances(self) -> str:
        """Return int64 [S, S]: the distance from row to column, from 0 to 2 · REACH."""
        graph = self._graph
        zero, one = graph.constant(np.array(0, np.int64)), graph.constant(np.array(1, np.int64))
        places = graph.op("Range", zero, graph.op("Squeeze", self._size), one)
        apart = graph.op("Sub", places, graph.op("Unsqueeze", places, graph.integers(1)))
        low, high = graph.constant(np.array(-REACH, np.int64)), graph.constant(np.array(REACH, np.int64))
        return graph.op("Add", graph.op("Cast", graph.op("Clip", apart, low, high), to=INT64), high)
