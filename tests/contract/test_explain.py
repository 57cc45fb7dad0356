"""Graphs of every exporter variant can be explained: scores and softmax give the weights, and terms the scores."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from service.bundle.load import load_bundle
from service.bundle.vocabulary import EOS
from service.engine.errors import InvalidOption
from service.engine.jobs import AttentionKind, ScoringResult, WeightSelection
from service.engine.model.device import ModelSettings
from service.engine.model.explainer import Explainer
from service.engine.model.onnx_model import load_model
from tests.support.exported import write_float
from tests.support.paths import MODELS
from tests.support.tiny_networks import VARIANTS
from training.export.sessions import open_session
from training.recipe import TransformerConfig

SOURCE, TARGET = (5, 9, 7, 6, EOS), (8, 5, EOS)
FUNCTIONS = {
    **dict.fromkeys(("score-additive", "deep-lstm", "conditional", "attention-local", "attention-hard"), "additive"),
    **dict.fromkeys(("score-dot", "score-general"), "dot"),
    **dict.fromkeys(("score-scaled_dot", "post-norm"), "scaled_dot"),
}


def explainer_of(name: str, folder: Path) -> Explainer:
    """Export a made-up network and return what explains it."""
    write_float(VARIANTS[name], folder)
    return Explainer(open_session(folder / "explain.fp32.onnx"))


def explain(explainer: Explainer, kind: AttentionKind, layer: int, head: int) -> ScoringResult:
    feeds = {
        "source": np.array([[*SOURCE, 0, 0]]),
        "source_lengths": np.array([len(SOURCE)]),
        "target": np.array([TARGET]),
        "target_lengths": np.array([len(TARGET)]),
    }
    return explainer.explain(feeds, WeightSelection((0, 0), (kind, layer, head), stage="scores"))


def softmax(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    raised = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


@pytest.mark.parametrize("name", [name for name in VARIANTS if "none" not in name])
def test_scores_and_softmax_are_the_weights_and_terms_are_the_scores(name: str, tmp_path: Path) -> None:
    explainer = explainer_of(name, tmp_path)
    config = VARIANTS[name]
    head = int(isinstance(config, TransformerConfig))
    kinds: list[AttentionKind] = ["cross", "encoder"] if head else ["cross"]
    if isinstance(config, TransformerConfig) and config.decoder == "attention":
        kinds.append("decoder")
    for kind in kinds:
        result = explain(explainer, kind, 0, head)
        every = {"encoder": result.encoder_attention, "decoder": result.decoder_attention}
        weights, found = every.get(kind, result.cross_attention), result.scores
        assert weights is not None
        assert found is not None
        assert found.scores.shape == weights.shape[-2:]
        if found.normalisation == "softmax":
            np.testing.assert_allclose(softmax(found.scores), weights[0, head], atol=1e-6)
        elif found.normalisation == "hard":
            assert (found.scores.argmax(-1) == weights[0, head].argmax(-1)).all()
        attention = getattr(config, "attention", "")
        assert found.normalisation == (attention if attention in ("local", "hard") else "softmax")
        assert found.function == FUNCTIONS.get(name, found.function)
        if kind == "decoder":
            assert (np.isneginf(found.scores) == np.triu(np.ones((3, 3), bool), 1)).all()  # the causal mask
        column = int(np.isfinite(found.scores[1]).argmax())  # local attention masks what is far away
        terms = found.terms(1, column)
        if terms is not None:
            assert found.scale * terms.sum() == pytest.approx(float(found.scores[1, column]), abs=1e-5)
        else:
            assert "concat" in name or found.function == "other"


def test_weights_without_scores_are_refused_with_the_reason() -> None:
    """No graph explains them."""
    model = load_model(load_bundle(MODELS / "gallery" / "gallery-rnn-attention-none"), ModelSettings(device="cpu"))
    with pytest.raises(InvalidOption, match="no scores"):
        model.explain(SOURCE, TARGET, WeightSelection((0, 0), ("cross", 0, 0), stage="scores"))
