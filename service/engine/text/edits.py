"""Edits of a text: the one map of places between a text and what is read, or written, in its place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from service.bundle.wrapping import Span
from service.engine.types import Token


class Edit(NamedTuple):
    """A range of a text, and what stands in its place in the edited text."""

    start: int
    end: int
    new: str


class Edits:
    """Edits of one text, in order; they do not overlap.

    A range that lies within an edit, or has a part of one, is taken to all of that edit on the other side.
    """

    __slots__ = ("_new", "_old", "edits")

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        """Take edits in any order."""
        self.edits = tuple(sorted(edits))
        longer = [0, *accumulate(len(new) - (end - start) for start, end, new in self.edits)]
        self._old = [start for start, _, _ in self.edits], [end for _, end, _ in self.edits]
        self._new = (
            [start + by for (start, _, _), by in zip(self.edits, longer, strict=False)],
            [end + by for (_, end, _), by in zip(self.edits, longer[1:], strict=True)],
        )

    def __bool__(self) -> bool:
        """Return whether there is any edit."""
        return bool(self.edits)

    def edited(self, text: str) -> str:
        """Return the text with its edits."""
        pieces: list[str] = []
        position = 0
        for start, end, new in self.edits:
            pieces += (text[position:start], new)
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text

    def over(self, later: Iterable[Edit]) -> Edits:
        """Return these edits with later ones of the same text, which take the places of those within their ranges."""
        later = sorted(later)
        starts = [start for start, _, _ in later]
        kept = [edit for edit in self.edits if not _is_within(edit, later, bisect_right(starts, edit.start) - 1)]
        return Edits([*kept, *later])

    def to_new(self, start: int, end: int) -> Span:
        """Return where a range of the text stands in the edited text."""
        return _mapped((start, end), self._old, self._new) if self.edits else (start, end)

    def to_old(self, start: int, end: int) -> Span:
        """Return where a range of the edited text stands in the text."""
        return _mapped((start, end), self._new, self._old) if self.edits else (start, end)

    def tokens_of_old(self, tokens: Sequence[Token], text: str, shift: int = 0) -> tuple[Token, ...]:
        """Return tokens of the edited text at their places in the text; `shift` is added to every span."""
        return located(tokens, (self.to_old(token.start, token.end) for token in tokens), text, shift)

    def tokens_of_new(self, tokens: Sequence[Token], edited: str, shift: int = 0) -> tuple[Token, ...]:
        """Return tokens of the text at their places in the edited text; `shift` is added to every span."""
        return located(tokens, (self.to_new(token.start, token.end) for token in tokens), edited, shift)


NONE = Edits()


def located(tokens: Iterable[Token], spans: Iterable[Span], text: str, shift: int) -> tuple[Token, ...]:
    """Return tokens at other places, which are ranges of a text."""
    return tuple(
        replace(token, text=text[start:end], start=start + shift, end=end + shift)
        for token, (start, end) in zip(tokens, spans, strict=True)
    )


def letter_edits(text: str, second: str) -> list[Edit]:
    """Return the edits of the letters in which a text of the same length differs, one by one."""
    return [Edit(at, at + 1, new) for at, (old, new) in enumerate(zip(text, second, strict=True)) if old != new]


def _is_within(edit: Edit, others: Sequence[Edit], before: int) -> bool:
    """Return whether an edit lies in the range of one of the others, the last of which begins at `before`."""
    return any(
        0 <= number < len(others) and others[number].start <= edit.start and edit.end <= others[number].end
        for number in (before, before + 1)
    )


def _mapped(span: Span, old: tuple[list[int], list[int]], new: tuple[list[int], list[int]]) -> Span:
    start, end = span
    first, last = bisect_right(old[1], start), bisect_left(old[0], end)
    by = new[1][first - 1] - old[1][first - 1] if first else 0
    if first >= last:
        return start + by, end + by
    began = start + by if start < old[0][first] else new[0][first]
    return began, new[1][last - 1] + max(0, end - old[1][last - 1])
