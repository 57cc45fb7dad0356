"""Makes the graph that explains attention weights from the graph that scores translations.

The graph for scoring returns weights only. The explaining graph is the same file with more outputs: the scores that
each softmax reads, and the queries and keys of their product. So every bundle can be explained without a new export,
and the graph for scoring, which ordinary requests use, stays as it is (docs/adr/0029-explaining-a-weight.md).

Field numbers are those of onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from service.engine.model.protobuf import Field, NotProtobuf, read_message, write_message
from service.engine.types import AttentionKind, Normalisation, ScoreFunction

_MODEL_GRAPH = 7
_NODE, _OUTPUT = 1, 12  # of a graph
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_FLOAT, _ATTRIBUTE_GRAPH, _ATTRIBUTE_INTS = 1, 2, 6, 8
_NAME = 1  # of an output
_OF_STEP, _OF_STEPS = "_of_step", "_of_steps"  # endings of the names of a loop's new results, inside and outside

KINDS: tuple[AttentionKind, ...] = ("cross", "encoder", "decoder")


@dataclass(frozen=True, slots=True)
class ScoreSite:
    """The names of the outputs that explain one layer; None for what a score does not have."""

    scores: str  # with -inf where a position is masked
    function: ScoreFunction = "other"
    normalisation: Normalisation = "softmax"
    queries: str | None = None
    keys: str | None = None
    energy: str | None = None  # of the additive score
    scale: float = 1.0
    keys_transposed: bool = False  # keys are [..., D, C] instead of [..., C, D]
    stepwise: bool = False  # the first axis of scores and queries is the decoder's step

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of its outputs."""
        return tuple(name for name in (self.scores, self.queries, self.keys, self.energy) if name is not None)


@dataclass(frozen=True)
class _Node:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    message: bytes

    @cached_property
    def attributes(self) -> dict[str, dict[int, int | bytes]]:
        """Return the fields of each attribute by its name."""
        found = [dict(read_message(_bytes(value))) for number, value in read_message(self.message)
                 if number == _NODE_ATTRIBUTE]  # fmt: skip
        return {_text(one[_ATTRIBUTE_NAME]): one for one in found}


class _Graph:
    """The nodes of a graph by their outputs."""

    def __init__(self, message: bytes) -> None:
        self.message = message
        self.nodes: dict[str, _Node] = {}
        self.outputs: list[str] = []
        for number, value in read_message(message):
            if number == _NODE:
                node = _node(_bytes(value))
                self.nodes |= dict.fromkeys(node.outputs, node)
            elif number == _OUTPUT:
                self.outputs.append(_name(_bytes(value)))

    def producer(self, name: str) -> _Node | None:
        return self.nodes.get(name)


def explaining_graph(model: bytes) -> tuple[bytes, dict[AttentionKind, tuple[ScoreSite, ...]]]:
    """Return the scoring graph with more outputs, and their names by kind of attention and layer.

    A kind whose scores are not found is left out: attention may be fixed (`none`), or made by another exporter.
    """
    try:
        [graph] = [_Graph(_bytes(value)) for number, value in read_message(model) if number == _MODEL_GRAPH]
    except (NotProtobuf, ValueError):
        return model, {}
    sites: dict[AttentionKind, tuple[ScoreSite, ...]] = {}
    for kind in KINDS:
        weights = f"{kind}_attention"
        if weights in graph.outputs and (found := [*_sites(graph, weights)]) and None not in found:
            sites[kind] = tuple(site for site in found if site is not None)
    inside = {name for of in sites.values() for site in of if site.stepwise for name in (site.scores, site.queries)}
    steps = sorted(name for name in inside if name is not None)
    message = _with_loop_outputs(graph.message, steps) if steps else graph.message
    sites = {kind: tuple(_outside(site) for site in of) for kind, of in sites.items()}
    wanted = {name for of in sites.values() for site in of for name in site.outputs}
    more = [(_OUTPUT, write_message([(_NAME, name.encode())])) for name in sorted(wanted - set(graph.outputs))]
    # Two messages one after the other are one message, in which repeated fields are joined.
    edited = message + write_message(more)
    return write_message(
        (number, edited if number == _MODEL_GRAPH else value) for number, value in read_message(model)
    ), sites


