"""The requested device and precision of models, and the chosen ones; without ONNX Runtime, which loads slowly."""

import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from service.bundle.manifest import GraphSet
from service.engine.errors import BundleIncompatible, DeviceUnavailable

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
PREFERENCE = {"cpu": ("int8", "fp32"), "cuda": ("fp16", "fp32")}  # fastest first
NODE_BY_NODE = "each step on the GPU launches its nodes one by one, which takes longer"
_LOG = logging.getLogger(__name__)

Device = Literal["cpu", "cuda", "auto"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings with which models run."""

    device: Device = "cpu"  # auto: cuda where it works, else cpu with a warning
    precision: str | None = None  # int8, fp16 or fp32; None: the fastest that the bundle has for the device
    intra_threads: int = 1  # threads of ONNX Runtime within one run of one model


@dataclass(frozen=True, slots=True)
class Placement:
    """The device and precision of a bundle's graphs."""

    device: Literal["cpu", "cuda"]
    provider: str
    precision: str
    graphs: GraphSet


def place_among(providers: Sequence[str], graphs: Mapping[str, GraphSet], settings: ModelSettings) -> Placement:
    """Choose device and precision for a bundle among the providers of an ONNX Runtime.

    Raise DeviceUnavailable if cuda is required and not available, BundleIncompatible if the bundle has no graphs for
    the device.
    """
    if settings.device == "cpu":
        return _place_on("cpu", graphs, settings.precision)
    missing = CUDA not in providers
    if missing:
        reason = f"this installation of ONNX Runtime has no {CUDA} (it has {', '.join(providers)})"
    else:
        try:
            return _place_on("cuda", graphs, settings.precision)
        except BundleIncompatible as error:
            if settings.device == "cuda":
                raise
            reason = error.message
    if settings.device == "cuda":
        raise DeviceUnavailable(f"device=cuda is set, but {reason}.")
    if missing:
        log_once(logging.INFO, "models run on the CPU: the installed ONNX Runtime has no CUDA")
    else:
        log_once(logging.WARNING, f"device=auto runs on the CPU: {reason}")
    return _place_on("cpu", graphs, settings.precision)


@functools.cache
def log_once(level: int, message: str) -> None:
    """Log a message once in this process, because it applies to all models."""
    _LOG.log(level, message)


def _place_on(device: Literal["cpu", "cuda"], graphs: Mapping[str, GraphSet], precision: str | None) -> Placement:
    fitting = {name: each for name, each in graphs.items() if each.device in (device, "any")}
    wanted = PREFERENCE[device] if precision is None else (precision,)
    for name in wanted:
        if name in fitting:
            if device == "cuda" and fitting[name].run is None:
                raise BundleIncompatible(
                    f"it has no {name} graphs for a batch that stays on a GPU; `python -m training gpu FOLDER` adds "
                    "them, or set device=cpu"
                )
            return Placement(device, CUDA if device == "cuda" else CPU, name, fitting[name])
    raise BundleIncompatible(
        f"the bundle has no {' or '.join(wanted)} graphs for {device} (it has "
        + ", ".join(f"{name} for {each.device}" for name, each in graphs.items())
        + ")"
    )
