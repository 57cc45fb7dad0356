"""The gate of export: ONNX and PyTorch must agree before a bundle exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from training.config import Recipe
from training.data.batching import Batch, collate
from training.data.subwords import BOS, EOS, PAD
from training.export.architecture import make_graphs
from training.export.arithmetic import Arithmetic
from training.export.calibrate import IdPair
from training.export.parameters import SUPPRESSED
from training.export.sessions import Stepper, open_session, run
from training.export.shortlist import Tokens
from training.networks.interface import Network

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ParityLimits:
    """How far apart the two may be."""

    exact: float = 1e-4
    """fp32: largest difference of a log-probability or of an attention weight."""
    attention: float = 5e-3
    """int8: mean difference of attention weights."""
    agreement: float = 0.95
    """int8: least share of greedy tokens that are PyTorch's own choice, given the same words before them."""
    alone: float = 1e-5
    """Largest difference between a row alone and the same row among others."""
    steps: float = 2e-3
    """Between step-by-step and forced log-probabilities: fp32 the largest difference, int8 the mean one (where the
    last bit of a float decides how an activation is rounded, single tokens move by a hundredth)."""


class ParityError(RuntimeError):
    """The exported graphs do not do what the network does; the message is a table of all comparisons."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number and the limit that it must keep."""

    precision: str
    what: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the limit is kept; not a number never does."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        verdict, sign = "ok  " if self.passed else "FAIL", "≥" if self.at_least else "≤"
        return f"{verdict} {self.precision:5} {self.what:45} {self.value:9.3g} ({sign} {self.limit:g})"


@dataclass(frozen=True, slots=True)
class _Reference:
    """What PyTorch gives for a batch."""

    logprobs: Array  # [B, T]
    attention: dict[str, Array]
    best: Array  # [B, T]: the token it would choose at each place
    vocabulary: int


def check_parity(
    network: Network,
    recipe: Recipe,
    folders: Mapping[str, Path],
    pairs: Sequence[IdPair],
    limits: ParityLimits,
    always: Tokens | None = None,
) -> list[Comparison]:
    """Compare the graphs of each precision, in the folder given for it, with the network.

    ``always``: what int8 steps score for every sentence; all other tokens are on the lists of this comparison. fp16
    needs a GPU and is left to ``tests/parity``. Raises ParityError with the whole table when any comparison fails.
    """
    results: list[Comparison] = []
    batches = parity_batches(pairs, recipe.max_tokens)
    vocabulary = torch_reference(network, batches[-1]).vocabulary
    for precision, folder in folders.items():
        listed = None if always is None else np.setdiff1d(np.arange(vocabulary), always)
        results += _Gate(network, recipe, folder, precision, vocabulary, listed).compare(batches, limits)
    if not all(result.passed for result in results):
        raise ParityError("ONNX and PyTorch disagree; nothing was exported.\n" + parity_table(results))
    return results


