"""Makes a decoder's step return the weights of its aligning head, which it computes anyway.

A bundle's step returns no attention. The weights are the first operand of the product that reads the values of the
memory along its axis S, so every bundle's graph has them inside, whatever its scores are. The graph gets one more
output; a run that does not bind it does the same work as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.bundle.manifest import ArraySpec, AttentionSpec
from service.engine.model.batching import Array
from service.engine.model.onnx_nodes import Node, Nodes
from service.engine.model.protobuf import NotProtobuf
from service.engine.types import FloatArray

_PRODUCTS = ("MatMul", "FusedMatMul")


@dataclass(frozen=True, slots=True)
class StepWeights:
    """The output of a step with the weights of a layer, [B, H, K, S] or of a single head [B, K, S], and the head."""

    output: str
    head: int

    def of_head(self, weights: Array) -> FloatArray:
        """Return the weights of the head, [B, K, S], in an array of their own."""
        own: FloatArray = (weights[:, self.head] if weights.ndim == 4 else weights).astype("float32")
        return own


def with_step_weights(
    model: bytes, memory: Sequence[ArraySpec], attention: AttentionSpec
) -> tuple[bytes, StepWeights | None]:
    """Return the graph of a step with the weights of the aligning layer as one more output.

    The graph is returned as it is, with None, if they are not found: an architecture without attention has none.
    """
    try:
        graph = Nodes(model)
    except (NotProtobuf, ValueError):
        return model, None  # ONNX Runtime has the better message
    values = {spec.name for spec in memory if len(spec.axes) > 2 and spec.axes[-2] == "S"}
    layers = [node for node in graph.nodes if _reads_values(node, values)]
    if len(layers) != attention.cross.layers:
        return model, None
    output = layers[attention.align.layer].inputs[0]
    graph.add_output(output)
    return graph.model(), StepWeights(output, attention.align.head)


def _reads_values(node: Node, values: set[str]) -> bool:
    if node.kind not in _PRODUCTS or len(node.inputs) < 2 or node.inputs[1] not in values:
        return False
    return not any(node.number(name, 0) for name in ("transA", "transB"))
