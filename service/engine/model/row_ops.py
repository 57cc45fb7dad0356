"""Three one-node graphs that move rows on a device: take rows, append rows, lengthen an axis.

ONNX Runtime has no function to index an array on a GPU, but it runs graphs there. This module writes them in the wire
format of onnx.proto3, field by field, so that the service does not need the onnx package.
"""

from __future__ import annotations

from typing import Literal

RowOperation = Literal["take", "append", "lengthen"]

IR_VERSION, OPSET = 10, 21
ELEMENT_TYPES = {"float32": 1, "int32": 6, "int64": 7, "float16": 10}  # TensorProto.DataType
_ATTRIBUTE_INT = 2  # AttributeProto.AttributeType.INT
_VARINT, _BYTES = 0, 2  # wire types


def row_graph(operation: RowOperation, dtype: str) -> bytes:
    """Return a graph from `data` to `result`.

    take: has another input `rows` int64 [M] and returns data[rows]. append: has another input `more` and returns both
    along axis 0. lengthen: has another input `pads` int64 [2 * rank], the zeros to add before and after each axis
    (negative: to cut).
    """
    element = ELEMENT_TYPES[dtype]
    integers = ELEMENT_TYPES["int64"]
    kind, other, other_type, attributes = {
        "take": ("Gather", "rows", integers, _axis_zero()),
        "append": ("Concat", "more", element, _axis_zero()),
        "lengthen": ("Pad", "pads", integers, b""),
    }[operation]
    node = _text(1, "data") + _text(1, other) + _text(2, "result") + _text(4, kind) + attributes
    graph = _bytes(1, node) + _text(2, operation)
    graph += _bytes(11, _value("data", element)) + _bytes(11, _value(other, other_type))
    graph += _bytes(12, _value("result", element))
    return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _number(2, OPSET))


def _axis_zero() -> bytes:
    """Return the NodeProto.attribute: axis = 0."""
    return _bytes(5, _text(1, "axis") + _number(3, 0) + _number(20, _ATTRIBUTE_INT))


def _value(name: str, element: int) -> bytes:
    """Return the ValueInfoProto of a tensor of any shape."""
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, element)))


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
