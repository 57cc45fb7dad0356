"""Opens ONNX Runtime sessions that really use the chosen device and precision.

ONNX Runtime falls back to the CPU silently, so the provider of every session is checked after it is opened.
"""

import contextlib
import functools
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import onnxruntime

from service.bundle.exact_products import WEIGHT_BITS, products_are_exact
from service.engine.errors import BundleCorrupt, BundleIncompatible, DeviceUnavailable
from service.engine.model.device import CPU, CUDA, NODE_BY_NODE, ModelSettings, Placement, log_once

# How a run gets its memory. "pool": from a pool of the session, whose one lock the runs of several threads wait for.
# "threads": from the C library, which has a pool for each thread, but maps blocks of a mebibyte anew. "plans": the
# session keeps a plan for every combination of input shapes that occurs (3 kB each), and a run allocates once instead
# of once for each node. "recorded": from a pool, and CUDA records a run and repeats it.
Allocation = Literal["pool", "threads", "plans", "recorded"]


def open_session(
    graph: Path | bytes,
    placement: Placement,
    settings: ModelSettings,
    packed: bool = True,
    weights: Path | None = None,
    allocation: Allocation = "pool",
) -> onnxruntime.InferenceSession:
    """Open one graph; raise BundleCorrupt if it cannot be read, DeviceUnavailable if it would run elsewhere.

    `weights` is the folder of the weights of a graph that is given as bytes. `packed`: keep a second copy of the
    weights in the order in which products read them, which makes runs faster.
    """
    name = str(graph) if isinstance(graph, Path) else "a graph of our own"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.intra_threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    # Plans are never dropped, so a session whose shapes change from run to run would keep thousands of them.
    options.enable_mem_pattern = allocation == "plans"
    options.enable_cpu_mem_arena = allocation != "threads"
    options.log_severity_level = 3
    # Weights are stored as int8 for every precision; with this, float graphs expand them once, at load time.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    if (placement.precision, placement.device) == ("fp16", "cpu"):
        # The layout optimisations of ONNX Runtime 1.31 crash on the recurrent decoder's Scan in half precision.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    if weights is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    if not packed:
        options.add_session_config_entry("session.disable_prepacking", "1")
    providers: list[Any] = [CPU]
    if placement.device == "cuda":
        load_cuda_libraries()
        recorded = {"enable_cuda_graph": "1"} if allocation == "recorded" else {}
        providers = [(CUDA, {"arena_extend_strategy": "kSameAsRequested"} | recorded), CPU]
    try:
        session = onnxruntime.InferenceSession(
            graph if isinstance(graph, bytes) else name, options, providers=providers
        )
    except Exception as error:  # ONNX Runtime raises its own classes, which it does not export
        if placement.device == "cuda":
            raise DeviceUnavailable(f"{name}: cannot be run on CUDA ({_first_line(error)}).") from error
        raise BundleCorrupt(f"{name}: ONNX Runtime cannot load it ({_first_line(error)}).") from error
    check_provider(session.get_providers(), placement, name)
    if session.get_modelmeta().custom_metadata_map.get(WEIGHT_BITS) == "8" and not exact_here():
        raise BundleIncompatible(
            f"{name}: its weights have eight bits, whose products this processor (x86 without VNNI) cannot add up "
            "exactly; import the model again on this machine, or anywhere with --seven-bits."
        )
    return session


def open_recording(
    opened: Callable[..., onnxruntime.InferenceSession], settings: ModelSettings
) -> tuple[onnxruntime.InferenceSession, bool]:
    """Open a graph whose runs CUDA records, or else one whose runs launch every node; return which."""
    if settings.device == "cpu":
        return opened(), False
    try:
        return opened(allocation="recorded"), True
    except DeviceUnavailable as error:
        log_once(logging.WARNING, f"{NODE_BY_NODE}: {error.message}")
        return opened(), False


@functools.cache
def exact_here() -> bool:
    """Return whether this processor adds up products of eight-bit integers exactly."""
    return products_are_exact(lambda graph: onnxruntime.InferenceSession(graph, providers=[CPU]))


@functools.cache
def load_cuda_libraries() -> None:
    """Load the CUDA libraries that were installed as Python packages, which the system's loader cannot find."""
    with contextlib.redirect_stdout(sys.stderr):  # it prints warnings; standard output may be translations
        onnxruntime.preload_dlls(directory="")


def check_provider(providers: Sequence[str], placement: Placement, name: str) -> None:
    """Raise DeviceUnavailable if a session does not have the requested provider."""
    if placement.provider not in providers:
        raise DeviceUnavailable(
            f"{name}: {placement.provider} was requested, but the session runs on {', '.join(providers)}; "
            "are the driver and the CUDA libraries installed?"
        )


def on_cpu_instead(settings: ModelSettings, reason: DeviceUnavailable) -> ModelSettings:
    """Return settings for the CPU if `auto` found a GPU that does not work; raise the error again for `cuda`."""
    if settings.device != "auto":
        raise reason
    log_once(logging.WARNING, f"device=auto runs on the CPU: {reason.message}")
    return replace(settings, device="cpu")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
