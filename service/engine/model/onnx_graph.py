"""Reads an ONNX graph from its file, edits it, and writes it back.

ONNX Runtime cannot edit a graph, and the package `onnx` is not needed to serve. A file is a message of Protocol
Buffers, whose fields are in https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from service.engine.jobs import IntArray
from service.engine.model.protocol_buffers import Field, read_message, write_message

RowOperation = Literal["take", "append", "lengthen"]

ELEMENT_TYPES = {"float32": 1, "int32": 6, "int64": 7, "float16": 10}

_IR_VERSION, _OPSET = 10, 21
_MODEL_IR_VERSION, _MODEL_GRAPH, _MODEL_OPSETS, _OPSET_VERSION = 1, 7, 8, 2
_NODE, _GRAPH_NAME, _CONSTANT, _INPUT, _OUTPUT = 1, 2, 5, 11, 12  # of a graph
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_FLOAT, _ATTRIBUTE_INTEGER, _ATTRIBUTE_GRAPH, _ATTRIBUTE_INTEGERS = 1, 2, 3, 6, 8
_ATTRIBUTE_TYPE, _INTEGER_ATTRIBUTE = 20, 2
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES, _TENSOR_PLACE = 1, 2, 8, 9, 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2  # of the place of a tensor's bytes
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_ELEMENT = 1, 2, 1, 1


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

    def reads(self) -> set[str]:
        """Return the tensors that it reads: its inputs, and what its loop reads of the graph around it."""
        inner = [node.reads() for node in self.body().nodes] if "body" in self.attributes else []
        return {*self.inputs}.union(*inner)

    def body(self) -> Graph:
        """Return the graph that a loop runs."""
        [body] = _messages(read_message(self.attributes["body"]), _ATTRIBUTE_GRAPH)
        return Graph(body)

    def set_body(self, body: Graph) -> None:
        """Give a loop another graph."""
        self.attributes["body"] = _with_message(self.attributes["body"], _ATTRIBUTE_GRAPH, body.message())

    def add_integers(self, name: str, values: Iterable[int]) -> None:
        """Add numbers at the end of an attribute that is a list of integers, if the node has it."""
        if name in self.attributes:
            # Two messages one after the other are one message, in which repeated fields are joined.
            self.attributes[name] += write_message((_ATTRIBUTE_INTEGERS, value) for value in values)


class Graph:
    """A graph that can be edited; `nodes` are in the order in which they run."""

    def __init__(self, message: bytes) -> None:
        """Read a graph; raise ValueError."""
        fields = list(read_message(message))
        self.nodes = [_read_node(value) for value in _messages(fields, _NODE)]
        self._others = [each for each in fields if each[0] not in (_NODE, _OUTPUT)]
        self._constants = {_text(value, _TENSOR_NAME): value for value in _messages(fields, _CONSTANT)}
        self.inputs = [_name(value) for value in _messages(fields, _INPUT)]
        self._outputs = {_name(value): value for value in _messages(fields, _OUTPUT)}

    @property
    def outputs(self) -> list[str]:
        """Return the names of the outputs, in their order."""
        return list(self._outputs)

    def producer(self, name: str) -> Node | None:
        """Return the node that makes a tensor; None for inputs and constants."""
        return next((node for node in self.nodes if name in node.outputs), None)

    def consumers(self, name: str) -> list[Node]:
        """Return the nodes that read a tensor."""
        return [node for node in self.nodes if name in node.inputs]

    def size(self, name: str) -> list[int] | None:
        """Return the shape of a constant; None if there is no such constant."""
        tensor = self._constants.get(name)
        if tensor is None:
            return None
        return [value for number, value in read_message(tensor) if number == _TENSOR_DIMS and isinstance(value, int)]

    def integers(self, name: str, folder: Path) -> IntArray:
        """Return a constant of int64, whose bytes may stand in another file of the folder."""
        tensor = list(read_message(self._constants[name]))
        content = b"".join(_messages(tensor, _TENSOR_BYTES))
        place = {_text(each, _ENTRY_KEY): _text(each, _ENTRY_VALUE) for each in _messages(tensor, _TENSOR_PLACE)}
        if place:
            with (folder / Path(place["location"]).name).open("rb") as file:
                file.seek(int(place.get("offset", 0)))
                content = file.read(int(place["length"]))
        return np.frombuffer(content, "<i8")

    def constant(self, name: str, value: float | IntArray) -> str:
        """Add a constant, float32 or int64 if it is an array, and return its name."""
        array = np.float32(value) if isinstance(value, float) else np.asarray(value, np.int64)
        data: list[Field] = [(_TENSOR_DIMS, size) for size in array.shape]
        data += [(_TENSOR_TYPE, ELEMENT_TYPES[array.dtype.name]), (_TENSOR_NAME, name.encode())]
        self._constants[name] = write_message([*data, (_TENSOR_BYTES, array.tobytes())])
        self._others.append((_CONSTANT, self._constants[name]))
        return name

    def insert(self, before: Node, added: Iterable[Node]) -> None:
        """Add nodes that run before another one."""
        at = self.nodes.index(before)
        self.nodes[at:at] = added

    def add_output(self, name: str, like: str | None = None) -> None:
        """Return a tensor as one more output; its type is that of another output, or inferred."""
        named = write_message([(_VALUE_NAME, name.encode())])
        known = self._outputs[like] if like else b""
        kind = write_message(each for each in read_message(known) if each[0] != _VALUE_NAME)
        self._outputs.setdefault(name, named + kind)

    def remove_unused(self) -> None:
        """Remove the nodes whose results are not used."""
        needed = set(self.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                needed.update(node.reads())
                kept.append(node)
        self.nodes = kept[::-1]
        self._others = [each for each in self._others if each[0] != _CONSTANT or _constant_name(each[1]) in needed]

    def renamed(self, name_of: Callable[[str], str], folder: str | None = None) -> Graph:
        """Return the graph with other names of its tensors, and perhaps with its weights in a folder of this name."""

        def value(message: bytes) -> bytes:
            return _with_text(message, _VALUE_NAME, name_of)

        def constant(message: bytes) -> bytes:
            named = _with_text(message, _TENSOR_NAME, name_of)
            return named if folder is None else _in_folder(named, folder)

        fields: list[Field] = [(_NODE, _write_node(_renamed(node, name_of))) for node in self.nodes]
        for number, content in self._others:
            if number in (_CONSTANT, _INPUT):
                assert isinstance(content, bytes)
                fields.append((number, constant(content) if number == _CONSTANT else value(content)))
            elif number == _GRAPH_NAME:
                fields.append((number, content))
        return Graph(write_message([*fields, *((_OUTPUT, value(each)) for each in self._outputs.values())]))

    def join(self, other: Graph, outputs: Iterable[str]) -> None:
        """Add another graph before this one, with these of its outputs; inputs of the same name are one."""
        self.nodes = [*other.nodes, *self.nodes]
        for number, content in other._others:
            if number == _CONSTANT or (number == _INPUT and _constant_name(content, _VALUE_NAME) not in self.inputs):
                self._others.append((number, content))
        self.inputs += [name for name in other.inputs if name not in self.inputs]
        self._constants |= other._constants
        self._outputs |= {name: other._outputs[name] for name in outputs}

    def message(self) -> bytes:
        """Return the graph as it stands in a file."""
        outputs = [(_OUTPUT, value) for value in self._outputs.values()]
        return write_message([*((_NODE, _write_node(node)) for node in self.nodes), *self._others, *outputs])


def graph_of(model: bytes) -> Graph:
    """Return the graph of a model's file; raise ValueError if it is none."""
    [graph] = _messages(read_message(model), _MODEL_GRAPH)
    return Graph(graph)


