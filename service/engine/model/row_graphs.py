"""Graphs of one node that move rows of an array on a device, where NumPy cannot.

They are written as messages of Protocol Buffers, whose fields are in
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto; the package `onnx` is not needed to serve.
"""

from collections.abc import Iterable
from typing import Literal

RowOperation = Literal["take", "append", "lengthen"]
Field = tuple[int, int | str | bytes]

ELEMENT_TYPES = {"float32": 1, "int32": 6, "int64": 7, "float16": 10}
_IR_VERSION, _OPSET = 10, 21
_MODEL_IR_VERSION, _MODEL_GRAPH, _MODEL_OPSETS, _OPSET_VERSION = 1, 7, 8, 2
_NODE, _GRAPH_NAME, _INPUT, _OUTPUT = 1, 2, 11, 12  # of a graph
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_INTEGER, _ATTRIBUTE_TYPE, _INTEGER = 1, 3, 20, 2
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_ELEMENT = 1, 2, 1, 1
_VARINT, _BYTES = 0, 2  # kinds of fields


def row_graph(operation: RowOperation, dtype: str) -> bytes:
    """Return a model of one node from `data` to `result`.

    take: has another input `rows` int64 [M] and returns data[rows]. append: has another input `more` and returns both
    along axis 0. lengthen: has another input `pads` int64 [2 * rank], the zeros to add before and after each axis
    (negative: to cut).
    """
    kind, other, other_type = {
        "take": ("Gather", "rows", "int64"),
        "append": ("Concat", "more", dtype),
        "lengthen": ("Pad", "pads", "int64"),
    }[operation]
    node: list[Field] = [(_NODE_INPUT, "data"), (_NODE_INPUT, other), (_NODE_OUTPUT, "result"), (_NODE_KIND, kind)]
    if operation != "lengthen":
        axis: list[Field] = [(_ATTRIBUTE_NAME, "axis"), (_ATTRIBUTE_INTEGER, 0), (_ATTRIBUTE_TYPE, _INTEGER)]
        node.append((_NODE_ATTRIBUTE, _message(axis)))
    graph: list[Field] = [(_NODE, _message(node)), (_GRAPH_NAME, operation)]
    for number, name, element in ((_INPUT, "data", dtype), (_INPUT, other, other_type), (_OUTPUT, "result", dtype)):
        tensor = _message([(_TYPE_TENSOR, _message([(_TENSOR_ELEMENT, ELEMENT_TYPES[element])]))])
        graph.append((number, _message([(_VALUE_NAME, name), (_VALUE_TYPE, tensor)])))
    opset = _message([(_OPSET_VERSION, _OPSET)])
    return _message([(_MODEL_IR_VERSION, _IR_VERSION), (_MODEL_GRAPH, _message(graph)), (_MODEL_OPSETS, opset)])


def _message(fields: Iterable[Field]) -> bytes:
    """Return the message of such fields (https://protobuf.dev/programming-guides/encoding)."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)
