"""The parity gate of export: a bundle is written only if its graphs agree with their original."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from service.bundle.limits import SOURCE_STEP
from service.bundle.manifest import AlignmentHead
from service.bundle.vocabulary import EOS
from training.data.padding import PaddedPairs, pad_pairs
from training.export.compare import (
    Comparison,
    Original,
    ParityError,
    ParityLimits,
    Reference,
    Seen,
    parity_table,
    valid_targets,
)
from training.export.graphs.architecture import make_graphs
from training.export.graphs.precision import Arithmetic
from training.export.manifest import ModelDescription
from training.export.parameters import SUPPRESSED
from training.export.quantise import IdPair
from training.export.sessions import Stepper, open_session, run
from training.export.shortlist import Tokens

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Exported:
    """The graphs that are compared with their original."""

    folders: Mapping[str, Path]
    """The folder of the graphs of each precision."""
    read: AlignmentHead
    """The head from which the service reads alignments."""
    always: Tokens | None = None
    """The tokens that int8 steps score for every sentence; the lists of this comparison have all other tokens."""
    float_bias: npt.NDArray[np.float32] | None = None
    """The output bias of fp32 graphs and of forced decoding; None: the original's own."""
    own_steps: Path | None = None
    """The folder of fp32 graphs whose steps have the original's own output bias, as those of int8."""


def check_parity(
    original: Original, model: ModelDescription, exported: Exported, pairs: Sequence[IdPair], limits: ParityLimits
) -> list[Comparison]:
    """Compare the graphs of each precision with their original.

    fp16 is left out if there is no GPU that runs it. Raises ParityError with the whole table if a comparison fails.
    """
    results: list[Comparison] = []
    model = replace(model, max_tokens=min(model.max_tokens, limits.longest))  # caches need no room for longer sentences
    batches = parity_batches(pairs[: limits.pairs], model.max_tokens)
    forced = [original.reference(batch, exported.float_bias) for batch in batches]
    expected = forced if exported.float_bias is None else [original.reference(batch) for batch in batches]
    for precision, folder in exported.folders.items():
        if precision == "fp16":
            results += _half(original, folder, exported.read, list(zip(batches, forced, strict=True)), limits)
        else:
            gate = _Gate(original, model, precision, forced[0].vocabulary, exported)
            stepped = forced if precision == "fp32" and folder != exported.own_steps else expected
            results += gate.compare(batches, forced, stepped, limits)
    if not all(result.passed for result in results):
        raise ParityError(f"The graphs and {original.name} disagree; nothing was exported.\n" + parity_table(results))
    return results


def half_provider() -> str | None:
    """Return the execution provider for fp16; None if there is none (a CPU has no Loop operator in fp16)."""
    name = "CUDAExecutionProvider"
    return name if name in onnxruntime.get_available_providers() else None


def _half(
    original: Original,
    folder: Path,
    read: AlignmentHead,
    references: Sequence[tuple[PaddedPairs, Reference]],
    limits: ParityLimits,
) -> list[Comparison]:
    """Compare forced decoding in fp16, on the kind of device that runs it in service."""
    provider = half_provider()
    if provider is None:
        return []
    session = open_session(folder / "forced.fp16.onnx", provider)
    seen = Seen(read, original.name)
    for batch, reference in references:
        seen.add(reference, force(session, batch), batch)
    return seen.rounded_comparisons("fp16", limits)


