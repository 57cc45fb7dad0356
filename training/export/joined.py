"""Joins the graphs of the members of an ensemble to one graph that runs them all and takes the mean of their scores.

Every member reads the same inputs. Its own tensors get names of their own (`array_name`). The log-softmax of each
member is over the same tokens: the whole vocabulary, or in a step with a shortlist the tokens of one list for all.
So decoder state, search and scheduler see one model. The numbers of a row still depend on that row alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

from service.bundle.ensemble import array_name
from service.bundle.errors import BundleIncompatible
from service.bundle.exact_products import WEIGHT_BITS
from service.bundle.shortlist import SCORED

# What every graph reads, and every member alike.
_OF_SOURCE = ("source", "source_lengths", "shortlist")
_OF_TARGET = ("target", "target_lengths", "tokens", "lengths", "total_length", "candidates")
SHARED = frozenset(_OF_SOURCE + _OF_TARGET)
_OUTPUT_SCORES = "LogSoftmax"  # each graph has one: attention has softmaxes without a logarithm
_ROWS, _IDS = 0, 1  # inputs of the loop that scores a few target positions at a time


class MemberGraph(NamedTuple):
    """A graph of one member, the name of its folder, and its share in the mean."""

    model: ModelProto
    folder: str
    share: float


def joined_graph(kind: str, members: Sequence[MemberGraph]) -> ModelProto:
    """Return the graph of a kind that runs those of all members, whose weights lie in the folders of the members."""
    if len({str(member.model.opset_import) for member in members}) > 1:
        raise BundleIncompatible("the graphs of its members were exported for different versions of ONNX")
    result = ModelProto()
    result.CopyFrom(members[0].model)
    notes = [{entry.key: entry.value for entry in member.model.metadata_props} for member in members]
    kept = {WEIGHT_BITS: "8"} if any(WEIGHT_BITS in note for note in notes) else {}
    graphs = [_named(number, member) for number, member in enumerate(members)]
    shares = [member.share for member in members]
    if kind == "encoder":
        _join(graphs, [name for graph in graphs[1:] for name in _outputs(graph)])
    elif kind == "decoder":
        if any(SCORED in note or _scores_a_part(graph) for note, graph in zip(notes, graphs, strict=True)):
            kept[SCORED] = _score_the_same(graphs, [note.get(SCORED) for note in notes])
        _join_scores(graphs, "next_", shares)
    else:
        _join_scores(graphs, "_attention", shares)
    result.graph.CopyFrom(graphs[0])
    del result.metadata_props[:]
    helper.set_model_props(result, kept)
    return result


def _named(number: int, member: MemberGraph) -> GraphProto:
    """Return a member's graph with names of its own, and with its weights in its folder."""
    graph = GraphProto()
    graph.CopyFrom(member.model.graph)
    _rename(graph, lambda name: name if name in SHARED else array_name(name, number))
    for entry in (entry for tensor in graph.initializer for entry in tensor.external_data):
        if entry.key == "location":
            entry.value = f"{member.folder}/{entry.value}"
    return graph


def _rename(graph: GraphProto, name_of: Callable[[str], str]) -> None:
    """Give tensors other names, in loops, too."""
    for value in (*graph.input, *graph.output):
        value.name = name_of(value.name)
    for tensor in graph.initializer:
        tensor.name = name_of(tensor.name)
    for node in graph.node:
        node.name = node.name and name_of(node.name)
        for names in (node.input, node.output):
            names[:] = [name and name_of(name) for name in names]
        for body in _bodies(node):
            _rename(body, name_of)


def _bodies(node: NodeProto) -> list[GraphProto]:
    return [attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH]


def _outputs(graph: GraphProto) -> list[str]:
    return [value.name for value in graph.output]


def _producer(graph: GraphProto, name: str) -> NodeProto:
    return next(node for node in graph.node if name in node.output)


def _consumers(graph: GraphProto, name: str) -> list[NodeProto]:
    return [node for node in graph.node if name in node.input]


def _replace(nodes: Iterable[NodeProto], name: str, replacement: str) -> None:
    for node in nodes:
        node.input[:] = [replacement if input_name == name else input_name for input_name in node.input]


def _join(graphs: Sequence[GraphProto], outputs: Sequence[str] = ()) -> None:
    """Add the other graphs before the first one, with these of their outputs; inputs of the same name are one."""
    first, *others = graphs
    for graph in others:
        _set_nodes(first, [*graph.node, *first.node])
        inputs = [value.name for value in first.input]
        first.input.extend(value for value in graph.input if value.name not in inputs)
        first.initializer.extend(graph.initializer)
        first.output.extend(value for value in graph.output if value.name in outputs)


def _set_nodes(graph: GraphProto, nodes: Sequence[NodeProto]) -> None:
    copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _join_scores(graphs: Sequence[GraphProto], added: str, shares: Sequence[float]) -> None:
    """Join graphs to one that reads the mean of their scores, with the outputs of others whose names have this part."""
    first, loops = graphs[0], [_scoring_loop(graph) for graph in graphs]
    if None not in loops:
        _join_loops([loop for loop in loops if loop is not None], shares)
    scores = [_output_scores(graph) for graph in graphs] if None in loops else []
    _join(graphs, [name for graph in graphs[1:] for name in _outputs(graph) if added in name])
    if scores:
        _average(first, scores, shares)
    _remove_unused(first)


def _output_scores(graph: GraphProto) -> str:
    """Return the log-probabilities over all tokens that are scored."""
    [node] = [node for node in graph.node if node.op_type == _OUTPUT_SCORES]
    return node.output[0]


