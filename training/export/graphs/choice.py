"""The graphs of a running batch on a GPU, made of a step's graph: its rows are chosen on the device.

``run`` is a step with what stands between two steps. It begins with the rows that go on, of which the host says only
which hypotheses of the last step they continue, and ends with the choice among their continuations: sums, the best 2K
of every sentence, which of them end, the best K that live. ``join`` puts sentences of an encoder run into the memory.
Every array has the same shape in each step, and is written where it was read: a node reads all of it before any node
writes it, because what is written depends on everything that was read.
"""

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from service.bundle.limits import IMPOSSIBLE, MOST_SLOTS
from service.bundle.manifest import ArraySpec, GraphSet, SpecialIds
from training.export.graphs.builder import GraphBuilder
from training.export.weights import WeightStore

FLOAT, DOUBLE, INT32, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64
HELD = "held_"
"""Before the name of an input: a state before its rows are taken."""


def run_graph(step: ModelProto, graphs: GraphSet, special: SpecialIds) -> ModelProto:
    """Return the step of a running batch; ``graphs`` describes the arrays of the given step.

    Inputs in place of tokens and lengths: ``kept`` int32 [B, K], for each row the number of the live hypothesis that
    it continues, -1 for the start of a sentence and -2 for its other rows; what the last step chose, ``live_tokens``
    and ``live_rows`` int64 and ``live_sums`` float64 [B, K]; the lengths and states of before as ``held_``; the numbers
    of the rows, ``own_rows`` int64 [B, K], and perhaps those of the source's ``positions`` int64 [S].

    More outputs: what it chose, with ``next_``, the lengths, and ``choice`` float32 [B, 3K]. That is token *
    MOST_SLOTS + slot of the best K that live, best first, their log-probabilities (-inf: there is none), and for each
    slot that of its end, if it is among the best K (else -inf).
    """
    first, last = (GraphBuilder(name, WeightStore(""), prefix=f"{name}.") for name in ("rows", "choice"))
    sums = _rows(first, graphs, special)
    _choice(last, sums, special)
    result = ModelProto()
    result.CopyFrom(step)
    before, after, graph = first.finish(), last.finish(), result.graph
    nodes, positions = _without_ranges(step)
    replaced = {"tokens", "lengths", *(spec.name for spec in graphs.state)}
    kept = [entry for entry in step.graph.input if entry.name not in replaced]
    graph.CopyFrom(
        helper.make_graph(
            [*before.node, *nodes, *after.node],
            "run",
            [*before.input, *kept, *positions, *after.input],
            [*before.output, *step.graph.output, *after.output],
            [*before.initializer, *step.graph.initializer, *after.initializer],
        )
    )
    return result


def _without_ranges(step: ModelProto) -> tuple[list[NodeProto], list[ValueInfoProto]]:
    """Return the nodes of a step that gets the positions of its source, and that input, if it reads them.

    Range reads the number of positions from the memory of the CPU, for which CUDA copied it there in each step.
    """
    made = {node.output[0] for node in step.graph.node if node.op_type == "Range"}
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in step.graph.node if node.output[0] not in made]
    for node in nodes:
        node.input[:] = ["positions" if name in made else name for name in node.input]
    return nodes, [helper.make_tensor_value_info("positions", INT64, ["S"])] if made else []


def join_graph(graphs: GraphSet) -> ModelProto:
    """Return the graph that takes sentences into the memory of a running batch.

    Inputs: every array of memory, and every first state as ``initial_``, of B sentences; the same of an encoder run
    with ``new_``, whose source may have another length; ``sources`` int64 [B], for each place the sentence in both,
    first those of the memory. Outputs: the arrays with ``next_``.
    """
    graph = GraphBuilder("join", WeightStore(""))
    sources = graph.input("sources", INT64, ["B"])
    for spec in graphs.of_sentences:
        dtype, axes = _element(spec), ["B", *spec.axes[1:]]
        held = graph.input(spec.name, dtype, axes)
        more = graph.input(f"new_{spec.name}", dtype, ["E", *("F" if axis == "S" else axis for axis in spec.axes[1:])])
        if "S" in spec.axes:
            more = _fitted(graph, more, held, spec)
        taken = graph.op("Gather", graph.op("Concat", held, more, axis=0), sources, axis=0)
        graph.output(f"next_{spec.name}", taken, dtype, axes)
    return graph.model()


def _fitted(graph: GraphBuilder, tensor: str, like: str, spec: ArraySpec) -> str:
    """Return an array with as many source positions as another one, cut or padded."""
    axis = spec.axes.index("S")
    value = graph.constant(np.array(spec.padding or 0.0, spec.dtype))
    shape = graph.op("Concat", graph.op("Shape", tensor, end=1), graph.op("Shape", like, start=1), axis=0)
    longer = graph.op("Concat", tensor, graph.op("Expand", value, shape), axis=axis)
    size = graph.op("Shape", like, start=axis, end=axis + 1)
    return graph.op("Slice", longer, graph.integers(0), size, graph.integers(axis))


