"""The parity gate of export: a bundle is written only if ONNX and PyTorch agree."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional

from service.bundle.limits import SOURCE_STEP
from service.bundle.manifest import AlignmentHead
from service.bundle.vocabulary import BOS, EOS, PAD
from training.data.batching import Batch, collate
from training.data.dataset import Ids
from training.export.compare import Comparison, ParityError, ParityLimits, Reference, Seen, parity_table, valid_targets
from training.export.graphs.architecture import make_graphs
from training.export.graphs.precision import Arithmetic
from training.export.manifest import ModelDescription
from training.export.parameters import SUPPRESSED
from training.export.quantise import IdPair
from training.export.sessions import Stepper, open_session, run
from training.export.shortlist import Tokens
from training.networks.interface import Network

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Exported:
    """The graphs that are compared with a network."""

    folders: Mapping[str, Path]
    """The folder of the graphs of each precision."""
    read: AlignmentHead
    """The head from which the service reads alignments."""
    always: Tokens | None = None
    """The tokens that int8 steps score for every sentence; the lists of this comparison have all other tokens."""
    float_bias: npt.NDArray[np.float32] | None = None
    """The output bias of fp32 graphs and of forced decoding; None: the network's own."""


def check_parity(
    network: Network, model: ModelDescription, exported: Exported, pairs: Sequence[IdPair], limits: ParityLimits
) -> list[Comparison]:
    """Compare the graphs of each precision with the network.

    fp16 is left out if there is no GPU that runs it. Raises ParityError with the whole table if a comparison fails.
    """
    results: list[Comparison] = []
    model = replace(model, max_tokens=min(model.max_tokens, limits.longest))  # caches need no room for longer sentences
    batches = parity_batches(pairs[: limits.pairs], model.max_tokens)
    vocabulary = torch_reference(network, batches[-1]).vocabulary
    for precision, folder in exported.folders.items():
        if precision == "fp16":
            with _output_bias(network, exported.float_bias):
                results += _half(network, folder, exported.read, batches, limits)
        else:
            gate = _Gate(network, model, precision, vocabulary, exported)
            with _output_bias(network, exported.float_bias if precision == "fp32" else None):
                stepped = [torch_reference(network, batch) for batch in batches]
            with _output_bias(network, exported.float_bias):
                results += gate.compare(batches, stepped, limits)
    if not all(result.passed for result in results):
        raise ParityError("ONNX and PyTorch disagree; nothing was exported.\n" + parity_table(results))
    return results


@contextmanager
def _output_bias(network: Network, bias: npt.NDArray[np.float32] | None) -> Iterator[None]:
    """Give the network another output bias for as long as it is open; None: its own."""
    assert isinstance(network, nn.Module)
    if bias is None:
        yield
        return
    parameter = network.get_parameter("output_bias")
    own = parameter.data
    parameter.data = torch.from_numpy(bias)
    try:
        yield
    finally:
        parameter.data = own


def half_provider() -> str | None:
    """Return the execution provider for fp16; None if there is none (a CPU has no Loop operator in fp16)."""
    name = "CUDAExecutionProvider"
    return name if name in onnxruntime.get_available_providers() else None


def _half(
    network: Network, folder: Path, read: AlignmentHead, batches: Sequence[Batch], limits: ParityLimits
) -> list[Comparison]:
    """Compare forced decoding in fp16, on the kind of device that runs it in service."""
    provider = half_provider()
    if provider is None:
        return []
    session = open_session(folder / "forced.fp16.onnx", provider)
    seen = Seen(read)
    for batch in batches:
        seen.add(torch_reference(network, batch), force(session, batch), batch)
    return seen.rounded_comparisons("fp16", limits)


