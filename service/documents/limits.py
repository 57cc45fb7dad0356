"""The limits of one document, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.documents.errors import DocumentTooLarge
from service.settings import Settings

MIB = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one document may have."""

    file_bytes: int = 10 * MIB
    unpacked_bytes: int = 100 * MIB  # of all files in a packed document together
    characters: int = 1_000_000  # of translatable text
    segments: int = 20_000  # paragraphs, cells, entries, cues
    entries: int = 5_000  # files in a packed document


def limits_of(settings: Settings) -> Limits:
    """Return the limits that the operator has set."""
    return Limits(
        file_bytes=settings.max_file_mb * MIB,
        unpacked_bytes=settings.max_unpacked_mb * MIB,
        characters=settings.document_character_limit,
        segments=settings.document_segment_limit,
    )


def check_file_size(size: int, limits: Limits) -> None:
    """Raise DocumentTooLarge if a file has too many bytes."""
    if size > limits.file_bytes:
        raise DocumentTooLarge(
            f"The document has {size} bytes; this server takes at most {limits.file_bytes}. Split it into several."
        )


def check_segments(segments: Sequence[str], limits: Limits) -> None:
    """Raise DocumentTooLarge if a document has too many segments or characters."""
    if len(segments) > limits.segments:
        raise DocumentTooLarge(
            f"The document has {len(segments)} paragraphs; this server takes at most {limits.segments}. "
            "Split it into several."
        )
    check_characters(sum(map(len, segments)), limits)


def check_characters(characters: int, limits: Limits) -> None:
    """Raise DocumentTooLarge if a document has too many characters."""
    if characters > limits.characters:
        raise DocumentTooLarge(
            f"The document has {characters} characters; this server takes at most {limits.characters}. "
            "Split it into several."
        )
