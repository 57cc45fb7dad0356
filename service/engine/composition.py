"""Where each character of NFC-normalised text comes from in the text as it was written.

The tokenizer library composes characters too, but its offsets then cover only the first code point of what was
composed. Normalising here first leaves it nothing to compose, and this map leads back exactly.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Composed:
    """NFC text and, when it differs from the text as written, the code points each of its characters came from."""

    text: str
    starts: tuple[int, ...] | None = None  # [len(text)]; None: same text, same positions
    ends: tuple[int, ...] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Translate a non-empty range of `text` into the range of the written text that it came from."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def compose(text: str) -> Composed:
    """Normalise to NFC, remembering where each character came from; linear but for pathological text."""
    if unicodedata.is_normalized("NFC", text):
        return Composed(text)
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        written = text[start:end]
        part = unicodedata.normalize("NFC", written)
        parts.append(part)
        if part == written:
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(part))
            ends.extend([end] * len(part))
    return Composed("".join(parts), tuple(starts), tuple(ends))


def _clusters(text: str) -> list[tuple[int, int]]:
    """Cut text where normalisation of the left cannot touch the right."""
    starts = [0]
    for position in range(1, len(text)):
        if _begins_cluster(text, starts[-1], position):
            starts.append(position)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _begins_cluster(text: str, start: int, position: int) -> bool:
    character = text[position]
    if character < "\u0300":  # nothing below composes with what stands before it
        return True
    if unicodedata.combining(character) or unicodedata.combining(unicodedata.normalize("NFD", character)[0]):
        return False
    # Some starters compose with the starter before them: the vowels and final consonants of Hangul, and a few more.
    left = unicodedata.normalize("NFC", text[start:position])
    both = unicodedata.normalize("NFC", text[start : position + 1])
    return both == left + unicodedata.normalize("NFC", character)
