"""The decoder state in slots, with the CPU as the device: it must do what the decoder state on the host does."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from service.bundle.load import load_bundle
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.model.device import CPU, CUDA, ModelSettings, place_among
from service.engine.model.onnx_model import OnnxModel, load_model
from tests.support.decoding import run_batch
from tests.support.toy_onnx import sentences, write_toy_bundle

NEEDS_CUDA = pytest.mark.skipif(CUDA not in onnxruntime.get_available_providers(), reason="no CUDA here")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxModel, OnnxModel]:
    bundle = load_bundle(write_toy_bundle(tmp_path_factory.mktemp("toy") / "toy"))
    settings = ModelSettings("cpu")
    device = OnnxModel(bundle, place_among([CPU], bundle.manifest.graphs, settings), settings, rehearsed=True)
    return load_model(bundle, settings), device


SEARCHES = {
    "plain": SearchOptions(4, max_length=40),
    "greedy": SearchOptions(1, max_length=70),
    "several": SearchOptions(4, max_length=40, n_best=4),
    "all at the end": SearchOptions(3, max_length=9, early_stopping="never", n_best=3),
    "may repeat": SearchOptions(2, max_length=50, repetition_guard=False),
    "prefix": SearchOptions(4, max_length=40, prefix=(7, 11, 7)),
    "greedy prefix": SearchOptions(1, max_length=40, prefix=(7, 11, 7)),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("count", [1, 40])
def test_it_finds_what_the_state_on_the_host_finds(models: tuple[OnnxModel, OnnxModel], name: str, count: int) -> None:
    host, device = models
    jobs = [
        SentenceJob(source, SEARCHES[name], trace=at % 9 == 4) for at, source in enumerate(sentences(count, seed=9))
    ]
    arrivals = np.random.default_rng(3).integers(0, 20, len(jobs)).tolist()
    for found, expected in zip(run_batch(device, jobs, arrivals), run_batch(host, jobs, arrivals), strict=True):
        assert [each.ids for each in found.hypotheses] == [each.ids for each in expected.hypotheses]
        assert [each.finish_reason for each in found.hypotheses] == [e.finish_reason for e in expected.hypotheses]
        for one, other in zip(found.hypotheses, expected.hypotheses, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-5)
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


@pytest.mark.gpu
@NEEDS_CUDA
@pytest.mark.parametrize("beam_size", [1, 4])
def test_cuda_finds_what_the_cpu_finds(models: tuple[OnnxModel, OnnxModel], tmp_path: Path, beam_size: int) -> None:
    on_gpu = load_model(load_bundle(write_toy_bundle(tmp_path / "toy")), ModelSettings("cuda"))
    jobs = [SentenceJob(source, SearchOptions(beam_size, max_length=40)) for source in sentences(16, seed=9)]
    found, expected = (run_batch(model, jobs) for model in (on_gpu, models[0]))
    assert [each.hypotheses[0].ids for each in found] == [each.hypotheses[0].ids for each in expected]