def _outside(site: ScoreSite) -> ScoreSite:
    """Return a site with the names that the results of a loop have outside of it."""
    if not site.stepwise:
        return site
    queries = None if site.queries is None else site.queries + _OF_STEPS
    return replace(site, scores=site.scores + _OF_STEPS, queries=queries)


def _sites(graph: _Graph, weights: str) -> Iterator[ScoreSite | None]:
    """Yield the site of each layer whose weights are stacked in an output; None for one that is not understood."""
    node = graph.producer(weights)
    if node is None:
        yield None
    elif node.kind == "Concat":
        for name in node.inputs:
            yield from _sites(graph, name)
    elif node.kind in ("Unsqueeze", "Cast", "Transpose", "Identity"):
        yield from _sites(graph, node.inputs[0])
    elif node.kind == "Softmax":
        yield _product_site(graph, node.inputs[0])
    elif node.kind == "Scan":
        yield _loop_site(node, weights)
    else:
        yield None


def _product_site(graph: _Graph, scores: str) -> ScoreSite:
    """Return the site of softmax(α q kᵀ + mask)."""
    site = ScoreSite(scores)
    added = graph.producer(scores)
    if added is None or added.kind != "Add":
        return site
    return _with_product(graph, site, added.inputs[0])


def _with_product(graph: _Graph, site: ScoreSite, product: str) -> ScoreSite:
    """Return a site with the factors of a product, if the score is one."""
    node = graph.producer(product)
    if node is None or node.kind not in ("FusedMatMul", "MatMul"):
        return site
    scale = _float(node, "alpha", 1.0)
    return replace(
        site,
        function="dot" if scale == 1.0 else "scaled_dot",
        queries=node.inputs[0],
        keys=node.inputs[1],
        scale=scale,
        keys_transposed=not _integer(node, "transB"),
    )


def _loop_site(loop: _Node, weights: str) -> ScoreSite | None:
    """Return the site inside a loop over target tokens; its names are those inside the loop."""
    body = _Graph(_bytes(loop.attributes["body"][_ATTRIBUTE_GRAPH]))
    inner = body.outputs[loop.outputs.index(weights)]
    found = _normalised(body, inner)
    if found is None:
        return None
    masked, normalisation = found
    where = body.producer(masked)
    site = ScoreSite(masked, normalisation=normalisation, stepwise=True)
    if where is None or where.kind != "Where":
        return site
    scores = body.producer(where.inputs[1])
    if scores is not None and scores.kind == "Squeeze":
        return _with_energy(body, site, scores.inputs[0])
    product = _with_product(body, site, where.inputs[1])
    keys = None if product.keys is None else _from_outside(body, product.keys)
    return site if keys is None else replace(product, keys=keys)


def _normalised(body: _Graph, weights: str) -> tuple[str, Normalisation] | None:
    """Return what a softmax or an argmax reads, going backwards from the weights that are made of its result."""
    path: list[str] = []
    node = body.producer(weights)
    while node is not None and node.kind not in ("Softmax", "ArgMax"):
        path.append(node.kind)
        # Equal(places, best) compares with the position that was chosen.
        node = body.producer(node.inputs[1 if node.kind == "Equal" else 0]) if node.inputs else None
    if node is None:
        return None
    windowed = "Div" in path or "Mul" in path
    return node.inputs[0], "hard" if node.kind == "ArgMax" else "local" if windowed else "softmax"


