"""Graphs of shipped bundles: those of fp16 open on a CPU, and a step returns the weights of the scoring graph."""

import subprocess
import sys
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


OPEN = """
import sys
from pathlib import Path
from service.engine.model.device import ModelSettings, Placement
from service.engine.model.session import open_session
for graph in sorted(Path(sys.argv[1]).glob("*.fp16.onnx")):
    open_session(graph, Placement("cpu", "CPUExecutionProvider", "fp16", None), ModelSettings(device="cpu"))
    print(graph.name)
"""


@pytest.mark.parametrize("bundle", sorted(path.parent.name for path in MODELS.glob("*/forced.fp16.onnx")))
def test_every_graph_opens(bundle: str) -> None:
    """In a process of its own: ONNX Runtime ended it with a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(MODELS / bundle)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split() == ["decoder.fp16.onnx", "encoder.fp16.onnx", "forced.fp16.onnx"]
