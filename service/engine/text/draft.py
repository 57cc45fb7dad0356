"""A sentence on its way to the model, and the steps that change what is read of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from service.engine.text.edits import NONE, Edit, Edits
from service.engine.text.style import PLAIN, Style
from service.engine.values.constraints import ValueConstraints
from service.engine.values.value import Value


class Lexicon(Protocol):
    """The part of a tokenizer that decides about capitals."""

    def word(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text at the start of a word."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence, what is read of it so far, and how its translation is written.

    `values` stand at their places in `text`. The text of one may be in another spelling, in which it was found.
    """

    text: str
    values: Sequence[Value] = ()
    spelling: Edits = NONE  # from the text to its usual spelling
    style: Style = PLAIN
    stand_ins: tuple[str | None, ...] = ()  # of each value; None: the model reads and writes the value itself
    constraints: ValueConstraints | None = None  # what a translation must hold, if there are values

    @property
    def spelled(self) -> str:
        """Return the text in its usual spelling, in which values are found."""
        return self.spelling.edited(self.text) if self.spelling else self.text

    @property
    def edits(self) -> Edits:
        """Return all edits, from the text to what the model reads."""
        if not self.values:
            return self.spelling
        pairs = zip(self.values, self.stand_ins, strict=False)
        words = [Edit(value.start, value.end, word) for value, word in pairs if word is not None]
        return self.spelling.over(words) if words else self.spelling

    @property
    def read(self) -> str:
        """Return what the model reads."""
        edits = self.edits
        return edits.edited(self.text) if edits else self.text

    @property
    def is_spelled(self) -> bool:
        """Return whether the text is read, or its translation written, in another spelling."""
        return bool(self.spelling) or self.style is not PLAIN

    @property
    def is_plain(self) -> bool:
        """Return whether the text is read, and its translation written, as it is."""
        return not (self.values or self.is_spelled)

    def is_respelled(self, value: Value) -> bool:
        """Return whether a value is one in the spelled text only, as `%d` for `%D`."""
        return self.text[value.start : value.end] != value.text

    def at_text(self, values: Iterable[Value]) -> list[Value]:
        """Return values of the spelled text at their places in the text."""
        return [moved(value, *self.spelling.to_old(value.start, value.end)) for value in values]

    def at_spelled(self, values: Iterable[Value]) -> list[Value]:
        """Return values of the text at their places in the spelled text."""
        return [moved(value, *self.spelling.to_new(value.start, value.end)) for value in values]


def moved(value: Value, start: int, end: int) -> Value:
    """Return a value at another place."""
    return value if (start, end) == (value.start, value.end) else replace(value, start=start, end=end)