def with_graph(model: bytes, graph: Graph) -> bytes:
    """Return a model's file with another graph."""
    return _with_message(model, _MODEL_GRAPH, graph.message())


def row_graph(operation: RowOperation, dtype: str) -> bytes:
    """Return a model of one node from `data` to `result`, which moves rows on a device; NumPy cannot do it there.

    take: has another input `rows` int64 [M] and returns data[rows]. append: has another input `more` and returns both
    along axis 0. lengthen: has another input `pads` int64 [2 * rank], the zeros to add before and after each axis
    (negative: to cut).
    """
    axis = {"axis": integer_attribute("axis", 0)}
    node, other_type = {
        "take": (Node("Gather", ["data", "rows"], ["result"], attributes=axis), "int64"),
        "append": (Node("Concat", ["data", "more"], ["result"], attributes=axis), dtype),
        "lengthen": (Node("Pad", ["data", "pads"], ["result"]), "int64"),
    }[operation]
    values = [(_INPUT, "data", dtype), (_INPUT, node.inputs[1], other_type), (_OUTPUT, "result", dtype)]
    graph: list[Field] = [(_NODE, _write_node(node)), (_GRAPH_NAME, operation.encode())]
    for number, name, kind in values:
        tensor = write_message([(_TYPE_TENSOR, write_message([(_TENSOR_ELEMENT, ELEMENT_TYPES[kind])]))])
        graph.append((number, write_message([(_VALUE_NAME, name.encode()), (_VALUE_TYPE, tensor)])))
    opset = write_message([(_OPSET_VERSION, _OPSET)])
    return write_message(
        [(_MODEL_IR_VERSION, _IR_VERSION), (_MODEL_GRAPH, write_message(graph)), (_MODEL_OPSETS, opset)]
    )


