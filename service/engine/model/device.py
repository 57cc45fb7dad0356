"""The requested device and precision of models, and the chosen ones; without ONNX Runtime, which loads slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.bundle.manifest import GraphSet

Device = Literal["cpu", "cuda", "auto"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How models run."""

    device: Device = "cpu"  # auto: cuda where it works, else cpu with a warning
    precision: str | None = None  # int8, fp16 or fp32; None: the fastest that the bundle has for the device
    intra_threads: int = 1  # threads of ONNX Runtime within one run of one model
    gpu_memory_bytes: int | None = None  # most that one session may take on a GPU


@dataclass(frozen=True, slots=True)
class Placement:
    """The device and precision of a bundle's graphs."""

    device: Literal["cpu", "cuda"]
    provider: str
    precision: str
    graphs: GraphSet
