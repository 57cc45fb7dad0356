"""The decoder state on a device, with the CPU as the device: it must do what the decoder state on the host does."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from service.bundle.load import load_bundle
from service.bundle.manifest import GraphSet
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.model.cuda_decoder_state import DeviceRows
from service.engine.model.device import CPU, CUDA, ModelSettings, Placement, place_among
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.model.session import load_cuda_libraries, open_session
from tests.support.decoding import decode
from tests.support.toy_onnx import sentences, write_toy_bundle

Opening = Callable[[bytes], onnxruntime.InferenceSession]
NEEDS_CUDA = pytest.mark.skipif(CUDA not in onnxruntime.get_available_providers(), reason="no CUDA here")


def open_graph(graph: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(graph, providers=[CPU])


def open_on_gpu(graph: bytes) -> onnxruntime.InferenceSession:
    placement = Placement("cuda", CUDA, "fp16", GraphSet("cuda", "", "", "", (), ()))
    return open_session(graph, placement, ModelSettings("cuda"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxModel, OnnxModel]:
    bundle = load_bundle(write_toy_bundle(tmp_path_factory.mktemp("toy") / "toy"))
    settings = ModelSettings("cpu")
    device = OnnxModel(
        bundle, place_among([CPU], bundle.manifest.graphs, settings), settings, DeviceRows("cpu", open_graph)
    )
    return load_model(bundle, settings), device


def jobs_of(beam_size: int) -> list[SentenceJob]:
    return [SentenceJob(source, SearchOptions(beam_size, max_length=40)) for source in sentences(16, seed=9)]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_it_finds_what_the_state_on_the_host_finds(models: tuple[OnnxModel, OnnxModel], beam_size: int) -> None:
    host, device = models
    jobs = jobs_of(beam_size)
    arrivals = np.random.default_rng(3).integers(0, 20, len(jobs)).tolist()
    for found, expected in zip(decode(device, jobs, arrivals), decode(host, jobs, arrivals), strict=True):
        assert found.ids == expected.ids
        assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-5)


@pytest.mark.gpu
@NEEDS_CUDA
@pytest.mark.parametrize("beam_size", [1, 4])
def test_cuda_finds_what_the_cpu_finds(models: tuple[OnnxModel, OnnxModel], tmp_path: Path, beam_size: int) -> None:
    on_gpu = load_model(load_bundle(write_toy_bundle(tmp_path / "toy")), ModelSettings("cuda"))
    found, expected = (decode(model, jobs_of(beam_size)) for model in (on_gpu, models[0]))
    assert [each.ids for each in found] == [each.ids for each in expected]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("device", "opening"),
    [("cpu", open_graph), pytest.param("cuda", open_on_gpu, marks=[pytest.mark.gpu, NEEDS_CUDA])],
)
def test_rows_are_taken_appended_and_lengthened(device: str, opening: Opening, dtype: str) -> None:
    if device == "cuda":
        load_cuda_libraries()
    rows = DeviceRows(device, opening)
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    value = onnxruntime.OrtValue.ortvalue_from_numpy(array, device, 0)
    assert np.array_equal(rows.take(value, dtype, np.array([1, 1, 0])).numpy(), array[[1, 1, 0]])
    assert np.array_equal(rows.append(value, dtype, value).numpy(), np.concatenate([array, array]))
    longer = rows.lengthen(value, dtype, 1, 5).numpy()
    assert np.array_equal(longer[:, :3], array)
    assert not longer[:, 3:].any()
    assert np.array_equal(rows.lengthen(value, dtype, 2, 1).numpy(), array[:, :, :1])
    assert rows.lengthen(value, dtype, 2, 4) is value
