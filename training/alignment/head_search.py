"""Searches the cross-attention head, and the way to read it, whose links are closest to gold."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bundle.alignment import FloatArray, Groups, alignment_weights, links, weighted_links
from service.bundle.manifest import AlignmentHead, Step
from training.alignment.gold import AlignmentError, Gold, Links, alignment_error_rate

STEPS: tuple[Step, ...] = ("produce", "consume")
THRESHOLDS: tuple[float | None, ...] = (None, *(round(0.05 * i, 2) for i in range(1, 15)))


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """A sentence pair with its attention [L, H, T, S] and its gold."""

    attention: FloatArray
    sources: Groups
    targets: Groups
    gold: Gold


def describe(head: AlignmentHead) -> str:
    """Return in words a head, the step at which it is read, and its error rate."""
    least = "" if head.threshold is None else f", weight at least {head.threshold}"
    rate = "" if head.aer is None else f": AER {head.aer:.1f}"
    return f"layer {head.layer}, head {head.head}, read at the step that {head.step}s it{least}{rate}"


def find_links(head: AlignmentHead, attention: FloatArray, sources: Groups, targets: Groups) -> Links:
    """Return the links of a sentence pair that a head of its attention [L, H, T, S] finds.

    Raises AlignmentError for a head that does not exist.
    """
    return frozenset(links(_read(head, attention), sources, targets, head.threshold))


def rank_heads(
    samples: Sequence[AlignedPair], thresholds: Sequence[float | None] = THRESHOLDS, only: AlignmentHead | None = None
) -> list[AlignmentHead]:
    """Return every layer, head and step with its best threshold, lowest error first; with ``only``, that head alone.

    Raises AlignmentError if ``only`` does not exist.
    """
    if only is not None:
        return [_best_threshold(samples, only, [only.threshold])]
    layers, heads = samples[0].attention.shape[:2]
    found = [
        _best_threshold(samples, AlignmentHead(layer, head, step), thresholds)
        for layer, head, step in itertools.product(range(layers), range(heads), STEPS)
    ]
    return sorted(found, key=lambda head: head.aer or 0.0)


def _best_threshold(
    samples: Sequence[AlignedPair], head: AlignmentHead, thresholds: Sequence[float | None]
) -> AlignmentHead:
    """Return the head with its best threshold; weights are merged only once, because a threshold only drops links."""
    weighted = [list(weighted_links(_read(head, s.attention), s.sources, s.targets)) for s in samples]
    gold = [sample.gold for sample in samples]
    rates = {}
    for threshold in thresholds:
        kept = (frozenset((s, t) for s, t, weight in triples if weight >= (threshold or 0)) for triples in weighted)
        rates[threshold] = alignment_error_rate(kept, gold)
    best = min(rates, key=lambda threshold: rates[threshold])
    return replace(head, threshold=best, aer=rates[best])


def _read(head: AlignmentHead, attention: FloatArray) -> FloatArray:
    layers, heads = attention.shape[:2]
    if head.layer >= layers or head.head >= heads:
        raise AlignmentError(
            f"no layer {head.layer}, head {head.head}: there are {layers} layers of {heads} heads, from 0"
        )
    return alignment_weights(attention, head)