def parity_batches(pairs: Sequence[IdPair], longest: int) -> list[Batch]:
    """Return ragged batches: ordinary pairs, single tokens among longer ones, and sentences at the limit."""
    ordinary = [(np.asarray(s, np.uint16)[-longest:], np.asarray(t, np.uint16)[-longest:]) for s, t in pairs[:48]]
    batches = [_as_served(*zip(*ordinary[i : i + 16], strict=True)) for i in range(0, len(ordinary), 16)]
    end, sizes = np.array([EOS], np.uint16), (0, 1, longest // 3, longest - 1)
    sides = []
    for side in zip(*ordinary, strict=True):  # each side has its own words, because a vocabulary may have two languages
        words = np.concatenate([ids[:-1] for ids in side])
        words = np.resize(words if len(words) else np.array([EOS + 1], np.uint16), longest - 1)
        sides.append([np.concatenate([words[:size], end]) for size in sizes])
    return [*batches, _as_served(sides[0], sides[1][::-1])]


def _as_served(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Return a batch whose source positions are padded to a multiple of SOURCE_STEP, as the service pads them."""
    batch = collate(sources, targets)
    missing = -batch.source.shape[1] % SOURCE_STEP
    return replace(batch, source=functional.pad(batch.source, (0, missing), value=PAD))


def torch_reference(network: Network, batch: Batch) -> Reference:
    """Return forced decoding by the network, without the tokens that the graphs never produce."""
    chosen, best, vocabulary = [], [], 0
    with torch.no_grad():
        memory = network.encode(batch.source, batch.source_lengths)
        decoded = network.decode(batch.target_in, memory)
        # One sentence after the other: with a large vocabulary, the logits of all of them take a gigabyte.
        for hidden, target in zip(decoded.hidden, batch.target_out, strict=True):
            logits: Tensor = network.logits(hidden[None]).float()[0]  # [T, V]
            logits[:, [PAD, BOS]] = SUPPRESSED
            chosen.append(logits.log_softmax(-1).gather(-1, target[:, None]).squeeze(-1))
            best.append(logits.argmax(-1))
            vocabulary = logits.shape[-1]
    attention = {
        "cross_attention": decoded.cross_attention,
        "encoder_attention": memory.attention,
        "decoder_attention": decoded.decoder_attention,
    }
    arrays = {kind: weights.numpy() for kind, weights in attention.items() if weights is not None}
    return Reference(torch.stack(chosen).numpy(), arrays, torch.stack(best).numpy(), vocabulary)


def force(session: onnxruntime.InferenceSession, batch: Batch) -> dict[str, Array]:
    """Run forced decoding of a batch; returns every output."""
    return run(
        session,
        {
            "source": batch.source.numpy(),
            "source_lengths": batch.source_lengths.numpy(),
            "target": batch.target_out.numpy(),
            "target_lengths": batch.target_lengths.numpy(),
        },
    )


class _Gate:
    """Compares one precision that runs on a CPU."""

    def __init__(
        self, network: Network, model: ModelDescription, precision: str, vocabulary: int, exported: Exported
    ) -> None:
        folder = exported.folders[precision]
        self._network, self._precision, self._vocabulary = network, precision, vocabulary
        self._read = exported.read
        graphs, longest = make_graphs(model.network, Arithmetic()), model.max_tokens
        self._forced = open_session(folder / f"forced.{precision}.onnx")
        listed = None if exported.always is None else np.setdiff1d(np.arange(vocabulary), exported.always)
        self._stepper = Stepper(graphs, folder, precision, longest, listed)
        if exported.always is not None and not self._stepper.has_lists and precision == "int8":
            self._vocabulary = len(exported.always)

    def compare(
        self, batches: Sequence[Batch], of_steps: Sequence[Reference], limits: ParityLimits
    ) -> list[Comparison]:
        """Return all comparisons over all batches, the worst of each; `of_steps` has the output bias of steps."""
        seen, alone, steps, agreed = Seen(self._read), [], [], []
        for batch, own in zip(batches, of_steps, strict=True):
            reference, result = torch_reference(self._network, batch), force(self._forced, batch)
            valid = valid_targets(batch)
            seen.add(reference, result, batch)
            stepped, best = self._step(batch)
            apart = own.logprobs - reference.logprobs  # by the tokens that only forced decoding scores
            steps.append(np.abs(stepped - result["logprobs"] - apart)[valid])
            agreed.append((best == own.best)[valid])
            alone += list(self._alone(batch, result, stepped))
        exact, spread = self._precision == "fp32", np.concatenate(steps)
        if exact:
            largest = float(np.concatenate(seen.logprobs).max())
            results = [
                self._limit("largest difference of log-probabilities", largest, limits.exact),
                self._limit("largest difference of attention weights", max(seen.largest), limits.exact),
            ]
        else:
            results = seen.rounded_comparisons(self._precision, limits)
        return [
            *results,
            self._limit("greedy tokens as PyTorch chooses", np.concatenate(agreed).mean(), limits.agreement, True),
            self._limit("row alone and among others", max(alone), limits.alone),
            self._limit("step by step and forced", spread.max() if exact else spread.mean(), limits.steps),
        ]

    def _limit(self, what: str, value: float, limit: float, at_least: bool = False) -> Comparison:
        return Comparison(self._precision, what, float(value), limit, at_least)

    def _step(self, batch: Batch) -> tuple[Array, Array]:
        """Return the target's log-probabilities step by step, and the best token of each step, both [B, T]."""
        self._stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
        chosen, best = [], []
        for inputs, outputs in zip(batch.target_in.numpy().T, batch.target_out.numpy().T, strict=True):
            ids, logprobs = self._stepper.step(inputs, self._vocabulary)
            chosen.append(logprobs[np.arange(len(ids)), (ids == outputs[:, None]).argmax(1)])
            best.append(ids[:, 0])
        return np.stack(chosen, 1), np.stack(best, 1)

    def _alone(self, batch: Batch, result: dict[str, Array], stepped: Array) -> Iterator[float]:
        """Yield the differences of rows 0 and 1 from the same rows without neighbours and padding."""
        for row in range(min(2, len(batch.source))):
            source, target = int(batch.source_lengths[row]), int(batch.target_lengths[row])
            single = _as_served([batch.source[row, :source].numpy()], [batch.target_out[row, :target].numpy()])
            own = force(self._forced, single)
            yield float(np.abs(own["logprobs"][0] - result["logprobs"][row, :target]).max())
            cross = result["cross_attention"][row, ..., :target, :source]
            yield float(np.abs(own["cross_attention"][0, ..., :source] - cross).max())
            yield float(np.abs(self._step(single)[0][0] - stepped[row, :target]).max())
