"""The nodes and constants of an ONNX graph, read from its file and written back.

Field numbers are those of onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from service.engine.model.protobuf import Field, read_message, write_message
from service.engine.types import IntArray

_MODEL_GRAPH = 7
_NODE, _CONSTANT, _INPUT, _OUTPUT = 1, 5, 11, 12  # of a graph
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_FLOAT, _ATTRIBUTE_INTEGER, _ATTRIBUTE_INTEGERS, _ATTRIBUTE_TYPE = 1, 2, 3, 8, 20
_INTEGER_ATTRIBUTE = 2
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9
_VALUE_NAME = 1
_FLOAT32, _INT64 = 1, 7


@dataclass(slots=True, eq=False)
class Node:
    """One node; attributes are kept as they are in the file."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    domain: str = ""
    attributes: dict[str, bytes] = field(default_factory=dict)

    def number(self, name: str, default: float) -> float:
        """Return an attribute that is a float or an integer."""
        fields = dict(read_message(self.attributes.get(name, b"")))
        value = fields.get(_ATTRIBUTE_FLOAT, fields.get(_ATTRIBUTE_INTEGER, default))
        return float(struct.unpack("<f", value)[0]) if isinstance(value, bytes) else float(value)

    def integers(self, name: str) -> list[int]:
        """Return an attribute that is a list of integers."""
        message = self.attributes.get(name, b"")
        found = (value for number, value in read_message(message) if number == _ATTRIBUTE_INTEGERS)
        return [value for value in found if isinstance(value, int)]


class Nodes:
    """A graph that can be edited; `nodes` are in the order in which they run."""

    def __init__(self, model: bytes) -> None:
        """Read a model; raise NotProtobuf or ValueError if it is none."""
        self._model = list(read_message(model))
        [graph] = [value for number, value in self._model if number == _MODEL_GRAPH and isinstance(value, bytes)]
        fields = list(read_message(graph))
        self.nodes = [_read_node(value) for number, value in fields if number == _NODE and isinstance(value, bytes)]
        self._others: list[Field] = [each for each in fields if each[0] != _NODE]
        self._sizes = dict(_size(value) for number, value in fields if number == _CONSTANT and isinstance(value, bytes))
        self.inputs = {_name(value) for number, value in fields if number == _INPUT and isinstance(value, bytes)}
        self.outputs = {_name(value) for number, value in fields if number == _OUTPUT and isinstance(value, bytes)}

    def producer(self, name: str) -> Node | None:
        """Return the node that makes a tensor; None for inputs and constants."""
        return next((node for node in self.nodes if name in node.outputs), None)

    def consumers(self, name: str) -> list[Node]:
        """Return the nodes that read a tensor."""
        return [node for node in self.nodes if name in node.inputs]

    def size(self, name: str) -> list[int] | None:
        """Return the shape of a constant; None if there is no such constant."""
        return self._sizes.get(name)

    def constant(self, name: str, value: float | IntArray) -> str:
        """Add a constant, float32 or int64 if it is an array, and return its name."""
        array = np.float32(value) if isinstance(value, float) else np.asarray(value, np.int64)
        kind = _FLOAT32 if isinstance(value, float) else _INT64
        dims: list[Field] = [(_TENSOR_DIMS, size) for size in array.shape]
        data: list[Field] = [(_TENSOR_TYPE, kind), (_TENSOR_NAME, name.encode()), (_TENSOR_BYTES, array.tobytes())]
        self._others.append((_CONSTANT, write_message([*dims, *data])))
        self._sizes[name] = list(array.shape)
        return name

    def insert(self, before: Node, added: Iterable[Node]) -> None:
        """Add nodes that run before another one."""
        at = self.nodes.index(before)
        self.nodes[at:at] = added

    def add_output(self, name: str) -> None:
        """Return a tensor as one more output; its type is inferred."""
        if name not in self.outputs:
            self._others.append((_OUTPUT, write_message([(_VALUE_NAME, name.encode())])))
            self.outputs.add(name)

    def remove_unused(self) -> None:
        """Remove the nodes whose results are not used."""
        needed = set(self.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                needed.update(node.inputs)
                kept.append(node)
        self.nodes = kept[::-1]

    def model(self) -> bytes:
        """Return the file."""
        graph = write_message([*((_NODE, _write_node(node)) for node in self.nodes), *self._others])
        return write_message((number, graph if number == _MODEL_GRAPH else value) for number, value in self._model)


def integer_attribute(name: str, value: int) -> bytes:
    """Return an attribute that is an integer."""
    return write_message(
        [(_ATTRIBUTE_NAME, name.encode()), (_ATTRIBUTE_INTEGER, value), (_ATTRIBUTE_TYPE, _INTEGER_ATTRIBUTE)]
    )


def _read_node(message: bytes) -> Node:
    node = Node("", [], [])
    for number, value in read_message(message):
        if not isinstance(value, bytes):
            continue
        if number == _NODE_INPUT:
            node.inputs.append(value.decode())
        elif number == _NODE_OUTPUT:
            node.outputs.append(value.decode())
        elif number == _NODE_KIND:
            node.kind = value.decode()
        elif number == _NODE_DOMAIN:
            node.domain = value.decode()
        elif number == _NODE_ATTRIBUTE:
            node.attributes[_name(value)] = value
    return node


def _write_node(node: Node) -> bytes:
    fields: list[Field] = [(_NODE_INPUT, name.encode()) for name in node.inputs]
    fields += [(_NODE_OUTPUT, name.encode()) for name in node.outputs]
    fields += [(_NODE_KIND, node.kind.encode()), (_NODE_DOMAIN, node.domain.encode())]
    return write_message([*fields, *((_NODE_ATTRIBUTE, attribute) for attribute in node.attributes.values())])


def _name(message: bytes) -> str:
    """Return the name of an attribute, an input or an output: the first field of each."""
    return next((value.decode() for number, value in read_message(message)
                 if number == _VALUE_NAME and isinstance(value, bytes)), "")  # fmt: skip


def _size(tensor: bytes) -> tuple[str, list[int]]:
    name, size = "", []
    for number, value in read_message(tensor):
        if number == _TENSOR_NAME and isinstance(value, bytes):
            name = value.decode()
        elif number == _TENSOR_DIMS and isinstance(value, int):
            size.append(value)
    return name, size
