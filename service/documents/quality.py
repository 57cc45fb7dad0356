"""The quality of a document in the report of its job: how much is usable, and which segments to check."""

from __future__ import annotations

from collections.abc import Sequence

from service.documents.fragments import plain
from service.documents.translating import Translated

DOUBTFUL = 0.3  # segments below are listed, as the page underlines sentences below it
MOST_LISTED = 100
SHOWN_CHARACTERS = 80


def quality_of(segments: Sequence[str], translations: Sequence[Translated]) -> float | None:
    """Return the share of a document that is expected to be usable: the mean by length; None if none is known."""
    known = [
        (each.quality, len(segment))
        for segment, each in zip(segments, translations, strict=True)
        if each.quality is not None
    ]
    total = sum(length for _, length in known)
    return round(sum(quality * length for quality, length in known) / total, 4) if total else None


def doubtful_segments(translations: Sequence[Translated]) -> tuple[tuple[int, float, str], ...]:
    """Return the segments to check, the worst first: number from 1, quality, beginning of the translation."""
    found = [
        (each.quality, number)
        for number, each in enumerate(translations, 1)
        if each.quality is not None and each.quality < DOUBTFUL
    ]
    return tuple(
        (number, round(quality, 4), plain(translations[number - 1].text).strip()[:SHOWN_CHARACTERS])
        for quality, number in sorted(found)[:MOST_LISTED]
    )
