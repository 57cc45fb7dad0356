"""The NVIDIA driver is checked at the start, with one clear line; several GPUs get an engine process each."""

import time
from pathlib import Path

import pytest

from service.server.main import driver_warning, visible_gpus
from tests.engine_process.serving import engines


@pytest.mark.parametrize(
    ("version", "warned"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\nGCC version: gcc 12.2.0", True),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\nGCC version: 13.3.0",
            False,
        ),
        ("", False),
    ],
)
def test_an_old_driver_is_named_with_what_is_needed(version: str, warned: bool) -> None:
    warning = driver_warning(version)
    assert (warning is not None) == warned
    assert not warned or warning == "The NVIDIA driver 570.86 is too old: models run on a GPU with driver 580 or newer."


@pytest.mark.parametrize(("chosen", "gpus"), [(None, ["0", "1"]), ("1", ["1"]), ("0, 2", ["0", "2"]), ("", [])])
def test_the_gpus_are_those_of_the_driver_or_of_cuda_visible_devices(
    chosen: str | None, gpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("0000:17:00.0", "0000:65:00.0"):
        (tmp_path / name).mkdir()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert visible_gpus(tmp_path) == gpus


def test_each_engine_process_sees_one_of_several_gpus() -> None:
    with engines(3, gpus=["0", "GPU-5f2"]) as cluster:
        assert [seen_by(process) for process in cluster.process_ids] == ["0", "GPU-5f2", "0"]


def seen_by(process: int) -> str:
    """Return CUDA_VISIBLE_DEVICES of a process; a new one has its environment once its program has begun."""
    for _ in range(200):
        variables = dict(
            part.split("=", 1) for part in Path(f"/proc/{process}/environ").read_text().split("\0") if "=" in part
        )
        if "CUDA_VISIBLE_DEVICES" in variables:
            return variables["CUDA_VISIBLE_DEVICES"]
        time.sleep(0.05)
    return ""
