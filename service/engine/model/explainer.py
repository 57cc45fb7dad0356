"""Explains attention weights: the scores that they are made of, and the queries and keys of each score."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import onnxruntime

from service.bundle.ensemble import array_name
from service.engine.errors import InvalidOption
from service.engine.jobs import AttentionKind, AttentionScores, FloatArray, ScoringResult, Selector, WeightSelection
from service.engine.model.buffers import Array, Arrays
from service.engine.model.explain_graph import ScoreSite, explaining_graph

DIRECTED = -9e3
"""Scores below it are masked: directional positions add -10,000, a number that is finite where all is masked."""


class Explainer:
    """Runs the explaining graph of a bundle, one translation at a time."""

    def __init__(self, scoring_graph: bytes, open_graph: Callable[[bytes], onnxruntime.InferenceSession]) -> None:
        graph, self._sites = explaining_graph(scoring_graph)
        self._session = open_graph(graph)
        self._weights = [f"{kind}_attention" for kind in ("cross", "encoder", "decoder")]

    def explain(self, feeds: Arrays, selection: WeightSelection) -> ScoringResult:
        """Return the scored translation with the scores of the selected view; raise InvalidOption."""
        assert selection.view is not None, "scores are those of a view"
        kind, layer, head = selection.view
        sites = self._sites.get(kind)
        if sites is None:
            raise InvalidOption("This model's attention has no scores: its weights are fixed. Use stage=weights.")
        chosen = sites if layer == "all" else [sites[int(layer)]]
        given = {output.name for output in self._session.get_outputs()}
        names = sorted(
            {"logprobs", "ranks", *(name for name in self._weights if name in given)}
            | {name for site in chosen for name in site.outputs}
        )
        arrays = dict(zip(names, self._session.run(names, feeds), strict=True))
        sizes = int(feeds["source_lengths"][0]), int(feeds["target_lengths"][0])
        result = cut(arrays, 0, *sizes)
        return replace(result, scores=_scores(arrays, chosen, (kind, layer, head), *sizes))


def _scores(
    arrays: Arrays, sites: Sequence[ScoreSite], view: tuple[AttentionKind, Selector, Selector], source: int, target: int
) -> AttentionScores:
    kind, layer, head = view
    rows, columns = {"cross": (target, source), "encoder": (source, source), "decoder": (target, target)}[kind]
    layers = [_stepless(site, arrays[site.scores])[:, :rows, :columns] for site in sites]  # [H, R, C]
    stacked = np.stack(layers)
    if head != "all":
        stacked = stacked[:, int(head)]
    first, shown = sites[0], stacked if layer == "all" else stacked[0]
    scores = AttentionScores(
        scores=np.where(shown <= DIRECTED, -np.inf, shown).astype(np.float32),
        function=first.function,
        normalisation=first.normalisation,
        scale=first.scale,
    )
    if "all" in (layer, head) or first.queries is None or first.keys is None:
        return scores
    queries = _stepless(first, arrays[first.queries].reshape(_query_shape(first, arrays)))[int(head), :rows]
    keys = arrays[first.keys].astype(np.float32)
    keys = keys[0] if keys.ndim == 4 else keys  # [H, …]; a recurrent decoder has one head
    if first.keys_transposed:
        keys = keys.swapaxes(-1, -2)
    energy = None if first.energy is None else arrays[first.energy].astype(np.float32).reshape(-1)
    return replace(scores, queries=queries.copy(), keys=keys[int(head), :columns].copy(), energy=energy)


def _query_shape(site: ScoreSite, arrays: Arrays) -> tuple[int, ...]:
    """Return [T, B, H, D] for a recurrent decoder, whose one row may have an axis for columns too; else as it is."""
    shape = arrays[site.queries or ""].shape
    return (*shape[:3], shape[-1]) if site.stepwise else shape


def _stepless(site: ScoreSite, array: Array) -> FloatArray:
    """Return [H, R, …] of the only sentence, from [B, H, R, …], or from [T, B, H, …] of a loop over steps."""
    one: Array = array[:, 0].swapaxes(0, 1) if site.stepwise else array[0]
    return one.astype(np.float32)


def cut(arrays: Arrays, row: int, source: int, target: int, member: int = 0) -> ScoringResult:
    """Return one row of a scoring run without its padding, as copies, so that the run's arrays can be freed.

    The attention is that of one member, if the model is an ensemble.
    """

    def weights(kind: str, height: int, width: int) -> Array | None:
        name = array_name(kind, member)
        return np.ascontiguousarray(arrays[name][row, :, :, :height, :width]) if name in arrays else None

    cross = weights("cross_attention", target, source)
    assert cross is not None
    return ScoringResult(
        logprobs=arrays["logprobs"][row, :target].copy(),
        ranks=arrays["ranks"][row, :target].copy(),
        cross_attention=cross,
        encoder_attention=weights("encoder_attention", source, source),
        decoder_attention=weights("decoder_attention", target, target),
    )
