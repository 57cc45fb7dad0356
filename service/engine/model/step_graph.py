"""Changes the decoder's step when it is loaded: it gets faster.

A bundle's graph says what a step computes, and the exporter keeps it simple. What makes it fast depends on ONNX
Runtime, so it is done here, for every bundle, however old; only the order of a product's additions may change. Each
change applies where its pattern is found; a graph without it stays as it is (docs/adr/0008-speed.md has the
measurements).
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from service.engine.jobs import IntArray
from service.engine.model.onnx_graph import Graph, Node, graph_of, integer_attribute, with_graph

_AXIS_1 = {"axis": integer_attribute("axis", 1)}
_MOVES = ("Transpose", "Reshape")
_QUERY, _INPUT_SCALE, _BIAS = 0, 2, 6  # inputs of MatMulIntegerToFloat


def faster_step(model: bytes) -> bytes:
    """Return the graph of a step with the changes that apply to it."""
    try:
        graph = graph_of(model)
    except ValueError:
        return model  # ONNX Runtime has the better message
    changed = [look_up_chosen(graph), scale_queries(graph)]
    if not any(changed):
        return model
    graph.remove_unused()
    return with_graph(model, graph)


def look_up_chosen(graph: Graph) -> bool:
    """Look the chosen tokens up in the two lists that they are from; return whether the pattern was found.

    The exporter joins the tokens that every sentence scores, [A], and each sentence's own, [B, O], to one table
    [B, A + O] of 8 bytes an entry, in every step. 4 to 6 % of a step of 32 rows and more.
    """
    lists = scored_tokens(graph)
    if lists is None:
        return False
    found, always, own, size = lists
    places = found.inputs[1]
    first = graph.constant("step.own", np.array(size))
    last = graph.constant("step.last", np.array(size - 1))
    zero = graph.constant("step.zero", np.array(0))
    graph.insert(
        found,
        [
            Node("Min", [places, last], ["step.of_always"]),
            Node("Gather", [always, "step.of_always"], ["step.always"]),
            Node("Sub", [places, first], ["step.after"]),
            Node("Max", ["step.after", zero], ["step.of_own"]),
            Node("GatherElements", [own, "step.of_own"], ["step.own_ids"], attributes=_AXIS_1),
            Node("Less", [places, first], ["step.is_always"]),
            Node("Where", ["step.is_always", "step.always", "step.own_ids"], list(found.outputs)),
        ],
    )
    graph.nodes.remove(found)
    return True


class ScoredTokens(NamedTuple):
    """Where a step looks up the tokens that it chose: those that every sentence scores, then each sentence's own."""

    found: Node
    always: str  # a constant, int64 [A]
    own: str  # [B, O]
    size: int  # A


def scored_tokens(graph: Graph) -> ScoredTokens | None:
    """Return the lists that a step chooses from; None for a graph that the exporter did not write so."""
    found = graph.producer("top_ids")
    found = graph.producer(found.inputs[0]) if found is not None and found.kind == "Reshape" else None
    table = graph.producer(found.inputs[0]) if found is not None and found.kind == "GatherElements" else None
    if found is None or table is None or table.kind != "Concat" or len(table.inputs) != 2:
        return None
    expanded, own = graph.producer(table.inputs[0]), table.inputs[1]
    size = graph.size(expanded.inputs[0]) if expanded is not None and expanded.kind == "Expand" else None
    if expanded is None or size is None or len(size) != 1:
        return None
    return ScoredTokens(found, expanded.inputs[0], own, size[0])


def scored_always(model: bytes, folder: Path) -> IntArray:
    """Return the tokens that a step scores for every sentence, beside its own list, [A]; none if they are unknown."""
    try:
        graph = graph_of(model)
    except ValueError:
        return np.zeros(0, np.int64)
    lists = scored_tokens(graph)
    return np.zeros(0, np.int64) if lists is None else graph.integers(lists.always, folder)


def scale_queries(graph: Graph) -> int:
    """Scale the queries of cross-attention instead of its scores; return how many products were changed.

    ONNX Runtime multiplies one row by a matrix without copying it only if the product has no factor. The factor goes
    into the product that makes the queries, as constants: 5 to 8 % of a greedy step of 32 rows and more. Where the
    factor is a power of two, as it is for heads of 16, 64 or 256, the products are the same, but the kernel for one
    row adds them in another order. That rounds an activation of 8 bits differently in about one of 2,000 translations
    of small random networks. A translation is the same alone and in company: every step uses the same kernel.
    """
    changed = 0
    for product in [node for node in graph.nodes if node.kind == "FusedMatMul"]:
        plain = not product.number("transA", 0) and not product.number("transB", 0)
        factor = product.number("alpha", 1.0)
        source = _source(graph, product.inputs[0])
        if not plain or factor == 1.0 or product.inputs[1] not in graph.inputs or source is None:
            continue
        at = f"step.factor_{changed}"
        graph.constant(at, factor)
        for place in (_INPUT_SCALE, _BIAS):
            if place < len(source.inputs) and source.inputs[place]:
                scaled = f"{at}.{place}"
                graph.insert(source, [Node("Mul", [source.inputs[place], at], [scaled])])
                source.inputs[place] = scaled
        product.kind, product.domain, product.attributes = "MatMul", "", {}
        changed += 1
    return changed


def _source(graph: Graph, name: str) -> Node | None:
    """Return the integer product that makes a tensor, if nothing else reads it on the way."""
    while len(graph.consumers(name)) == 1:
        node = graph.producer(name)
        if node is None or node.kind == "MatMulIntegerToFloat":
            return node
        if node.kind not in _MOVES:
            return None
        name = node.inputs[0]
    return None
