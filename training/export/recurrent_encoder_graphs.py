"""The encoders of the RNN encoder–decoder as graph nodes: recurrent layers, or convolutions in their place."""

from __future__ import annotations

from typing import NamedTuple

from training.export.graph import GraphBuilder
from training.export.precision import Arithmetic
from training.export.recurrent_cells import encode_layer
from training.recipe import BahdanauConfig


class Encoded(NamedTuple):
    """The result of an encoder; see ``training.networks.recurrent_encoders``."""

    annotations: str
    """[S, B, M]."""
    context: str
    """[B, M]."""
    summary: str
    """[B, ...]."""
    final: list[str]
    """[B, M] of every layer, then an LSTM's cells."""


def encode(graph: GraphBuilder, arithmetic: Arithmetic, config: BahdanauConfig, values: str, valid: str) -> Encoded:
    """Return the encoder's result for embedded tokens [S, B, E] and bool [S, B, 1]."""
    if config.encoder == "convolutional":
        return _convolutions(graph, arithmetic, config, values, valid)
    hidden, cells = [], []
    final: list[str] = []
    kinds = 2 if config.cell == "lstm" else 1
    for layer in range(config.encoder_layers):
        values, final = encode_layer(graph, arithmetic, config, layer, values, valid)
        if config.start == "copy" or layer == config.encoder_layers - 1:
            hidden.append(_joined(graph, final[::kinds]))
            cells += [_joined(graph, final[1::kinds])] if config.start == "copy" and kinds == 2 else []
    return Encoded(values, hidden[-1], final[-kinds], [*hidden, *cells])


def _joined(graph: GraphBuilder, directions: list[str]) -> str:
    return graph.op("Concat", *directions, axis=-1) if len(directions) > 1 else directions[0]


def _convolutions(
    graph: GraphBuilder, arithmetic: Arithmetic, config: BahdanauConfig, values: str, valid: str
) -> Encoded:
    """Run the layers x + tanh(W [x_{j-k} … x_{j+k}] + b) with zeros on both sides of each sentence."""
    zero = arithmetic.number(graph, 0.0)
    values = arithmetic.product(graph, "encoder.project", arithmetic.operand(graph, "encoder.project", values))
    around = config.kernel // 2
    size = graph.op("Shape", values, start=0, end=1)
    for layer in range(config.encoder_layers):
        inside = graph.op("Where", valid, values, zero)
        padded = graph.op("Pad", inside, graph.integers(around, 0, 0, around, 0, 0))
        windows = []
        for place in range(config.kernel):
            first = graph.integers(place)
            windows.append(graph.op("Slice", padded, first, graph.op("Add", size, first), graph.integers(0)))
        joined = graph.op("Concat", *windows, axis=-1) if len(windows) > 1 else windows[0]
        operand = arithmetic.operand(graph, f"encoder.{layer}.windows", joined)
        convolved = arithmetic.product(graph, f"encoder.{layer}.convolution", operand)
        values = graph.op("Add", values, graph.op("Tanh", convolved))
    total = graph.op("ReduceSum", graph.op("Where", valid, values, zero), graph.integers(0), keepdims=0)  # [B, M]
    count = graph.op("ReduceSum", graph.op("Cast", valid, to=arithmetic.dtype), graph.integers(0), keepdims=0)
    mean = graph.op("Div", total, count)
    return Encoded(values, mean, mean, [])
