"""The weights that a step returns are those of the scoring graph, and binding them changes no other number."""

from pathlib import Path

import numpy as np
import pytest

from service.bundle.load import load_bundle
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import OnnxModel, load_model

MODELS = Path(__file__).parents[3] / "models"
SOURCES = ([9, 40, 17, 300, 2], [25, 7, 2])  # any ids will do
STEPS = 6


def greedy(model: OnnxModel, weighted: bool) -> tuple[np.ndarray, np.ndarray, list[np.ndarray | None]]:
    """Decode both sources together; return tokens [steps, 2], log-probabilities and weights of each step."""
    state = model.decoder_state(1, 3)
    state.join(model.encode([list(source) for source in SOURCES]), [0, 1])
    state.set_weights(weighted)
    tokens = np.full((len(SOURCES), 1), model.bos, np.int64)
    chosen, logprobs, weights = [], [], []
    for _ in range(STEPS):
        found = state.step(tokens)
        tokens = found.ids[:, :, 0].copy()
        state.reorder(None)
        chosen.append(tokens[:, 0])
        logprobs.append(found.logprobs.copy())
        weights.append(found.weights)
    return np.array(chosen), np.array(logprobs), weights


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-fr", "gallery/gallery-rnn-attention-hard"])
def test_the_row_of_a_step_is_that_of_scoring_and_the_tokens_are_the_same_without_it(name: str) -> None:
    bundle = load_bundle(MODELS / name)
    model, align = load_model(bundle, ModelSettings()), bundle.manifest.attention.align
    chosen, logprobs, weights = greedy(model, weighted=True)
    for at, source in enumerate(SOURCES):
        [scored] = model.score_batch([(list(source), [*chosen[:, at].tolist(), model.eos])])
        expected = scored.cross_attention[align.layer, align.head]
        for step, row in enumerate(weights):
            assert row is not None
            np.testing.assert_allclose(row[at, 0, : len(source)], expected[step], atol=0.02)
            assert row[at, 0, : len(source)].sum() == pytest.approx(1, abs=1e-3)
    plain = greedy(model, weighted=False)
    np.testing.assert_array_equal(plain[0], chosen)
    np.testing.assert_array_equal(plain[1], logprobs)
    assert plain[2] == [None] * STEPS


def test_an_architecture_without_attention_has_no_weights() -> None:
    model = load_model(load_bundle(MODELS / "gallery/gallery-rnn-attention-none"), ModelSettings())
    assert greedy(model, weighted=True)[2] == [None] * STEPS
