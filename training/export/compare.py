"""Measures how far exported graphs are from their network, and which differences are accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import AlignmentHead
from training.data.padding import PaddedPairs
from training.export.parameters import Floats, StateArrays

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ParityLimits:
    """The largest differences that are accepted."""

    exact: float = 1e-4
    """fp32: largest difference of a log-probability or of an attention weight."""
    attention: float = 0.05
    """fp16 and int8: the total variation of the worst head of each kind of attention, the mean over sentences."""
    links: float = 0.9
    """fp16 and int8: the least share of target tokens that the alignment head links to the same source token."""
    logprobs: float = 0.1
    """fp16 and int8: the mean difference of forced log-probabilities, in nats."""
    agreement: float = 0.95
    """int8: the least share of greedy tokens that the original chooses, too, after the same tokens."""
    alone: float = 1e-5
    """The largest difference between a row alone and the same row in a batch."""
    steps: float = 3e-3
    """Between step-by-step and forced log-probabilities: the largest difference for fp32, the mean for int8 (the last
    bit of a float may decide how an activation is rounded, which moves single tokens by a hundredth; 0.0022 for a model
    that was trained without dropout and is surer of itself, where a fault of a graph costs 0.05 and more)."""
    pairs: int = 48
    """The number of pairs that are compared."""
    longest: int = 512
    """The longest sentences that are compared, in tokens; large vocabularies make long ones slow."""


class ParityError(ValueError):
    """The exported graphs differ from the network; the message is a table of all comparisons."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured number and its limit; a comparison without a limit is only information."""

    what: str
    value: float
    precision: str | None = None
    """The graphs that were compared; None: the comparison does not depend on them."""
    at_most: float | None = None
    at_least: float | None = None

    def document(self) -> dict[str, Any]:
        """Return the manifest's entry."""
        entry = {"precision": self.precision, **asdict(self), "value": float(f"{self.value:.4g}")}
        return {name: value for name, value in entry.items() if value is not None}

    @property
    def passed(self) -> bool:
        """Return whether the number is within its limit; NaN never is."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.at_least is None or self.value >= self.at_least

    def __str__(self) -> str:
        limit = f"≥ {self.at_least:g}" if self.at_most is None else f"≤ {self.at_most:g}"
        return f"{'ok  ' if self.passed else 'FAIL'} {self.precision:5} {self.what:66} {self.value:9.3g} ({limit})"


def parity_table(results: Sequence[Comparison]) -> str:
    """Return a line for each comparison."""
    return "\n".join(str(result) for result in results)


@dataclass(frozen=True, slots=True)
class Reference:
    """The original's results for a batch."""

    logprobs: Array  # [B, T]
    attention: dict[str, Array]
    best: Array  # [B, T]: the token that it would choose at each position
    vocabulary: int


class Original(Protocol):
    """What graphs are made of and compared with: a PyTorch network, or float graphs where there is no PyTorch."""

    @property
    def name(self) -> str:
        """Return its name in the sentences of comparisons."""

    @property
    def graphs(self) -> Path | None:
        """Return the folder of its own fp32 graphs, if it is graphs itself: they are compared with themselves."""

    def state(self) -> StateArrays:
        """Return the parameters, under the names of our networks."""

    def reference(self, batch: PaddedPairs, bias: Floats | None = None) -> Reference:
        """Return forced decoding without the tokens that no graph produces; ``bias``: another output bias."""


class Seen:
    """The results of forced decoding over all batches."""

    def __init__(self, read: AlignmentHead, original: str) -> None:
        self._read, self._original = read, original
        self.logprobs: list[Array] = []
        self.largest = 0.0
        """The largest difference of an attention weight."""
        self._variations: dict[str, list[Array]] = {}
        """The total variation of each sentence in each kind of attention, the mean over its rows, [L, H]."""
        self._links: list[Array] = []
        """Of each batch, whether the linked target tokens have the same link."""

    def add(self, reference: Reference, result: Mapping[str, Array], batch: PaddedPairs) -> None:
        """Compare one batch's log-probabilities and every kind of attention, without padding."""
        self.logprobs.append(np.abs(result["logprobs"] - reference.logprobs)[valid_targets(batch)])
        links = []
        for row, (source, target) in enumerate(zip(batch.source_lengths, batch.target_lengths, strict=True)):
            sizes = {"encoder_attention": (source, source), "decoder_attention": (target, target)}
            for kind, expected in reference.attention.items():
                queries, keys = sizes.get(kind, (target, source))
                difference = np.abs(result[kind][row, ..., :queries, :keys] - expected[row, ..., :queries, :keys])
                self.largest = max(self.largest, float(difference.max()))
                self._variations.setdefault(kind, []).append(difference.sum(-1).mean(-1) / 2)
            ours, theirs = (
                attention["cross_attention"][row, self._read.layer, self._read.head, : target - 1, :source]
                for attention in (result, reference.attention)
            )
            linked = theirs.max(-1, initial=0.0) >= (self._read.threshold or 0.0)
            links.append((ours.argmax(-1) == theirs.argmax(-1))[linked])
        self._links.append(np.concatenate(links))

    def rounded_comparisons(self, precision: str, limits: ParityLimits) -> list[Comparison]:
        """Return the comparisons for a precision that rounds."""
        mean = float(np.concatenate(self.logprobs).mean())
        what = "mean difference of forced log-probabilities"
        results = [Comparison(what, mean, precision, at_most=limits.logprobs)]
        for kind, variations in self._variations.items():
            means = np.mean(variations, axis=0)  # [L, H]
            layer, head = np.unravel_index(int(means.argmax()), means.shape)
            what = f"total variation of {kind.replace('_', ' ')}, worst head ({layer}, {head})"
            results.append(Comparison(what, float(means[layer, head]), precision, at_most=limits.attention))
        agreed = np.concatenate(self._links[:-1])  # the last batch is made up, so its words have no links
        if len(agreed):
            what = f"links of the aligning head ({self._read.layer}, {self._read.head}) as {self._original} has them"
            results.append(Comparison(what, float(agreed.mean()), precision, at_least=limits.links))
        return results


def valid_targets(batch: PaddedPairs) -> npt.NDArray[np.bool_]:
    """Return which target positions are within their sentence, bool [B, T]."""
    places = np.arange(batch.target_out.shape[1])[None]
    valid: npt.NDArray[np.bool_] = places < batch.target_lengths[:, None]
    return valid
