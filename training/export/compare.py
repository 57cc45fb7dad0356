"""Measures how far exported graphs are from their network, and which differences are accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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
    steps: float = 2e-3
    """Between step-by-step and forced log-probabilities: the largest difference for fp32, the mean for int8 (the last
    bit of a float may decide how an activation is rounded, which moves single tokens by a hundredth)."""
    pairs: int = 48
    """The number of pairs that are compared."""
    longest: int = 512
    """The longest sentences that are compared, in tokens; large vocabularies make long ones slow."""


class ParityError(RuntimeError):
    """The exported graphs differ from the network; the message is a table of all comparisons."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured number and its limit."""

    precision: str
    what: str
    value: float
    limit: float
    at_least: bool = False

    def document(self) -> dict[str, Any]:
        """Return the manifest's entry."""
        bound = "at_least" if self.at_least else "at_most"
        return {"precision": self.precision, "what": self.what, "value": float(f"{self.value:.4g}"), bound: self.limit}

    @property
    def passed(self) -> bool:
        """Return whether the number is within the limit; NaN never is."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        verdict, sign = "ok  " if self.passed else "FAIL", "≥" if self.at_least else "≤"
        return f"{verdict} {self.precision:5} {self.what:66} {self.value:9.3g} ({sign} {self.limit:g})"


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
    def is_graph(self) -> bool:
        """Return whether it is float graphs itself, with which others cannot be compared."""

    def state(self) -> StateArrays:
        """Return the parameters, under the names of our networks."""

    def positions(self, length: int) -> Floats | None:
        """Return the table of positions, if the model has one."""

    def reference(self, batch: PaddedPairs, bias: Floats | None = None) -> Reference:
        """Return forced decoding without the tokens that no graph produces; ``bias``: another output bias."""


class HeadDistance(NamedTuple):
    """The head of one kind of attention with the largest difference from the reference."""

    layer: int
    head: int
    distance: float
    """The total variation, as the mean over rows and then over sentences: 0 is equal, 1 is disjoint."""


def row_lengths(kind: str, source: int, target: int) -> tuple[int, int]:
    """Return how many queries and keys a sentence pair has in one kind of attention."""
    queries = source if kind == "encoder_attention" else target
    keys = target if kind == "decoder_attention" else source
    return queries, keys


def sentence_lengths(batch: PaddedPairs) -> list[tuple[int, int]]:
    """Return the number of source and target tokens of each row, including end tokens."""
    return list(zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True))


def total_variations(kind: str, ours: Array, theirs: Array, batch: PaddedPairs) -> Array:
    """Return the total variation (half of the summed differences) of each sentence, the mean over its rows: [B, L, H].

    ``ours``, ``theirs``: weights [B, L, H, queries, keys]; padding is left out.
    """
    distances = []
    for row, (source, target) in enumerate(sentence_lengths(batch)):
        queries, keys = row_lengths(kind, source, target)
        differences = np.abs(ours[row, ..., :queries, :keys] - theirs[row, ..., :queries, :keys])
        distances.append(differences.sum(-1).mean(-1) / 2)
    return np.stack(distances)


def worst_head(distances: Array) -> HeadDistance:
    """Return the head with the largest mean distance; distances [sentences, L, H]."""
    means = distances.mean(0)
    layer, head = np.unravel_index(int(means.argmax()), means.shape)
    return HeadDistance(int(layer), int(head), float(means[layer, head]))


def same_links(ours: Array, theirs: Array, batch: PaddedPairs, read: AlignmentHead) -> Array:
    """Return for each target token that ``theirs`` links whether ``ours`` links it to the same source token, bool.

    Both are cross-attention [B, L, H, T, S]; the row of the end token, which has no link, is left out.
    """
    agree = []
    for row, (source, target) in enumerate(sentence_lengths(batch)):
        own, expected = (w[row, read.layer, read.head, : target - 1, :source] for w in (ours, theirs))
        linked = expected.max(-1, initial=0.0) >= (read.threshold or 0.0)
        agree.append((own.argmax(-1) == expected.argmax(-1))[linked])
    return np.concatenate(agree)


class Seen:
    """The results of forced decoding over all batches."""

    def __init__(self, read: AlignmentHead, original: str) -> None:
        self._read, self._original = read, original
        self.logprobs: list[Array] = []
        self.largest: list[float] = []
        self._distances: dict[str, list[Array]] = {}
        self._links: list[Array] = []

    def add(self, reference: Reference, result: Mapping[str, Array], batch: PaddedPairs) -> None:
        """Compare one batch's log-probabilities and every kind of attention."""
        self.logprobs.append(np.abs(result["logprobs"] - reference.logprobs)[valid_targets(batch)])
        for kind, weights in reference.attention.items():
            self._distances.setdefault(kind, []).append(total_variations(kind, result[kind], weights, batch))
            for row, lengths in enumerate(sentence_lengths(batch)):
                queries, keys = row_lengths(kind, *lengths)
                difference = result[kind][row, ..., :queries, :keys] - weights[row, ..., :queries, :keys]
                self.largest.append(float(np.abs(difference).max()))
        cross = "cross_attention"
        self._links.append(same_links(result[cross], reference.attention[cross], batch, self._read))

    def rounded_comparisons(self, precision: str, limits: ParityLimits) -> list[Comparison]:
        """Return the comparisons for a precision that rounds."""
        mean = float(np.concatenate(self.logprobs).mean())
        results = [Comparison(precision, "mean difference of forced log-probabilities", mean, limits.logprobs)]
        for kind, distances in self._distances.items():
            worst = worst_head(np.concatenate(distances))
            name = kind.replace("_", " ")
            what = f"total variation of {name}, worst head ({worst.layer}, {worst.head})"
            results.append(Comparison(precision, what, worst.distance, limits.attention))
        agreed = np.concatenate(self._links[:-1])  # the last batch is made up, so its words have no links
        if len(agreed):
            what = f"links of the aligning head ({self._read.layer}, {self._read.head}) as {self._original} has them"
            results.append(Comparison(precision, what, float(agreed.mean()), limits.links, True))
        return results


def valid_targets(batch: PaddedPairs) -> npt.NDArray[np.bool_]:
    """Return which target positions are within their sentence, bool [B, T]."""
    places = np.arange(batch.target_out.shape[1])[None]
    valid: npt.NDArray[np.bool_] = places < batch.target_lengths[:, None]
    return valid