def _rows(graph: GraphBuilder, graphs: GraphSet, special: SpecialIds) -> str:
    """Add what makes the inputs of the step of the running batch; return the sums, float64 [B, K]."""
    kept = graph.input("kept", INT32, ["B", "K"])
    tokens, rows = (graph.input(f"live_{name}", INT64, ["A", "K"]) for name in ("tokens", "rows"))
    sums, lengths = graph.input("live_sums", DOUBLE, ["A", "K"]), graph.input(f"{HELD}lengths", INT32, ["M"])
    copies, none, one = (graph.constant(np.array(value, np.int32)) for value in (-1, 0, 1))
    starts, at = graph.op("Less", kept, none), graph.op("Max", kept, none)
    before, parents, total = (graph.op("Gather", graph.reshape(each, -1), at) for each in (tokens, rows, sums))
    graph.name_result(graph.op("Where", starts, _integer(graph, special.bos), before), "tokens")
    empty = graph.op("Less", kept, copies)
    first = graph.op("Where", empty, _number(graph, -np.inf), _number(graph, 0.0))
    row_starts, parents = graph.reshape(starts, -1), graph.reshape(parents, -1)
    more = graph.op("Add", graph.op("Gather", lengths, parents), one)
    graph.output("lengths", graph.op("Where", row_starts, none, more), INT32, ["N"])
    for spec in graphs.state:
        held = graph.input(f"{HELD}{spec.name}", _element(spec), ["M", *spec.axes[1:]])
        taken = graph.op("Gather", held, parents, axis=0)
        if spec.kind == "fixed":
            each = graph.reshape(row_starts, -1, *[1] * (len(spec.axes) - 1))
            taken = graph.op("Where", each, _first_states(graph, spec, kept), taken)
        graph.name_result(taken, spec.name)
    return graph.op("Where", starts, first, total)


def _first_states(graph: GraphBuilder, spec: ArraySpec, kept: str) -> str:
    """Return the first states of all rows, [N, …], of those of the sentences."""
    first = graph.input(f"initial_{spec.name}", _element(spec), ["B", *spec.axes[1:]])
    ones = graph.integers(*[1] * (len(spec.axes) - 1))
    shape = graph.op("Concat", graph.integers(1), graph.op("Shape", kept, start=1), ones, axis=0)
    repeated = graph.op("Expand", graph.op("Unsqueeze", first, graph.integers(1)), shape)
    return graph.reshape(repeated, -1, *(int(size) for size in spec.axes[1:]))


def _choice(graph: GraphBuilder, sums: str, special: SpecialIds) -> None:
    """Add the choice among the candidates of all rows, ``top_ids`` and ``top_logprobs`` [B, K, C].

    ONNX Runtime has all of its operators for CUDA, in this version of ONNX; it has no Equal and no ReduceMax. Whatever
    is no shape is on the device, so that nothing is copied and CUDA can record the step.
    """
    shape, beam = graph.op("Shape", "top_ids"), graph.op("Shape", "top_ids", start=1, end=2)
    own_rows = graph.input("own_rows", INT64, ["B", "K"])
    each_row = graph.op("Unsqueeze", own_rows, graph.integers(2))  # [B, K, 1]
    totals = graph.op(
        "Add", graph.op("Unsqueeze", sums, graph.integers(2)), graph.op("Cast", "top_logprobs", to=DOUBLE)
    )
    # Equal ones are in the order of slot and candidate, as in the search.
    best, places = graph.ops("TopK", [graph.reshape(totals, 0, -1), graph.op("Add", beam, beam)], 2, axis=1)
    tokens, rows, gains = (
        graph.op("GatherElements", graph.reshape(each, 0, -1), places, axis=1)
        for each in ("top_ids", graph.op("Expand", each_row, shape), "top_logprobs")
    )
    possible = graph.op("Greater", best, _number(graph, IMPOSSIBLE))
    ending = graph.op("And", _same(graph, tokens, _integer(graph, special.eos)), possible)
    living = graph.op("And", possible, graph.op("Not", ending))
    never = graph.constant(np.array(-np.inf, np.float32))
    scores = graph.op("Where", living, best, _number(graph, -np.inf))
    live_sums, order = graph.ops("TopK", [scores, beam], 2, axis=1)
    live_tokens, live_rows, live_gains = (
        graph.op("GatherElements", each, order, axis=1)
        for each in (tokens, rows, graph.op("Where", living, gains, never))
    )
    # A hypothesis has one end, so its log-probability is the sum of those of all ends that continue it.
    ranked = [graph.op("Slice", each, graph.integers(0), beam, graph.integers(1)) for each in (rows, ending, gains)]
    row, ends, own = (graph.op("Unsqueeze", each, graph.integers(1)) for each in ranked)  # [B, 1, K]
    here = graph.op("And", _same(graph, row, each_row), ends)  # [B, K, K]
    nothing = graph.constant(np.array(0.0, np.float32))
    total, marks = (
        graph.op("ReduceSum", each, graph.integers(2), keepdims=0)
        for each in (graph.op("Where", here, own, nothing), graph.op("Cast", here, to=FLOAT))
    )
    end_gains = graph.op("Where", graph.op("Greater", marks, nothing), total, never)
    slots = graph.op(
        "Sub", live_rows, graph.op("Slice", own_rows, graph.integers(0), graph.integers(1), graph.integers(1))
    )
    code = graph.op("Add", graph.op("Mul", live_tokens, _integer(graph, MOST_SLOTS)), slots)
    choice = graph.op("Concat", graph.op("Cast", code, to=FLOAT), live_gains, end_gains, axis=1)
    graph.output("choice", choice, FLOAT, ["B", "3K"])
    graph.output("next_live_tokens", live_tokens, INT64, ["B", "K"])
    graph.output("next_live_rows", live_rows, INT64, ["B", "K"])
    graph.output("next_live_sums", live_sums, DOUBLE, ["B", "K"])


def _same(graph: GraphBuilder, one: str, other: str) -> str:
    """Return whether integers are the same."""
    apart = graph.op("Sub", one, other)
    return graph.op("Less", graph.op("Mul", apart, apart), _integer(graph, 1))


def _integer(graph: GraphBuilder, value: int) -> str:
    return graph.constant(np.array(value, np.int64))


def _number(graph: GraphBuilder, value: float) -> str:
    return graph.constant(np.array(value, np.float64))


def _element(spec: ArraySpec) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(spec.dtype)))
