"""Ranges of a text that are replaced by other text, and the tokens of the text at their new places."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from service.bundle.wrapping import Span
from service.engine.types import Token


class Replacement(NamedTuple):
    """A range of one text and the range of another text that has taken its place."""

    old: Span
    new: Span


def replaced(text: str, parts: Sequence[tuple[Span, str]]) -> tuple[str, list[Replacement]]:
    """Return a text with other words in some ranges of it, which are in order, and where they stand."""
    pieces: list[str] = []
    replacements: list[Replacement] = []
    position = length = 0
    for (start, end), word in parts:
        length += start - position
        pieces += (text[position:start], word)
        replacements.append(Replacement((start, end), (length, length + len(word))))
        length += len(word)
        position = end
    pieces.append(text[position:])
    return "".join(pieces), replacements


def inverse(replacements: Sequence[Replacement]) -> list[Replacement]:
    """Return the replacements that lead back."""
    return [Replacement(new, old) for old, new in replacements]


def moved(tokens: Sequence[Token], replacements: Sequence[Replacement], text: str, shift: int = 0) -> tuple[Token, ...]:
    """Return tokens at their places after the replacements; one within a replaced range spans all of it."""
    found = []
    for token in tokens:
        start, end = _place(token, replacements)
        found.append(replace(token, text=text[start:end], start=start + shift, end=end + shift))
    return tuple(found)


def _place(token: Token, replacements: Sequence[Replacement]) -> Span:
    start, end, by = token.start, token.end, 0
    first: int | None = None
    last = None
    for old, new in replacements:
        if old[1] <= token.start:
            by = new[1] - old[1]
        elif old[0] < token.end:
            first = min(new[0], start + by if start < old[0] else new[0]) if first is None else first
            last = new[1] + max(0, end - old[1])
    if first is not None and last is not None:
        return first, last
    return start + by, end + by
