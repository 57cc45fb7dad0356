"""The recurrent cells and the encoders of the RNN encoder–decoder as graphs."""

from typing import NamedTuple

from onnx import TensorProto

from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic
from training.recipe import BahdanauConfig


class RecurrentCell(NamedTuple):
    """The kind of a recurrent cell and its size."""

    kind: str
    units: int

    @staticmethod
    def gates(config: BahdanauConfig) -> int:
        """Return the number of gates in a cell's matrices."""
        return 3 if config.cell == "gru" else 4


def advance(graph: GraphBuilder, cell: RecurrentCell, gates: tuple[str, str], state: tuple[str, str]) -> list[str]:
    """Return one step of a cell: gates from input and from state [N, G · D], (hidden, cell) → new hidden (and cell)."""
    units = cell.units
    if cell.kind == "gru":
        (input_both, input_new), (state_both, state_new) = (graph.split(g, [2 * units, units]) for g in gates)
        both = graph.op("Sigmoid", graph.op("Add", input_both, state_both))
        reset, update = graph.split(both, [units, units])
        new = graph.op("Tanh", graph.op("Add", input_new, graph.op("Mul", reset, state_new)))
        return [graph.op("Add", new, graph.op("Mul", update, graph.op("Sub", state[0], new)))]
    gated, candidate = graph.split(graph.op("Add", *gates), [3 * units, units])
    enter, forget, leave = graph.split(graph.op("Sigmoid", gated), [units] * 3)
    kept = graph.op("Mul", forget, state[1])
    kept = graph.op("Add", kept, graph.op("Mul", enter, graph.op("Tanh", candidate)))
    return [graph.op("Mul", leave, graph.op("Tanh", kept)), kept]


def encode_layer(
    graph: GraphBuilder, arithmetic: Arithmetic, config: BahdanauConfig, layer: int, values: str, valid: str
) -> tuple[str, list[str]]:
    """Run one layer over time: values [S, B, E], bool [S, B, 1] → [S, B, O], final states of each direction.

    The final states are the hidden state and an LSTM's cell of the first direction, then those of the second one.

    Both directions advance in one Scan, the second one from the end. A state does not change in padding, so the
    backward direction begins with zeros at the last token of its row.
    """
    units, gates, lstm = config.encoder_hidden, RecurrentCell.gates(config), config.cell == "lstm"
    directions = 2 if config.bidirectional else 1
    operand = arithmetic.operand(graph, f"encoder.{layer}", values)
    inputs = graph.split(arithmetic.product(graph, f"encoder.{layer}.input", operand), [gates * units] * directions)
    body = graph.subgraph(f"encoder_{layer}")
    dtype = arithmetic.dtype
    kinds = 2 if lstm else 1
    states = [body.input(body.fresh("state"), dtype, ["B", units]) for _ in range(directions * kinds)]
    gated = [body.input(body.fresh("gates"), dtype, ["B", gates * units]) for _ in range(directions)]
    masks = [body.input(body.fresh("valid"), TensorProto.BOOL, ["B", 1]) for _ in range(directions)]
    following = []
    for direction in range(directions):
        direction_states = states[direction * kinds : (direction + 1) * kinds]
        state = arithmetic.operand(body, f"encoder.{layer}.state_{direction}", direction_states[0])
        hidden = arithmetic.product(body, f"encoder.{layer}.hidden_{direction}", state)
        moved = advance(
            body,
            RecurrentCell(config.cell, units),
            (gated[direction], hidden),
            (direction_states[0], direction_states[-1]),
        )
        following += [body.op("Where", masks[direction], *pair) for pair in zip(moved, direction_states, strict=True)]
    hidden_now = following[::kinds]
    rows = graph.op("Shape", values, start=1, end=2)
    shape = graph.op("Concat", rows, graph.integers(units), axis=0)
    zeros = graph.op("Expand", arithmetic.number(graph, 0.0), shape)
    reverse = [False, True][:directions] * 2
    results = graph.scan(body, [zeros] * len(states), inputs + [valid] * directions, (following, hidden_now), reverse)
    outputs = results[len(states) :]
    joined = graph.op("Concat", *outputs, axis=-1) if directions > 1 else outputs[0]
    return joined, results[: len(states)]


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
