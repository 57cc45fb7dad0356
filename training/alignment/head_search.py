"""Which head of cross-attention aligns words best, and how it is read: the search against gold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from training.alignment.gold import (
    Gold,
    Groups,
    Links,
    Step,
    Weights,
    _candidates,
    alignment_error_rate,
    links,
    reading,
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence pair with its attention [L, H, T, S] and its gold."""

    attention: Weights
    sources: Groups
    targets: Groups
    gold: Gold


@dataclass(frozen=True, slots=True)
class Reading:
    """Which attention to read alignments from, how, and the error rate measured."""

    layer: int
    head: int
    step: Step
    threshold: float | None
    """Least weight of a link."""
    aer: float | None = None
    """In percent, on the gold it was measured on."""

    def __str__(self) -> str:
        least = "" if self.threshold is None else f", weight at least {self.threshold}"
        rate = "" if self.aer is None else f": AER {self.aer:.1f}"
        return f"layer {self.layer}, head {self.head}, read where it is {self.step}d{least}{rate}"

    def links(self, attention: Weights, targets: Groups, sources: Groups) -> Links:
        """Return the alignment of one sentence pair."""
        return links(reading(attention, self.layer, self.head, self.step), targets, sources, self.threshold)


THRESHOLDS: tuple[float | None, ...] = (None, *(round(0.05 * i, 2) for i in range(1, 15)))


def rank_readings(
    samples: Sequence[Sample], thresholds: Sequence[float | None] = THRESHOLDS, only: Reading | None = None
) -> list[Reading]:
    """Every layer, head and step with its best threshold, lowest error first; or ``only`` one reading, measured."""
    if only is not None:
        return [_best_threshold(samples, only.layer, only.head, only.step, [only.threshold])]
    layers, heads = samples[0].attention.shape[:2]
    steps: tuple[Step, ...] = ("produce", "consume")
    found = [
        _best_threshold(samples, layer, head, step, thresholds)
        for layer, head, step in itertools.product(range(layers), range(heads), steps)
    ]
    return sorted(found, key=lambda reading_: reading_.aer or 0.0)


def _best_threshold(
    samples: Sequence[Sample], layer: int, head: int, step: Step, thresholds: Sequence[float | None]
) -> Reading:
    """Weights are merged once; a threshold only drops links."""
    weighed = [list(_candidates(reading(s.attention, layer, head, step), s.targets, s.sources)) for s in samples]
    gold = [sample.gold for sample in samples]
    rates = {}
    for threshold in thresholds:
        kept = (frozenset((s, t) for s, t, weight in each if weight >= (threshold or 0)) for each in weighed)
        rates[threshold] = alignment_error_rate(kept, gold)
    best = min(rates, key=lambda threshold: rates[threshold])
    return Reading(layer, head, step, best, rates[best])
