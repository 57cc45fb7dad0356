"""The weights that a step returns are those of the scoring graph, and binding them changes no other number."""

from pathlib import Path

import numpy as np
import pytest

from service.bundle.load import load_bundle
from service.engine.jobs import FloatArray, IntArray
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_model import OnnxModel, load_model

MODELS = Path(__file__).parents[3] / "models"
SOURCES = ([9, 40, 17, 300, 2], [25, 7, 2])  # any ids will do


def model_of(name: str) -> OnnxModel:
    return load_model(load_bundle(MODELS / name), ModelSettings())


Steps = tuple[list[IntArray], list[FloatArray], list[FloatArray | None]]


def greedy(model: OnnxModel, weighted: bool, steps: int = 6) -> Steps:
    """Decode both sources together; return tokens, log-probabilities and weights of each step."""
    state = model.decoder_state(1, 3)
    state.join(model.encode([list(source) for source in SOURCES]), [0, 1])
    state.set_weights(weighted)
    tokens = np.full((len(SOURCES), 1), model.bos, np.int64)
    chosen, logprobs, weights = [], [], []
    for _ in range(steps):
        found = state.step(tokens)
        tokens = found.ids[:, :, 0].copy()
        state.reorder(None)
        chosen.append(tokens)
        logprobs.append(found.logprobs.copy())
        weights.append(found.weights)
    return chosen, logprobs, weights


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-fr", "gallery/gallery-rnn-attention-hard"])
def test_the_row_of_a_step_is_that_of_scoring(name: str) -> None:
    model = model_of(name)
    chosen, _, weights = greedy(model, weighted=True)
    align = load_bundle(MODELS / name).manifest.attention.align
    for at, source in enumerate(SOURCES):
        target = [int(tokens[at, 0]) for tokens in chosen]
        [scored] = model.score_batch([(list(source), [*target, model.eos])])
        expected = scored.cross_attention[align.layer, align.head]
        for step, row in enumerate(weights):
            assert row is not None
            np.testing.assert_allclose(row[at, 0, : len(source)], expected[step], atol=0.02)
            assert row[at, 0, : len(source)].sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-fr"])
def test_steps_with_weights_choose_the_same_tokens_to_the_byte(name: str) -> None:
    model = model_of(name)
    plain, weighted = greedy(model, weighted=False), greedy(model, weighted=True)
    assert np.array_equal(plain[0], weighted[0])
    assert np.array_equal(plain[1], weighted[1])
    assert plain[2] == [None] * len(plain[0])


def test_an_architecture_without_attention_has_no_weights() -> None:
    assert greedy(model_of("gallery/gallery-rnn-attention-none"), weighted=True)[2] == [None] * 6
