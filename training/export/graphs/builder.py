"""A thin layer over ``onnx.helper``: nodes by name, constants once, weights in one external file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from training.export.weights import WeightStore

Array = npt.NDArray[Any]
Axes = Sequence[str | int]

OPSET = 21
MICROSOFT = "com.microsoft"
_IR_VERSION = 10
Recording = Literal["operands", "scores"]
"""What products read, for calibration, or what attention weights are made of, to explain them."""
_INLINE_BYTES = 8192
"""Constants up to this size are in the graph itself; only weights go to the weights file."""


class GraphBuilder:
    """One graph, or a subgraph of it: every method that adds a node returns the name of its result."""

    def __init__(self, name: str, store: WeightStore, parent: GraphBuilder | None = None, prefix: str = "") -> None:
        """``prefix``: of the names of tensors, for nodes that are added to another graph."""
        self.name, self.store, self.parent, self.prefix = name, store, parent, prefix
        self.root: GraphBuilder = parent.root if parent else self
        self.nodes: list[NodeProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self.sites: dict[str, str] = {}
        """The recorded tensors of this graph, by the name of the site."""
        self.made: dict[tuple[object, ...], str] = {}
        """Tensors of this graph that are reused."""
        self.recording: Recording | None = None
        """The tensors that become outputs, also those inside loops."""
        self._initialisers: dict[str, TensorProto] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._renamed: dict[str, str] = {}
        self.in_place_of: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self._counter = itertools.count()

    def input(self, name: str, dtype: int, axes: Axes) -> str:
        """Declare an input; letters name dimensions that vary."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, list(axes)))
        return name

    def output(self, name: str, tensor: str, dtype: int, axes: Axes | None) -> None:
        """Declare ``tensor`` as the output ``name``; without axes its shape is unspecified."""
        self.outputs.append(helper.make_tensor_value_info(name, dtype, None if axes is None else list(axes)))
        produced = any(tensor in node.output for node in self.nodes)
        if produced and tensor not in self._renamed:
            # No Identity node: a cache must leave the graph in the buffer that its node wrote.
            self.name_result(tensor, name)
        else:
            self.nodes.append(helper.make_node("Identity", [tensor], [name]))

    def name_result(self, tensor: str, name: str) -> None:
        """Give the result of a node a name by which other graphs know it."""
        self._renamed[tensor] = name

    def fresh(self, stem: str) -> str:
        """Return a name that is unique in the model."""
        return f"{self.root.prefix}{stem}_{next(self.root._counter)}"

    def ops(self, kind: str, inputs: Sequence[str], used: Sequence[bool] | int, **attributes: Any) -> list[str]:
        """Add a node with several results, of which unwanted ones get no name; ``domain`` is its operator set."""
        domain = attributes.pop("domain", "")
        flags = [True] * used if isinstance(used, int) else used
        names = [self.fresh(kind.lower()) if flag else "" for flag in flags]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], domain=domain, **attributes))
        return names

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result."""
        return self.ops(kind, inputs, 1, **attributes)[0]

    def fused(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of ONNX Runtime's own operator set with one result."""
        return self.op(kind, *inputs, domain=MICROSOFT, **attributes)

    def split(self, tensor: str, sizes: Sequence[int], axis: int = -1) -> list[str]:
        """Cut a tensor into parts of the given sizes."""
        if len(sizes) == 1:
            return [tensor]
        return self.ops("Split", [tensor, self.integers(*sizes)], len(sizes), axis=axis)

    def constant(self, array: Array) -> str:
        """Return a small constant, which has one initialiser for all of its uses."""
        assert array.nbytes <= _INLINE_BYTES, "large arrays belong in the weight store"
        root, key = self.root, (array.dtype.str, array.shape, array.tobytes())
        if key not in root._constants:
            name = root.fresh("constant")
            root._constants[key] = name
            root._initialisers[name] = numpy_helper.from_array(array, name)
        return root._constants[key]

    def integers(self, *values: int) -> str:
        """Return a constant int64 vector."""
        return self.constant(np.array(values, np.int64))

    def reshape(self, tensor: str, *shape: int) -> str:
        """Reshape to a constant shape; 0 keeps a dimension, -1 infers it."""
        return self.op("Reshape", tensor, self.integers(*shape))

    def weight(self, name: str) -> str:
        """Return an array of the weight store, or the one in its place, as an initialiser of this model."""
        name = self.root.in_place_of.get(name, name)
        if name not in self.root._initialisers:
            self.root._initialisers[name] = self.store.reference(name)
        return name

    def subgraph(self, name: str) -> GraphBuilder:
        """Return a builder for the body of a Scan, which can read this graph's tensors."""
        return GraphBuilder(name, self.store, self)

    def scan(
        self,
        body: GraphBuilder,
        states: Sequence[str],
        sequences: Sequence[str],
        results: tuple[Sequence[str], Sequence[str]],
        backwards: Sequence[bool] = (),
    ) -> list[str]:
        """Run ``body`` over the first axis of ``sequences``, from the end for those in ``backwards``.

        ``results`` are the body's next states and its outputs of each iteration. Returns the final states, then each
        output stacked [time, ...], in the order of its sequence. Sites of the body become stacked sites here.
        """
        following, given = results
        dtype = body.inputs[0].type.tensor_type.elem_type  # of the graph's float type
        recorded = list(body.sites.items())
        for stem, tensors in (("next", following), ("given", given), ("site", [tensor for _, tensor in recorded])):
            for tensor in tensors:
                body.output(body.fresh(stem), tensor, dtype, None)
        reverse = [int(flag) for flag in backwards] or [0] * len(sequences)
        out = [*reverse[: len(given)], *([0] * (len(recorded) + max(0, len(given) - len(reverse))))]
        names = self.ops(
            "Scan",
            [*states, *sequences],
            len(body.outputs),
            body=body.finish(),
            num_scan_inputs=len(sequences),
            scan_input_directions=reverse,
            scan_output_directions=out,
        )
        kept = len(following) + len(given)
        self.sites.update({site: name for (site, _), name in zip(recorded, names[kept:], strict=True)})
        return names[:kept]

    def finish(self) -> GraphProto:
        """Return the graph; only the outermost one has initialisers."""
        _rename(self.nodes, self._renamed)
        return helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, initializer=list(self._initialisers.values())
        )

    def model(self) -> ModelProto:
        """Return the whole model, ready to be serialised next to its weights file."""
        operator_sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(
            self.finish(), opset_imports=operator_sets, ir_version=_IR_VERSION, producer_name="translucent"
        )
        helper.set_model_props(model, self._notes)
        return model

    def note(self, key: str, value: str) -> None:
        """Store a line of text in the model's metadata."""
        self._notes[key] = value

    def record(self, kind: Recording, site: str, tensor: str, perm: Sequence[int] = ()) -> None:
        """Declare a tensor, perhaps with its axes in another order, an output of a graph that records this kind."""
        if self.root.recording == kind:
            self.sites[site] = self.op("Transpose", tensor, perm=perm) if perm else tensor

    def expose_sites(self) -> list[str]:
        """Also make every site of the outermost graph an output; returns the names of the sites in that order."""
        for site, tensor in self.sites.items():
            self.output(f"site:{site}", tensor, TensorProto.FLOAT, None)
        return list(self.sites)


def _rename(nodes: Iterable[NodeProto], names: dict[str, str]) -> None:
    """Rename tensors in nodes and in the bodies of loops, which can read the tensors of the outer graph."""
    for node in nodes:
        for tensors in (node.input, node.output):
            for i, tensor in enumerate(tensors):
                if tensor in names:
                    tensors[i] = names[tensor]
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _rename(attribute.g.node, names)