def _average(graph: GraphProto, scores: Sequence[str], shares: Sequence[float]) -> None:
    """Let everything that reads the log-probabilities of the first member read the weighted mean of all of them.

    The mean is normalised, so that it is the log-probability of something: without this, hypotheses on whose tokens the
    members disagree lose to others by the sum of what is missing.
    """
    shape, total, mean = "joined.shape", "joined.sum", "joined.mean"
    names = [(f"joined.{number}", f"joined.part_{number}", f"joined.share_{number}") for number in range(len(scores))]
    graph.initializer.extend(
        numpy_helper.from_array(np.array(share, np.float32), factor)
        for (_, _, factor), share in zip(names, shares, strict=True)
    )
    added = [helper.make_node("Shape", [scores[0]], [shape])]
    for tensor, (alike, part, factor) in zip(scores, names, strict=True):  # a row may have axes of size 1
        added.append(helper.make_node("Reshape", [tensor, shape], [alike]))
        added.append(helper.make_node("Mul", [alike, factor], [part]))
    added.append(helper.make_node("Sum", [part for _, part, _ in names], [total]))
    added.append(helper.make_node(_OUTPUT_SCORES, [total], [mean]))  # along the last axis
    place = next(at for at, node in enumerate(graph.node) if scores[0] in node.input)
    _replace(_consumers(graph, scores[0]), scores[0], mean)
    _set_nodes(graph, [*graph.node[:place], *added, *graph.node[place:]])


def _score_the_same(graphs: Sequence[GraphProto], notes: Sequence[str | None]) -> str:
    """Let steps that score some tokens for every sentence all score those of any of them; return these."""
    listed = [note for note in notes if note is not None]
    if len(listed) < len(graphs):
        raise BundleIncompatible("its members do not score the same tokens in a step; export them alike")
    union = sorted({int(token) for note in listed for token in note.split()})
    last, count = len(union) - 1, len(union)
    constants = {"tokens": union, "last": last, "count": count, "columns": [count]}
    for graph in graphs:
        graph.initializer.extend(
            numpy_helper.from_array(np.array(value, np.int64), f"joined.{name}.{graph.output[0].name}")
            for name, value in constants.items()
        )
        tokens, last_name, count_name, columns = (f"joined.{name}.{graph.output[0].name}" for name in constants)
        frequent, compared = _lookup(graph)
        places = _producer(graph, frequent.input[1])
        _replace([places], places.input[1], last_name)
        _replace(_consumers(graph, compared.input[1]), compared.input[1], count_name)
        _replace(_consumers(graph, frequent.input[0]), frequent.input[0], tokens)
        logits = _producer(graph, _producer(graph, _output_scores(graph)).input[0])
        shape = _producer(graph, _producer(graph, logits.input[0]).input[1])
        shape.input[-1] = columns
    return " ".join(map(str, union))


def _lookup(graph: GraphProto) -> tuple[NodeProto, NodeProto]:
    """Return the nodes that look chosen tokens up in the list for every sentence, and that say which are in it."""
    chosen = _producer(graph, _producer(graph, _top_ids(graph)).input[0])
    return _producer(graph, chosen.input[1]), _producer(graph, chosen.input[0])


def _top_ids(graph: GraphProto) -> str:
    return next(name for name in _outputs(graph) if name.startswith("top_ids"))


def _scores_a_part(graph: GraphProto) -> bool:
    """Return whether a step scores a part of the vocabulary without lists, whose ids it looks up."""
    tensor = _producer(graph, _top_ids(graph)).input[0]
    return _producer(graph, tensor).op_type == "Gather"


def _scoring_loop(graph: GraphProto) -> NodeProto | None:
    """Return the loop that scores a few target positions at a time; None: all are scored at once."""
    for node in graph.node:
        if any(inner.op_type == _OUTPUT_SCORES for body in _bodies(node) for inner in body.node):
            return node
    return None


def _join_loops(loops: Sequence[NodeProto], shares: Sequence[float]) -> None:
    """Let the first loop also run what the others run, on rows of their own, and take the mean of the scores."""
    first, *others = loops
    [body] = _bodies(first)
    bodies = [body]
    for loop in others:
        [theirs] = _bodies(loop)
        names = {theirs.input[_IDS].name: body.input[_IDS].name}
        _rename(theirs, partial(_other_name, names))
        bodies.append(theirs)
        first.input.append(loop.input[_ROWS])
    scores = [_output_scores(body) for body in bodies]
    _join(bodies)
    _average(body, scores, shares)
    _remove_unused(body)
    for attribute in first.attribute:
        if attribute.name == "scan_input_directions":
            attribute.ints.extend([0] * len(others))
        elif attribute.name == "num_scan_inputs":
            attribute.i = len(first.input)


def _other_name(names: dict[str, str], name: str) -> str:
    return names.get(name, name)


def _remove_unused(graph: GraphProto) -> None:
    """Remove the nodes and constants whose results are not used."""
    needed = {*_outputs(graph)}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(_read(node))
            kept.append(node)
    _set_nodes(graph, kept[::-1])
    constants = [tensor for tensor in graph.initializer if tensor.name in needed]
    copies = GraphProto(initializer=constants)
    del graph.initializer[:]
    graph.initializer.extend(copies.initializer)


def _read(node: NodeProto) -> Iterator[str]:
    """Yield the tensors that a node reads: its inputs, and what its loop reads of the graph around it."""
    yield from node.input
    for inner in (inner for body in _bodies(node) for inner in body.node):
        yield from _read(inner)