def _with_energy(body: _Graph, site: ScoreSite, product: str) -> ScoreSite:
    """Return a site with the parts of vᵀ tanh(query + key), if the score is additive."""
    node = body.producer(product)
    hidden = body.producer(node.inputs[0]) if node is not None and node.kind == "MatMul" else None
    total = body.producer(hidden.inputs[0]) if hidden is not None and hidden.kind == "Tanh" else None
    if node is None or total is None or total.kind != "Add":
        return site
    keys, energy = (_from_outside(body, name) for name in (total.inputs[1], node.inputs[1]))
    if keys is None or energy is None:
        return site
    return replace(site, function="additive", queries=total.inputs[0], keys=keys, energy=energy)


def _from_outside(body: _Graph, name: str) -> str | None:
    """Return the tensor outside of a loop that a tensor inside has its numbers from; None if there is none."""
    node = body.producer(name)
    while node is not None and node.kind in ("Cast", "Unsqueeze", "Identity"):
        name = node.inputs[0]
        node = body.producer(name)
    return name if node is None else None


def _with_loop_outputs(graph: bytes, names: Sequence[str]) -> bytes:
    """Return a graph whose loop over target tokens also gives these tensors of every step."""

    def edited(number: int, value: int | bytes) -> tuple[int, int | bytes]:
        if number != _NODE or (node := _node(_bytes(value))).kind != "Scan":
            return number, value
        inside = _Graph(_bytes(node.attributes["body"][_ATTRIBUTE_GRAPH])).nodes
        return number, _loop_with_outputs(node.message, names) if set(names) <= set(inside) else value

    return write_message(edited(number, value) for number, value in read_message(graph))


def _loop_with_outputs(node: bytes, names: Sequence[str]) -> bytes:
    """Return a Scan with more outputs; a name inside a loop must not be one outside of it, so they get new ones."""

    def attribute(message: bytes) -> bytes:
        fields = list(read_message(message))
        name = _text(dict(fields)[_ATTRIBUTE_NAME])
        if name == "scan_output_directions":
            return message + write_message([(_ATTRIBUTE_INTS, 0)] * len(names))
        if name != "body":
            return message
        return write_message(
            (number, _body_with_outputs(_bytes(value), names) if number == _ATTRIBUTE_GRAPH else value)
            for number, value in fields
        )

    edited = write_message(
        (number, attribute(_bytes(value)) if number == _NODE_ATTRIBUTE else value)
        for number, value in read_message(node)
    )
    return edited + write_message([(_NODE_OUTPUT, (name + _OF_STEPS).encode()) for name in names])


def _body_with_outputs(body: bytes, names: Sequence[str]) -> bytes:
    """Return the body of a loop with tensors as further outputs, of the same type as its other outputs."""
    known = [value for number, value in read_message(body) if number == _OUTPUT]
    kind = [field for field in read_message(_bytes(known[-1])) if field[0] != _NAME]
    more: list[Field] = []
    for name in names:
        given = (name + _OF_STEP).encode()
        node = write_message([(_NODE_INPUT, name.encode()), (_NODE_OUTPUT, given), (_NODE_KIND, b"Identity")])
        more += [(_NODE, node), (_OUTPUT, write_message([(_NAME, given), *kind]))]
    return body + write_message(more)


def _node(message: bytes) -> _Node:
    inputs, outputs, kind = [], [], ""
    for number, value in read_message(message):
        if number == _NODE_INPUT:
            inputs.append(_text(value))
        elif number == _NODE_OUTPUT:
            outputs.append(_text(value))
        elif number == _NODE_KIND:
            kind = _text(value)
    return _Node(kind, tuple(inputs), tuple(outputs), message)


def _float(node: _Node, name: str, default: float) -> float:
    value = node.attributes.get(name, {}).get(_ATTRIBUTE_FLOAT)
    return default if value is None else float(struct.unpack("<f", _bytes(value))[0])


def _integer(node: _Node, name: str) -> int:
    value = node.attributes.get(name, {}).get(3, 0)
    return value if isinstance(value, int) else 0


def _name(output: bytes) -> str:
    return next((_text(value) for number, value in read_message(output) if number == _NAME), "")


def _text(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise NotProtobuf("a number where bytes are expected")
    return value
