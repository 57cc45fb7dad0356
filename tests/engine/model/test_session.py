"""The device of a bundle: a missing device is an error, and nothing falls back silently."""

import logging
import re
from dataclasses import replace
from pathlib import Path

import onnxruntime
import pytest

from service.bundle.manifest import GraphSet
from service.engine.errors import BundleIncompatible, DeviceUnavailable
from service.engine.model.device import CPU, CUDA, ModelSettings, Placement, log_once, place_among
from service.engine.model.session import (
    check_provider,
    load_cuda_libraries,
    on_cpu_instead,
    open_recording,
    open_session,
)

INT8 = GraphSet("cpu", "e", "d", "f", (), ())
FP16 = GraphSet("cuda", "e", "d", "f", (), (), run="r", join="j")
FP32 = GraphSet("any", "e", "d", "f", (), ())
ALL = {"int8": INT8, "fp16": FP16, "fp32": FP32}
BOTH, ONLY_CPU = [CUDA, CPU], [CPU]
ON_CUDA = Placement("cuda", CUDA, "fp16", FP16)


@pytest.fixture(autouse=True)
def _nothing_said_yet() -> None:
    log_once.cache_clear()


@pytest.mark.parametrize(
    ("settings", "device", "precision"),
    [
        (ModelSettings("cpu"), "cpu", "int8"),
        (ModelSettings("cpu", "fp32"), "cpu", "fp32"),
        (ModelSettings("cuda"), "cuda", "fp16"),
        (ModelSettings("auto"), "cuda", "fp16"),
    ],
)
def test_the_fastest_graphs_of_the_device_are_chosen(settings: ModelSettings, device: str, precision: str) -> None:
    placement = place_among(BOTH, ALL, settings)
    assert (placement.device, placement.precision) == (device, precision)
    assert placement.graphs is ALL[precision]


def test_without_cuda_cuda_refuses_to_start_and_auto_says_once_and_quietly_that_it_runs_on_the_cpu(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(DeviceUnavailable, match="CUDAExecutionProvider"):
        place_among(ONLY_CPU, ALL, ModelSettings("cuda"))
    with caplog.at_level(logging.DEBUG):
        for _ in range(4):
            assert place_among(ONLY_CPU, ALL, ModelSettings("auto")).device == "cpu"
    [record] = caplog.records
    assert record.levelno == logging.INFO  # it is what the usual installation does
    assert "run on the CPU" in record.message


def test_auto_warns_where_a_gpu_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    broken = DeviceUnavailable("the driver is too old")
    with pytest.raises(DeviceUnavailable, match="too old"):
        on_cpu_instead(ModelSettings("cuda"), broken)
    with caplog.at_level(logging.WARNING):
        assert place_among(BOTH, {"int8": INT8}, ModelSettings("auto")).device == "cpu"
        assert on_cpu_instead(ModelSettings("auto", intra_threads=2), broken) == ModelSettings("cpu", intra_threads=2)
    assert "no fp16 or fp32 graphs for cuda" in caplog.text
    assert "too old" in caplog.text


@pytest.mark.parametrize("settings", [ModelSettings("cuda"), ModelSettings("cpu", "fp32")])
def test_a_bundle_without_fitting_graphs_is_refused_with_what_it_has(settings: ModelSettings) -> None:
    with pytest.raises(BundleIncompatible, match="int8 for cpu"):
        place_among(BOTH, {"int8": INT8}, settings)


@pytest.mark.parametrize("settings", [ModelSettings("cuda", "fp32"), ModelSettings("cuda", "fp16")])
def test_a_bundle_without_graphs_for_a_running_batch_is_refused_on_a_gpu(settings: ModelSettings) -> None:
    before = replace(FP16, run=None, join=None)
    with pytest.raises(BundleIncompatible, match=r"python -m training gpu FOLDER.*or set device=cpu"):
        place_among(BOTH, {"fp16": before, "fp32": FP32}, settings)
    assert place_among(BOTH, {"fp16": before, "fp32": FP32}, ModelSettings("auto")).device == "cpu"


@pytest.mark.parametrize(
    ("settings", "recorded", "said"),
    [
        (ModelSettings("cuda"), True, ""),
        (ModelSettings("cuda"), False, "launches its nodes one by one.*no kernel"),
        (ModelSettings("cpu"), False, ""),
    ],
)
def test_a_step_that_cannot_be_recorded_runs_and_says_so(
    settings: ModelSettings, recorded: bool, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    def opened(allocation: str = "pool") -> str:
        if allocation == "recorded" and not recorded:
            raise DeviceUnavailable("no kernel")
        return allocation

    with caplog.at_level(logging.WARNING):
        assert open_recording(opened, settings) == ("recorded" if recorded else "pool", recorded)
    assert re.search(said, caplog.text)
    assert bool(caplog.text) == bool(said)


def test_a_session_that_fell_back_in_silence_is_refused() -> None:
    check_provider([CUDA, CPU], ON_CUDA, "encoder")
    with pytest.raises(DeviceUnavailable, match="the session runs on CPUExecutionProvider"):
        check_provider([CPU], ON_CUDA, "encoder")


def test_cuda_that_was_installed_as_python_packages_is_loaded_first_and_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded: list[str] = []

    def preload(directory: str) -> None:
        loaded.append(directory)
        print("Failed to load libcudnn.so.9")  # noqa: T201 - as ONNX Runtime does

    monkeypatch.setattr(onnxruntime, "preload_dlls", preload)
    load_cuda_libraries.cache_clear()
    for _ in range(2):
        with pytest.raises(DeviceUnavailable):
            open_session(tmp_path / "missing.onnx", ON_CUDA, ModelSettings("cuda"))
    load_cuda_libraries.cache_clear()
    assert loaded == [""]
    assert capsys.readouterr().out == ""