def integer_attribute(name: str, value: int) -> bytes:
    """Return an attribute that is an integer."""
    return write_message(
        [(_ATTRIBUTE_NAME, name.encode()), (_ATTRIBUTE_INTEGER, value), (_ATTRIBUTE_TYPE, _INTEGER_ATTRIBUTE)]
    )


def operator_sets(model: bytes) -> list[bytes]:
    """Return the versions of the operators that a model's file asks for."""
    return sorted(_messages(read_message(model), _MODEL_OPSETS))


def _renamed(node: Node, name_of: Callable[[str], str]) -> Node:
    """Return a node that reads and writes tensors by other names, in its loop, too."""
    inputs, outputs = ([name and name_of(name) for name in names] for names in (node.inputs, node.outputs))
    other = Node(node.kind, inputs, outputs, node.domain, dict(node.attributes))
    if "body" in other.attributes:
        other.set_body(other.body().renamed(name_of))
    return other


def _with_text(message: bytes, number: int, other: Callable[[str], str]) -> bytes:
    """Return a message whose text under this number is another one."""
    return write_message(
        (each, other(value.decode()).encode() if each == number and isinstance(value, bytes) else value)
        for each, value in read_message(message)
    )


def _in_folder(tensor: bytes, folder: str) -> bytes:
    """Return a tensor whose bytes, if they stand in a file, stand in a file of that name in this folder."""

    def moved(number: int, value: int | bytes) -> int | bytes:
        if number == _TENSOR_PLACE and isinstance(value, bytes) and _text(value, _ENTRY_KEY) == "location":
            return _with_text(value, _ENTRY_VALUE, lambda name: f"{folder}/{Path(name).name}")
        return value

    return write_message((number, moved(number, value)) for number, value in read_message(tensor))


def _constant_name(value: int | bytes, number: int = _TENSOR_NAME) -> str:
    return _text(value, number) if isinstance(value, bytes) else ""


def _read_node(message: bytes) -> Node:
    fields = list(read_message(message))
    inputs, outputs, kind, domain = (
        [value.decode() for value in _messages(fields, number)]
        for number in (_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_DOMAIN)
    )
    attributes = {_name(value): value for value in _messages(fields, _NODE_ATTRIBUTE)}
    return Node("".join(kind), inputs, outputs, "".join(domain), attributes)


def _write_node(node: Node) -> bytes:
    fields: list[Field] = [(_NODE_INPUT, name.encode()) for name in node.inputs]
    fields += [(_NODE_OUTPUT, name.encode()) for name in node.outputs]
    fields += [(_NODE_KIND, node.kind.encode()), (_NODE_DOMAIN, node.domain.encode())]
    return write_message([*fields, *((_NODE_ATTRIBUTE, attribute) for attribute in node.attributes.values())])


def _name(message: bytes) -> str:
    """Return the name of an attribute, an input or an output: the first field of each."""
    return next((value.decode() for value in _messages(read_message(message), _VALUE_NAME)), "")


def _text(message: bytes, number: int) -> str:
    return "".join(value.decode() for value in _messages(read_message(message), number))


def _messages(fields: Iterable[Field], number: int) -> list[bytes]:
    return [value for each, value in fields if each == number and isinstance(value, bytes)]


def _with_message(message: bytes, number: int, other: bytes) -> bytes:
    """Return a message with other bytes in one of its fields."""
    return write_message((each, other if each == number else value) for each, value in read_message(message))
