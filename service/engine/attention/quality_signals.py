"""Reference-free signs of a bad translation, from its ids and attention weights, without side effects."""

from collections.abc import Sequence

from service.engine.jobs import FloatArray

REPEATED_TOKENS = 4
LEAST_ATTENTION = 0.2


def repeats(ids: Sequence[int]) -> bool:
    """Return whether four tokens in a row occur twice, as in a search that repeats itself."""
    count = len(ids) - REPEATED_TOKENS + 1
    return count > 1 and len(set(zip(*(ids[start:] for start in range(REPEATED_TOKENS)), strict=False))) < count


def coverage(weights: FloatArray) -> float:
    """Return the share of the source tokens that were attended to, from cross-attention weights [T, S], </s> in both.

    A token counts when its attention, summed over the target (as in the coverage penalty of Wu et al. 2016, arXiv
    1609.08144, section 7), is at least LEAST_ATTENTION. The source's </s> does not count, because attention rests on it
    if there is no relevant token. A source of </s> alone is covered.
    """
    attended = weights.sum(axis=0)[:-1]
    return float((attended >= LEAST_ATTENTION).mean()) if len(attended) else 1.0
