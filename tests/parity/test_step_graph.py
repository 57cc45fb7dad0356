"""The step that is changed when it is loaded gives what the step in the bundle gives, but for rounding."""

from pathlib import Path

import numpy as np
import pytest

from service.engine.model import onnx_model
from service.engine.model.onnx_graph import graph_of
from service.engine.model.step_graph import faster_step, look_up_chosen, scale_queries
from tests.parity.bundles import CONFIGS, WORDS, export, in_groups, jobs_of, load
from tests.support.decoding import decode
from training.export.shortlist import Shortlist

MODELS = Path(__file__).resolve().parents[2] / "models"
ONE_ROUNDING = 2e-3  # of a log-probability, if one activation of 8 bits is rounded the other way
LISTED = Shortlist(
    np.array([2, *range(100, 140)], np.uint16),
    np.random.default_rng(3).integers(3, WORDS, (WORDS, 30)).astype(np.uint16),
)


@pytest.fixture(scope="module", params=CONFIGS)
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The parameters of this seed have a translation that rounding changes.
    return export(request.param, tmp_path_factory.mktemp("step") / request.param, LISTED, seed=2)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_translation_changes_by_rounding_only_and_is_the_same_alone(
    bundle: Path, beam_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, faster = jobs_of(beam_size), load(bundle)
    monkeypatch.setattr(onnx_model, "faster_step", lambda graph: graph)
    found, expected = (decode(model, jobs, in_groups(jobs)) for model in (faster, load(bundle)))
    assert [each.ids for each in found] == [each.ids for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=ONE_ROUNDING)
    assert [decode(faster, [job])[0] for job in jobs] == found


@pytest.mark.parametrize("name", ["transformer-en-fr", "transformer-en-de", "bahdanau-en-fr"])
def test_the_changes_apply_to_shipped_models(name: str) -> None:
    graph = graph_of((MODELS / name / "decoder.int8.onnx").read_bytes())
    assert look_up_chosen(graph)
    assert scale_queries(graph) == (2 if name.startswith("transformer") else 0)  # one for each layer
    assert not any(node.kind == "FusedMatMul" for node in graph.nodes)
    graph.remove_unused()
    assert name.startswith("bahdanau") or not any(node.kind == "Expand" for node in graph.nodes)


def test_a_graph_without_the_patterns_stays_as_it_is() -> None:
    for graph in ((MODELS / "transformer-en-fr" / "decoder.fp16.onnx").read_bytes(), b"no graph"):
        assert faster_step(graph) == graph
