"""Whether a bundle computes the same on the GPU: provider, parity with the CPU, and the same alone as in company.

With the device `cpu` everything is rehearsed: the GPU's own graphs and its decoder state run, on the CPU.
"""

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import onnxruntime

from service.bundle.load import Bundle
from service.bundle.manifest import Precision
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
from service.engine.attention.selection import alignment_head_in_result
from service.engine.jobs import WeightSelection
from service.engine.model.device import CPU, CUDA
from service.engine.model.onnx_model import OnnxModel, load_model

DeviceName = Literal["cuda", "cpu"]
PRECISION: Precision = "fp16"  # of the graphs for a GPU
LONGEST = 96  # tokens of a translation
# Half precision adds up in another order on a GPU, so the last of its eleven bits differ.
MOST_LOGPROB, MOST_WEIGHT = 0.05, 0.02  # between one device and the other, at any token
MOST_IN_COMPANY = 0.02  # of a log-probability, between a sentence alone and among others
SHAPES = ("Concat", "Squeeze")  # ONNX Runtime leaves arithmetic of shapes to the CPU; that of others needs a Memcpy
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
    placement = Placement("cpu", CPU, PRECISION, bundle.manifest.graphs[PRECISION])
    return OnnxModel(bundle, placement, ModelSettings(), rehearsed=True)


@contextlib.contextmanager
def profiled() -> Iterator[Callable[[], Counter[tuple[str, str]]]]:
    """Note the provider of every node that runs in the sessions opened here.

    Yield a function that ends this and returns how often each pair of provider and operator ran.
    """
    opened: list[onnxruntime.InferenceSession] = []
    open_session = onnxruntime.InferenceSession

    def opening(graph: Any, options: Any = None, **rest: Any) -> onnxruntime.InferenceSession:
        options = options or onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / f"{len(opened)}")
        opened.append(open_session(graph, options, **rest))
        return opened[-1]

    def nodes() -> Counter[tuple[str, str]]:
        events = (event for session in opened for event in json.loads(Path(session.end_profiling()).read_bytes()))
        ran = (event["args"] for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time"))
        return Counter((args["provider"], args["op_name"]) for args in ran)

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(onnxruntime, "InferenceSession", opening):
        yield nodes


def nodes_of(bundle: Bundle, device: DeviceName) -> Counter[tuple[str, str]]:
    """Return how often each provider and operator ran while a bundle translated, scored and explained a sentence."""
    source, align = (*range(4, 12), bundle.manifest.special_ids.eos), bundle.manifest.attention.align
    with profiled() as nodes:
        model = open_on(bundle, device)
        [result] = translated(model, bundle, [source], 4)
        view = WeightSelection((align.layer, align.head), ("cross", align.layer, align.head), stage="scores")
        model.explain(source, result.hypotheses[0].ids, view)
        return nodes()


def placement(nodes: Counter[tuple[str, str]], device: DeviceName, name: str) -> Check:
    """Check by the profile that no node of a bundle runs elsewhere, and that nothing is copied between the devices."""
    wanted = CUDA if device == "cuda" else CPU
    elsewhere: Counter[str] = Counter()
    for (where, op), ran in nodes.items():
        if op.startswith("Memcpy") or (where != wanted and op not in SHAPES):
            elsewhere[op] += ran
    found = ", ".join(f"{op} {ran} times" for op, ran in elsewhere.most_common()) or "none"
    passed = bool(nodes) and not elsewhere
    measured = f"{found}, of {sum(nodes.values())} runs"
    return Check(f"{name}: nodes elsewhere", passed, measured, f"all but shapes on {wanted}")


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
    worker = Worker("check", model, WorkerSettings(Budget(rows=rows, sentences=rows)))
    try:
        if together:
            return [future.result() for future in worker.submit_all(jobs)]
        return [worker.submit(job).result() for job in jobs]
    finally:
        worker.retire()


def exactness(bundle: Bundle, sources: Sequence[Sequence[int]], beam: int) -> Check:
    """Check that slots change nothing: in float32 on a CPU, where the same graphs run for its own decoder state."""
    placement = Placement("cpu", CPU, PRECISION, bundle.manifest.graphs[PRECISION])
    host, slots = (OnnxModel(bundle, placement, ModelSettings(), rehearsed=rehearsed) for rehearsed in (False, True))
    expected = translated(host, bundle, sources, beam)
    others = 0
    for together in (True, False):
        found = translated(slots, bundle, sources, beam, together=together)
        others += sum(_best(one) != _best(other) for one, other in zip(found, expected, strict=True))
    measured = f"{others} of {2 * len(sources)} differ, in company or alone"
    return Check(f"slots in float32 on the CPU, beam {beam}", not others, measured, "0: tokens and log-probabilities")


def _best(result: SentenceResult) -> tuple[tuple[int, ...], tuple[float, ...]]:
    return result.hypotheses[0].ids, result.hypotheses[0].logprobs


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
    align = alignment_head_in_result(bundle.manifest.attention.align)
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
