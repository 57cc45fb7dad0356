"""Explains attention weights: the scores that they are made of, and the queries and keys of each score."""

import json
from dataclasses import asdict, replace

import numpy as np
import onnxruntime

from service.bundle.ensemble import array_name
from service.bundle.scores import SCORES, AttentionScore
from service.engine.jobs import AttentionKind, AttentionScores, FloatArray, ScoringResult, WeightSelection
from service.engine.model.buffers import Array, Arrays

SIDES: dict[AttentionKind, tuple[str, str]] = {
    "cross": ("target", "source"),
    "encoder": ("source", "source"),
    "decoder": ("target", "target"),
}
"""The sides of the rows and of the columns."""
DIRECTED = -9e3
"""Scores below it are masked: directional positions add -10,000, a number that is finite where all is masked."""


class Explainer:
    """Runs the explaining graph of a bundle, one translation at a time."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._outputs = [output.name for output in session.get_outputs()]
        described = json.loads(session.get_modelmeta().custom_metadata_map[SCORES])
        self._scores = {kind: AttentionScore(**fields) for kind, fields in described.items()}

    def explain(self, feeds: Arrays, selection: WeightSelection) -> ScoringResult:
        """Return the scored translation with the scores of the selected view."""
        assert selection.view is not None, "scores are those of a view"
        kind, layer, head = selection.view
        prefix = f"{kind}." if layer == "all" else f"{kind}.{layer}."
        names = [name for name in self._outputs if "." not in name or name.startswith(prefix)]
        arrays = dict(zip(names, self._session.run(names, feeds), strict=True))
        rows, columns = (int(feeds[f"{side}_lengths"][0]) for side in SIDES[kind])
        result = cut(arrays, 0, int(feeds["source_lengths"][0]), int(feeds["target_lengths"][0]))
        parts = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        layers = [part[0, :, :rows, :columns] for name, part in parts.items() if name.endswith("scores")]
        stacked: FloatArray = np.stack(layers) if layer == "all" else layers[0]
        scores = AttentionScores(
            scores=np.where(stacked <= DIRECTED, -np.inf, stacked).astype(np.float32),
            **asdict(self._scores[kind]),
        )
        if head != "all":
            scores = replace(scores, scores=scores.scores[..., int(head), :, :])
        if "all" in (layer, head) or "queries" not in parts:
            return replace(result, scores=scores)
        queries, keys = (parts[name][0, int(head)] for name in ("queries", "keys"))
        selected = replace(
            scores, queries=queries[:rows].copy(), keys=keys[:columns].copy(), energy=parts.get("energy")
        )
        return replace(result, scores=selected)


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