def parity_batches(pairs: Sequence[IdPair], longest: int) -> list[PaddedPairs]:
    """Return ragged batches: ordinary pairs, single tokens among longer ones, and sentences at the limit."""
    ordinary = [(np.asarray(s, np.int64)[-longest:], np.asarray(t, np.int64)[-longest:]) for s, t in pairs[:48]]
    batches = [_as_served(*zip(*ordinary[i : i + 16], strict=True)) for i in range(0, len(ordinary), 16)]
    end, sizes = np.array([EOS]), (0, 1, longest // 3, longest - 1)
    sides = []
    for side in zip(*ordinary, strict=True):  # each side has its own words, because a vocabulary may have two languages
        words = np.concatenate([ids[:-1] for ids in side])
        words = np.resize(words if len(words) else np.array([EOS + 1]), longest - 1)
        sides.append([np.concatenate([words[:size], end]) for size in sizes])
    return [*batches, _as_served(sides[0], sides[1][::-1])]


def _as_served(sources: Sequence[Array], targets: Sequence[Array]) -> PaddedPairs:
    """Return a batch whose source positions are padded to a multiple of SOURCE_STEP, as the service pads them."""
    return pad_pairs(sources, targets, SOURCE_STEP)


def force(session: onnxruntime.InferenceSession, batch: PaddedPairs) -> dict[str, Array]:
    """Run forced decoding of a batch; returns every output."""
    return run(
        session,
        {
            "source": batch.source,
            "source_lengths": batch.source_lengths,
            "target": batch.target_out,
            "target_lengths": batch.target_lengths,
        },
    )


class _Gate:
    """Compares one precision that runs on a CPU."""

    def __init__(
        self, original: Original, model: ModelDescription, precision: str, vocabulary: int, exported: Exported
    ) -> None:
        folder = exported.folders[precision]
        self._original, self._precision, self._vocabulary = original, precision, vocabulary
        self._read = exported.read
        graphs, longest = make_graphs(model.network, Arithmetic()), model.max_tokens
        self._forced = open_session(folder / f"forced.{precision}.onnx")
        listed = None if exported.always is None else np.setdiff1d(np.arange(vocabulary), exported.always)
        self._stepper = Stepper(graphs, folder, precision, longest, listed)
        if exported.always is not None and not self._stepper.has_lists and precision == "int8":
            self._vocabulary = len(exported.always)

    def compare(
        self,
        batches: Sequence[PaddedPairs],
        of_forced: Sequence[Reference],
        of_steps: Sequence[Reference],
        limits: ParityLimits,
    ) -> list[Comparison]:
        """Return all comparisons over all batches, the worst of each; `of_steps` has the output bias of steps."""
        seen, alone, steps, agreed = Seen(self._read, self._original.name), [], [], []
        for batch, reference, own in zip(batches, of_forced, of_steps, strict=True):
            result = force(self._forced, batch)
            valid = valid_targets(batch)
            seen.add(reference, result, batch)
            stepped, best = self._step(batch)
            apart = own.logprobs - reference.logprobs  # by the tokens that only forced decoding scores
            written = valid & (own.logprobs > SUPPRESSED / 2)  # not the token of a language, which is given to a step
            steps.append(np.abs(stepped - result["logprobs"] - apart)[written])
            agreed.append((best == own.best)[valid])
            alone += list(self._alone(batch, result, stepped))
        exact, spread = self._precision == "fp32", np.concatenate(steps)
        return [
            *([] if exact and self._original.graphs else self._with_original(seen, np.concatenate(agreed), limits)),
            self._limit("row alone and among others", max(alone), limits.alone),
            self._limit("step by step and forced", spread.max() if exact else spread.mean(), limits.steps),
        ]

    def _with_original(self, seen: Seen, agreed: Array, limits: ParityLimits) -> list[Comparison]:
        if self._precision == "fp32":
            largest = float(np.concatenate(seen.logprobs).max())
            results = [
                self._limit("largest difference of log-probabilities", largest, limits.exact),
                self._limit("largest difference of attention weights", seen.largest, limits.exact),
            ]
        else:
            results = seen.rounded_comparisons(self._precision, limits)
        what = f"greedy tokens as {self._original.name} chooses"
        return [*results, Comparison(what, float(agreed.mean()), self._precision, at_least=limits.agreement)]

    def _limit(self, what: str, value: float, limit: float) -> Comparison:
        return Comparison(what, float(value), self._precision, at_most=limit)

    def _step(self, batch: PaddedPairs) -> tuple[Array, Array]:
        """Return the target's log-probabilities step by step, and the best token of each step, both [B, T]."""
        self._stepper.start(batch.source, batch.source_lengths)
        chosen, best = [], []
        for inputs, outputs in zip(batch.target_in.T, batch.target_out.T, strict=True):
            ids, logprobs = self._stepper.step(inputs, self._vocabulary)
            chosen.append(logprobs[np.arange(len(ids)), (ids == outputs[:, None]).argmax(1)])
            best.append(ids[:, 0])
        return np.stack(chosen, 1), np.stack(best, 1)

    def _alone(self, batch: PaddedPairs, result: dict[str, Array], stepped: Array) -> Iterator[float]:
        """Yield the differences of rows 0 and 1 from the same rows without neighbours and padding."""
        for row in range(min(2, len(batch.source))):
            source, target = int(batch.source_lengths[row]), int(batch.target_lengths[row])
            single = _as_served([batch.source[row, :source]], [batch.target_out[row, :target]])
            alone = force(self._forced, single)
            yield float(np.abs(alone["logprobs"][0] - result["logprobs"][row, :target]).max())
            cross = result["cross_attention"][row, ..., :target, :source]
            yield float(np.abs(alone["cross_attention"][0, ..., :source] - cross).max())
            yield float(np.abs(self._step(single)[0][0] - stepped[row, :target]).max())
