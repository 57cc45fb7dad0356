"""Whether a bundle computes the same on the GPU: provider, parity with the CPU, and the same alone as in company.

With the device `cpu` everything is rehearsed: the GPU's own graphs and its decoder state run, on the CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime

from service.bundle.load import Bundle
from service.engine import (
    MAX_BEAM_SIZE,
    Budget,
    ModelSettings,
    Placement,
    SearchOptions,
    SentenceJob,
    SentenceResult,
    Worker,
    WorkerSettings,
)
from service.engine.attention.selection import relocated
from service.engine.model.cuda_decoder_state import DeviceRows
from service.engine.model.device import CPU, CUDA
from service.engine.model.onnx_model import OnnxModel, load_model
from service.engine.types import WeightSelection

DeviceName = Literal["cuda", "cpu"]
PRECISION = "fp16"  # of the graphs for a GPU
LONGEST = 96  # tokens of a translation
# Half precision adds up in another order on a GPU, so the last of its eleven bits differ.
MOST_LOGPROB, MOST_WEIGHT = 0.05, 0.02  # between one device and the other, at any token
MOST_IN_COMPANY = 0.02  # of a log-probability, between a sentence alone and among others
LEAST_SAME, LEAST_SAME_IN_COMPANY = 0.95, 0.99  # shares of translations with the same tokens


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, with what was measured and what was asked."""

    name: str
    passed: bool
    measured: str
    asked: str


def open_on(bundle: Bundle, device: DeviceName) -> OnnxModel:
    """Open a bundle's graphs for a GPU, as the service does, or on the CPU as if it were one."""
    if device == "cuda":
        return load_model(bundle, ModelSettings("cuda", PRECISION))
    graphs = bundle.manifest.graphs[PRECISION]
    return OnnxModel(bundle, Placement("cpu", CPU, PRECISION, graphs), ModelSettings(), DeviceRows("cpu", _open_graph))


def provider(model: OnnxModel, device: DeviceName) -> Check:
    """Check that every session runs where it should; `load_model` has refused any that does not."""
    found = model.placement
    wanted = CUDA if device == "cuda" else CPU
    passed = (found.provider, found.precision) == (wanted, PRECISION)
    return Check("provider and precision", passed, f"{found.provider}, {found.precision}", f"{wanted}, {PRECISION}")


def translated(
    model: OnnxModel, bundle: Bundle, sources: Sequence[Sequence[int]], beam: int, *, together: bool = True
) -> list[SentenceResult]:
    """Return the translations of sentences with their scores and the weights of the aligning head."""
    align = bundle.manifest.attention.align
    selection = WeightSelection((align.layer, align.head))
    search = SearchOptions(beam, 1.0, LONGEST, early_stopping=bundle.manifest.decoding.early_stopping)
    jobs = [SentenceJob(tuple(ids), search, score=selection) for ids in sources]
    rows = max(MAX_BEAM_SIZE, beam * (len(jobs) if together else 1))
    worker = Worker("check", model, WorkerSettings(Budget(rows=rows)))
    worker.start()
    try:
        if together:
            return [future.result() for future in worker.submit_all(jobs)]
        return [worker.submit(job).result() for job in jobs]
    finally:
        worker.stop()


def parity(found: Sequence[SentenceResult], expected: Sequence[SentenceResult], bundle: Bundle, beam: int) -> Check:
    """Check translations, log-probabilities and attention against those of the CPU."""
    same, logprob, weight = differences(found, expected, bundle)
    passed = same >= LEAST_SAME and logprob <= MOST_LOGPROB and weight <= MOST_WEIGHT
    return Check(
        f"the same as on the CPU, beam {beam}",
        passed,
        f"{same:.1%} the same tokens; of these, log-probability {logprob:.4f}, attention {weight:.4f} apart",
        f"≥ {LEAST_SAME:.0%}, ≤ {MOST_LOGPROB}, ≤ {MOST_WEIGHT}",
    )


def invariance(alone: Sequence[SentenceResult], together: Sequence[SentenceResult], bundle: Bundle, beam: int) -> Check:
    """Check that sentences are translated alone as they are in a batch of all."""
    same, logprob, weight = differences(together, alone, bundle)
    passed = same >= LEAST_SAME_IN_COMPANY and logprob <= MOST_IN_COMPANY
    return Check(
        f"the same alone as in a batch of {len(together)}, beam {beam}",
        passed,
        f"{same:.1%} the same tokens; of these, log-probability {logprob:.4f}, attention {weight:.4f} apart",
        f"≥ {LEAST_SAME_IN_COMPANY:.0%}, ≤ {MOST_IN_COMPANY}",
    )


def differences(
    found: Sequence[SentenceResult], expected: Sequence[SentenceResult], bundle: Bundle
) -> tuple[float, float, float]:
    """Return the share of equal translations, and in these the largest differences of log-probability and weight."""
    align = relocated(bundle.manifest.attention.align)
    pairs = list(zip(found, expected, strict=True))
    equal = [(one, other) for one, other in pairs if one.hypotheses[0].ids == other.hypotheses[0].ids]
    logprob = weight = 0.0
    for one, other in equal:
        apart = np.subtract(one.hypotheses[0].logprobs, other.hypotheses[0].logprobs)
        logprob = max(logprob, float(np.abs(apart).max(initial=0.0)))
        if one.scores is not None and other.scores is not None:
            weights = [each.cross_attention[align.layer, align.head] for each in (one.scores, other.scores)]
            weight = max(weight, float(np.abs(weights[0] - weights[1]).max(initial=0.0)))
    return len(equal) / len(pairs), logprob, weight


def _open_graph(graph: bytes | Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(graph if isinstance(graph, bytes) else str(graph), providers=[CPU])
