"""Makes the graph that explains attention weights from the graph that scores translations.

The graph for scoring returns weights only. The explaining graph is the same file with more outputs: the scores that
each softmax reads, and the queries and keys of their product. So every bundle can be explained without a new export,
and the graph for scoring, which ordinary requests use, stays as it is (docs/adr/0028-explaining-a-weight.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from service.engine.jobs import AttentionKind, Normalisation, ScoreFunction
from service.engine.model.onnx_graph import Graph, Node, graph_of, with_graph

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


def explaining_graph(model: bytes) -> tuple[bytes, dict[AttentionKind, tuple[ScoreSite, ...]]]:
    """Return the scoring graph with more outputs, and their names by kind of attention and layer.

    A kind whose scores are not found is left out: attention may be fixed (`none`), or made by another exporter.
    """
    try:
        graph = graph_of(model)
    except ValueError:
        return model, {}
    sites: dict[AttentionKind, tuple[ScoreSite, ...]] = {}
    for kind in KINDS:
        weights = f"{kind}_attention"
        if weights in graph.outputs and (found := [*_sites(graph, weights)]) and None not in found:
            sites[kind] = tuple(site for site in found if site is not None)
    inside = {name for of in sites.values() for site in of if site.stepwise for name in (site.scores, site.queries)}
    if inside:
        _add_loop_outputs(graph, sorted(name for name in inside if name is not None))
    sites = {kind: tuple(_outside(site) for site in of) for kind, of in sites.items()}
    for name in sorted({name for of in sites.values() for site in of for name in site.outputs}):
        graph.add_output(name)
    return with_graph(model, graph), sites


def _outside(site: ScoreSite) -> ScoreSite:
    """Return a site with the names that the results of a loop have outside of it."""
    if not site.stepwise:
        return site
    queries = None if site.queries is None else site.queries + _OF_STEPS
    return replace(site, scores=site.scores + _OF_STEPS, queries=queries)


def _sites(graph: Graph, weights: str) -> Iterator[ScoreSite | None]:
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


def _product_site(graph: Graph, scores: str) -> ScoreSite:
    """Return the site of softmax(α q kᵀ + mask)."""
    site = ScoreSite(scores)
    added = graph.producer(scores)
    if added is None or added.kind != "Add":
        return site
    mask = graph.producer(added.inputs[1])
    terms = None if mask is None or mask.kind != "Add" else graph.producer(mask.inputs[1])
    if terms is not None and terms.kind == "Mul":  # relative positions: the score is not the product alone
        return site
    return _with_product(graph, site, added.inputs[0])


def _with_product(graph: Graph, site: ScoreSite, product: str) -> ScoreSite:
    """Return a site with the factors of a product, if the score is one."""
    node = graph.producer(product)
    if node is None or node.kind not in ("FusedMatMul", "MatMul"):
        return site
    scale = node.number("alpha", 1.0)
    return replace(
        site,
        function="dot" if scale == 1.0 else "scaled_dot",
        queries=node.inputs[0],
        keys=node.inputs[1],
        scale=scale,
        keys_transposed=not node.number("transB", 0),
    )


def _loop_site(loop: Node, weights: str) -> ScoreSite | None:
    """Return the site inside a loop over target tokens; its names are those inside the loop."""
    body = loop.body()
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


def _normalised(body: Graph, weights: str) -> tuple[str, Normalisation] | None:
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


def _with_energy(body: Graph, site: ScoreSite, product: str) -> ScoreSite:
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


def _from_outside(body: Graph, name: str) -> str | None:
    """Return the tensor outside of a loop that a tensor inside has its numbers from; None if there is none."""
    node = body.producer(name)
    while node is not None and node.kind in ("Cast", "Unsqueeze", "Identity"):
        name = node.inputs[0]
        node = body.producer(name)
    return name if node is None else None


def _add_loop_outputs(graph: Graph, names: Sequence[str]) -> None:
    """Let the loop over target tokens give these tensors of every step too, under names that only it has."""
    for loop in graph.nodes:
        if loop.kind != "Scan":
            continue
        body = loop.body()
        if not {*names} <= {name for node in body.nodes for name in node.outputs}:
            continue
        known = body.outputs[-1]
        for name in names:
            body.nodes.append(Node("Identity", [name], [name + _OF_STEP]))
            body.add_output(name + _OF_STEP, like=known)
            loop.outputs.append(name + _OF_STEPS)
        loop.set_body(body)
        loop.add_integers("scan_output_directions", [0] * len(names))
