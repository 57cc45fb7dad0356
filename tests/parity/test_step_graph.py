"""The step that is changed when it is loaded gives what the step in the bundle gives, but for rounding."""

from pathlib import Path

import numpy as np
import pytest
import torch

from service.bundle.load import load_bundle
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings
from service.engine.model.onnx_graph import graph_of
from service.engine.model.step_graph import faster_step, look_up_chosen, scale_queries
from tests.support.decoding import decode
from tests.support.exported import CARD, LOOSE, id_pairs, recipe_of
from tests.support.tiny_networks import bahdanau, transformer
from training.data.subwords import train_tokenizer
from training.export.bundle import ExportOptions, export_bundle
from training.export.shortlist import Shortlist
from training.networks.build import build_network
from training.recipe import BahdanauConfig, TransformerConfig, VocabularyConfig

MODELS = Path(__file__).resolve().parents[2] / "models"
WORDS = 266
PAIRS = id_pairs(24, WORDS, 18)
ONE_ROUNDING = 2e-3  # of a log-probability, if one activation of 8 bits is rounded the other way
LIKELY = np.random.default_rng(3).integers(3, WORDS, (WORDS, 30)).astype(np.uint16)
# Heads of 16, whose factor of 1/4 is exact; every other sentence has a list of its own length.
CONFIGS: dict[str, TransformerConfig | BahdanauConfig] = {
    "transformer": transformer(norm="pre", width=32),
    "bahdanau": bahdanau(tie_embeddings=True),
}


@pytest.fixture(scope="module", params=CONFIGS)
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(CONFIGS[request.param], tmp_path_factory.mktemp("step") / "bundle")


def exported(config: TransformerConfig | BahdanauConfig, folder: Path) -> Path:
    tokenizer = train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))
    shortlist = Shortlist(np.array([2, *range(100, 140)], np.uint16), LIKELY)
    options = ExportOptions(CARD, precisions=("int8",), limits=LOOSE, shortlist=shortlist)
    torch.manual_seed(2)  # the parameters of this seed have a translation that rounding changes
    export_bundle(build_network(config, WORDS), tokenizer, recipe_of(config), PAIRS, folder, options)
    return folder


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_translation_changes_by_rounding_only_and_is_the_same_alone(
    bundle: Path, beam_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SearchOptions(beam_size, max_length=16)
    jobs = [SentenceJob(tuple(int(token) for token in np.asarray(source)), options) for source, _ in PAIRS]
    arrivals = [2 * (at // 7) for at in range(len(jobs))]
    faster = onnx_model.load_model(load_bundle(bundle), ModelSettings())
    monkeypatch.setattr(onnx_model, "faster_step", lambda graph: graph)
    plain = onnx_model.load_model(load_bundle(bundle), ModelSettings())
    found, expected = (decode(model, jobs, arrivals) for model in (faster, plain))
    assert [each.ids for each in found] == [each.ids for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=ONE_ROUNDING)
    assert [decode(faster, [job], [0])[0] for job in jobs] == found


def test_both_changes_apply_to_a_transformer(tmp_path: Path) -> None:
    graph = graph_of((exported(CONFIGS["transformer"], tmp_path / "bundle") / "decoder.int8.onnx").read_bytes())
    assert look_up_chosen(graph)
    assert scale_queries(graph) == 2  # one for each layer
    assert not any(node.kind == "FusedMatMul" for node in graph.nodes)
    graph.remove_unused()
    assert not any(node.kind == "Expand" for node in graph.nodes)


@pytest.mark.parametrize("name", ["transformer-en-fr", "transformer-en-de", "bahdanau-en-fr"])
def test_the_changes_apply_to_shipped_models(name: str) -> None:
    graph = graph_of((MODELS / name / "decoder.int8.onnx").read_bytes())
    assert look_up_chosen(graph)
    assert scale_queries(graph) == (2 if name.startswith("transformer") else 0)


def test_a_graph_without_the_patterns_stays_as_it_is() -> None:
    for graph in ((MODELS / "transformer-en-fr" / "decoder.fp16.onnx").read_bytes(), b"no graph"):
        assert faster_step(graph) == graph