def parity_batches(pairs: Sequence[IdPair], longest: int) -> list[Batch]:
    """Ragged batches: ordinary pairs, single tokens among longer ones, and sentences at the limit."""
    ordinary = [(np.asarray(s, np.uint16)[-longest:], np.asarray(t, np.uint16)[-longest:]) for s, t in pairs[:48]]
    batches = [collate(*zip(*ordinary[i : i + 16], strict=True)) for i in range(0, len(ordinary), 16)]
    words = np.concatenate([ids[:-1] for pair in ordinary for ids in pair])
    words = np.resize(words if len(words) else np.array([EOS + 1], np.uint16), longest - 1)
    end = np.array([EOS], np.uint16)
    sides = [np.concatenate([words[:size], end]) for size in (0, 1, longest // 3, longest - 1)]
    return [*batches, collate(sides, sides[::-1])]


def parity_table(results: Sequence[Comparison]) -> str:
    """A line for each comparison."""
    return "\n".join(str(result) for result in results)


def torch_reference(network: Network, batch: Batch) -> _Reference:
    """Forced decoding by the network itself, with the tokens suppressed that the graphs never produce."""
    with torch.no_grad():
        memory = network.encode(batch.source, batch.source_lengths)
        decoded = network.decode(batch.target_in, memory)
        logits: Tensor = network.logits(decoded.hidden).float()
        logits[..., [PAD, BOS]] = SUPPRESSED
        logprobs = logits.log_softmax(-1)
    chosen = logprobs.gather(-1, batch.target_out[..., None]).squeeze(-1)
    attention = {
        "cross_attention": decoded.cross_attention,
        "encoder_attention": memory.attention,
        "decoder_attention": decoded.decoder_attention,
    }
    arrays = {kind: weights.numpy() for kind, weights in attention.items() if weights is not None}
    return _Reference(chosen.numpy(), arrays, logits.argmax(-1).numpy(), logits.shape[-1])


class _Gate:
    """Compares one precision."""

    def __init__(
        self, network: Network, recipe: Recipe, folder: Path, precision: str, vocabulary: int, listed: Array | None
    ) -> None:
        self._network, self._precision, self._vocabulary = network, precision, vocabulary
        graphs, longest = make_graphs(recipe.network, Arithmetic()), recipe.max_tokens
        self._forced = open_session(folder / f"forced.{precision}.onnx")
        self._stepper = Stepper(graphs, folder, precision, longest, listed)

    def compare(self, batches: Sequence[Batch], limits: ParityLimits) -> list[Comparison]:
        """All comparisons over all batches, the worst of each."""
        logprobs, attention, alone, steps, agreed = [], [], [], [], []
        for batch in batches:
            reference, result = torch_reference(self._network, batch), self._force(batch)
            valid = _valid(batch)
            logprobs.append(np.abs(result["logprobs"] - reference.logprobs)[valid])
            attention += [
                differences
                for kind, weights in reference.attention.items()
                for differences in _attention_differences(kind, result[kind], weights, batch)
            ]
            stepped, best = self._step(batch)
            steps.append(np.abs(stepped - result["logprobs"])[valid])
            agreed.append((best == reference.best)[valid])
            alone += list(self._alone(batch, result, stepped))
        exact = self._precision == "fp32"
        differences, weights, spread = (np.concatenate(parts) for parts in (logprobs, attention, steps))
        results = [
            self._limit("mean difference of attention weights", weights.mean(), limits.attention),
            self._limit("greedy tokens as PyTorch chooses", np.concatenate(agreed).mean(), limits.agreement, True),
            self._limit("row alone and among others", max(alone), limits.alone),
            self._limit("step by step and forced", spread.max() if exact else spread.mean(), limits.steps),
        ]
        if exact:
            results += [
                self._limit("largest difference of log-probabilities", differences.max(), limits.exact),
                self._limit("largest difference of attention weights", weights.max(), limits.exact),
            ]
        return results

    def _limit(self, what: str, value: float, limit: float, at_least: bool = False) -> Comparison:
        return Comparison(self._precision, what, float(value), limit, at_least)

    def _force(self, batch: Batch) -> dict[str, Array]:
        return run(
            self._forced,
            {
                "source": batch.source.numpy(),
                "source_lengths": batch.source_lengths.numpy(),
                "target": batch.target_out.numpy(),
                "target_lengths": batch.target_lengths.numpy(),
            },
        )

    def _step(self, batch: Batch) -> tuple[Array, Array]:
        """Feed the target step by step: its log-probabilities, and the best token at each place, both [B, T]."""
        self._stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
        chosen, best = [], []
        for inputs, outputs in zip(batch.target_in.numpy().T, batch.target_out.numpy().T, strict=True):
            ids, logprobs = self._stepper.step(inputs, self._vocabulary)
            chosen.append(logprobs[np.arange(len(ids)), (ids == outputs[:, None]).argmax(1)])
            best.append(ids[:, 0])
        return np.stack(chosen, 1), np.stack(best, 1)

    def _alone(self, batch: Batch, result: dict[str, Array], stepped: Array) -> Iterator[float]:
        """How far rows 0 and 1 are from themselves without neighbours and padding."""
        for row in range(min(2, len(batch.source))):
            source, target = int(batch.source_lengths[row]), int(batch.target_lengths[row])
            single = collate([batch.source[row, :source].numpy()], [batch.target_out[row, :target].numpy()])
            own = self._force(single)
            yield float(np.abs(own["logprobs"][0] - result["logprobs"][row, :target]).max())
            cross = result["cross_attention"][row, ..., :target, :source]
            yield float(np.abs(own["cross_attention"][0] - cross).max())
            yield float(np.abs(self._step(single)[0][0] - stepped[row, :target]).max())


def _valid(batch: Batch) -> npt.NDArray[np.bool_]:
    places = np.arange(batch.target_out.shape[1])[None]
    valid: npt.NDArray[np.bool_] = places < batch.target_lengths.numpy()[:, None]
    return valid


def _attention_differences(kind: str, ours: Array, theirs: Array, batch: Batch) -> Iterator[Array]:
    """Differences within each row's own lengths."""
    for row in range(len(ours)):
        source, target = int(batch.source_lengths[row]), int(batch.target_lengths[row])
        queries = source if kind == "encoder_attention" else target
        keys = target if kind == "decoder_attention" else source
        yield np.abs(ours[row, ..., :queries, :keys] - theirs[row, ..., :queries, :keys]).ravel()
