"""Joins the graphs of the members of an ensemble to one graph that runs them all and takes the mean of their scores.

Every member reads the same inputs. Its own tensors get names of their own (`array_name`). The log-softmax of each
member is over the same tokens: the whole vocabulary, or in a step with a shortlist the tokens of one list for all.
So decoder state, search and scheduler see one model. The numbers of a row still depend on that row alone.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from service.bundle.ensemble import array_name
from service.engine.errors import BundleIncompatible
from service.engine.jobs import IntArray
from service.engine.model.onnx_graph import Graph, Node, graph_of, integer_attribute, operator_sets, with_graph
from service.engine.model.step_graph import scored_tokens

# What every graph reads, and every member alike.
_OF_SOURCE = ("source", "source_lengths", "shortlist")
_OF_TARGET = ("target", "target_lengths", "tokens", "lengths", "total_length", "candidates")
SHARED = frozenset(_OF_SOURCE + _OF_TARGET)
_OUTPUT_SCORES = "LogSoftmax"  # each graph has one: attention has softmaxes without a logarithm
_ROWS, _IDS = 0, 1  # inputs of the loop that scores a few target positions at a time


class MemberGraph(NamedTuple):
    """A graph of one member: the content of its file, the folder of its weights, and its share in the mean."""

    content: bytes
    folder: Path
    share: float


def joined_encoder(members: Sequence[MemberGraph]) -> bytes:
    """Return the graph that runs all encoders."""
    first, *others = _named(members)
    for other in others:
        first.join(other, other.outputs)
    return with_graph(members[0].content, first)


def joined_step(members: Sequence[MemberGraph]) -> bytes:
    """Return the graph of a step of all decoders, whose candidates are those of their mean log-probability."""
    graphs = _graphs(members)
    _score_the_same(graphs, [member.folder for member in members])
    first, *others = _named(members, graphs)
    scores = [_output_scores(graph) for graph in (first, *others)]
    for other in others:
        first.join(other, [name for name in other.outputs if name.startswith("next_")])
    _average(first, scores, _shares(members))
    first.remove_unused()
    return with_graph(members[0].content, first)


def joined_scoring(members: Sequence[MemberGraph]) -> bytes:
    """Return the graph that scores a translation by the mean log-probability, with the attention of every member."""
    first, *others = _named(members)
    loops = [_scoring_loop(graph) for graph in (first, *others)]
    if None not in loops:
        _join_loops([loop for loop in loops if loop is not None], _shares(members))
    scores = [_output_scores(graph) for graph in (first, *others)] if None in loops else []
    for other in others:
        first.join(other, [name for name in other.outputs if "_attention" in name])
    if scores:
        _average(first, scores, _shares(members))
    first.remove_unused()
    return with_graph(members[0].content, first)


def _graphs(members: Sequence[MemberGraph]) -> list[Graph]:
    if len({tuple(operator_sets(member.content)) for member in members}) > 1:
        raise BundleIncompatible("the graphs of its members were exported for different versions of ONNX")
    return [graph_of(member.content) for member in members]


def _named(members: Sequence[MemberGraph], graphs: Sequence[Graph] = ()) -> list[Graph]:
    """Return the graphs with names of their own, and with the weights where one folder holds those of all members."""

    def name_of(number: int, name: str) -> str:
        return name if name in SHARED else array_name(name, number)

    return [
        graph.renamed(partial(name_of, number), member.folder.name)
        for number, (graph, member) in enumerate(zip(graphs or _graphs(members), members, strict=True))
    ]


def _output_scores(graph: Graph) -> str:
    """Return the log-probabilities over all tokens that are scored."""
    [node] = [node for node in graph.nodes if node.kind == _OUTPUT_SCORES]
    return node.outputs[0]


def _shares(members: Sequence[MemberGraph]) -> list[float]:
    return [member.share for member in members]


def _average(graph: Graph, scores: Sequence[str], shares: Sequence[float]) -> None:
    """Let everything that reads the log-probabilities of the first member read the weighted mean of all of them.

    The mean is normalised, so that it is the log-probability of something: without this, hypotheses on whose tokens the
    members disagree lose to others by the sum of what is missing.
    """
    readers = graph.consumers(scores[0])
    shape, total, mean = "joined.shape", "joined.sum", "joined.mean"
    alike = [f"joined.{number}" for number in range(len(scores))]  # a row may have axes of size 1
    parts = [f"joined.part_{number}" for number in range(len(scores))]
    factors = [graph.constant(f"joined.share_{number}", float(share)) for number, share in enumerate(shares)]
    graph.insert(
        min(readers, key=graph.nodes.index),
        [
            Node("Shape", [scores[0]], [shape]),
            *(Node("Reshape", [name, shape], [same]) for name, same in zip(scores, alike, strict=True)),
            *(Node("Mul", [same, own], [part]) for same, own, part in zip(alike, factors, parts, strict=True)),
            Node("Sum", parts, [total]),
            Node(_OUTPUT_SCORES, [total], [mean]),  # along the last axis
        ],
    )
    for node in readers:
        node.inputs = [mean if name == scores[0] else name for name in node.inputs]


def _score_the_same(graphs: Sequence[Graph], folders: Sequence[Path]) -> None:
    """Let steps that score some tokens for every sentence all score those of any of them."""
    lists = [scored_tokens(graph) for graph in graphs]
    known = [each for each in lists if each is not None]
    if not known and not any(_scores_a_part(graph) for graph in graphs):
        return
    if len(known) < len(graphs):
        raise BundleIncompatible("its members do not score the same tokens in a step; export them alike")
    always = [graph.integers(own.always, folder) for graph, own, folder in zip(graphs, known, folders, strict=True)]
    union: IntArray = np.unique(np.concatenate(always))
    for graph, own in zip(graphs, known, strict=True):
        ids = graph.constant("joined.always", union)
        count = graph.constant("joined.count", np.array([len(union)]))
        for shape in _shapes_with_their_number(graph):
            shape.inputs[-1] = count
        for node in graph.consumers(own.always):
            node.inputs = [ids if name == own.always else name for name in node.inputs]


def _scores_a_part(graph: Graph) -> bool:
    """Return whether a step scores a part of the vocabulary, whose ids it looks up."""
    found = graph.producer("top_ids")
    found = graph.producer(found.inputs[0]) if found is not None else None
    return found is not None and found.kind == "Gather"


def _shapes_with_their_number(graph: Graph) -> list[Node]:
    """Return the nodes whose shape ends with the number of tokens that are scored for every sentence.

    They are those of the tokens' scores, and of their ids for every sentence, as the exporter writes both.
    """
    [scores] = [node for node in graph.nodes if node.kind == _OUTPUT_SCORES]
    logits, own = graph.producer(scores.inputs[0]), scored_tokens(graph)
    assert logits is not None
    assert own is not None
    table = graph.producer(own.found.inputs[0])
    assert table is not None
    reshaped = [graph.producer(node.inputs[0]) for node in (logits, table)]
    shapes = [graph.producer(node.inputs[1]) for node in reshaped if node is not None]
    return [node for node in shapes if node is not None]


def _scoring_loop(graph: Graph) -> Node | None:
    """Return the loop that scores a few target positions at a time; None: all are scored at once."""
    for node in graph.nodes:
        if node.kind == "Scan" and any(inner.kind == _OUTPUT_SCORES for inner in node.body().nodes):
            return node
    return None


def _renamed(names: Mapping[str, str], name: str) -> str:
    return names.get(name, name)


def _join_loops(loops: Sequence[Node], shares: Sequence[float]) -> None:
    """Let the first loop also run what the others run, on rows of their own, and take the mean of the scores."""
    first, *others = loops
    body = first.body()
    scores = [_output_scores(body)]
    for other in others:
        theirs = other.body()
        alike = {theirs.inputs[_IDS]: body.inputs[_IDS]}
        theirs = theirs.renamed(partial(_renamed, alike))
        scores.append(_output_scores(theirs))
        body.join(theirs, ())
        first.inputs.append(other.inputs[_ROWS])
        first.add_integers("scan_input_directions", [0])
    _average(body, scores, shares)
    body.remove_unused()
    first.set_body(body)
    first.attributes["num_scan_inputs"] = integer_attribute("num_scan_inputs", len(first.inputs))
