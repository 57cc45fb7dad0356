"""A value of a sentence: what it is, where it stands, and how the target language writes it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of values; DIGIT_KINDS are written with digits in any language."""

    NUMBER = "number"
    TIME = "time"
    SPOKEN_TIME = "spoken_time"
    DATE = "date"
    AMOUNT = "amount"
    PHONE = "phone"
    CODE = "code"
    WORD = "word"  # with letters that the vocabulary lacks
    ADDRESS = "address"
    PLACEHOLDER = "placeholder"
    TAG = "tag"
    ENTITY = "entity"
    MENTION = "mention"
    EMOJI = "emoji"
    MARKED = "marked"
    PLACE = "place"
    PERSON = "person"
    MONTH = "month"
    TERM = "term"


DIGIT_KINDS = frozenset({Kind.NUMBER, Kind.TIME, Kind.DATE})
"""The model reads and writes these itself; it reads a stand-in for every other kind."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a text."""

    kind: Kind
    start: int
    end: int
    text: str  # exactly text[start:end]
    written: str  # as the target language writes it
    others: tuple[str, ...] = ()  # further forms that may be written in its place
    stand_in: tuple[str, ...] = ()  # what the model reads in its place, and the forms in which it writes that
    endings: tuple[str, ...] = ()  # that may follow figures as an ordinal, the right one first

    @property
    def is_soft(self) -> bool:
        """Return whether the model writes ordinary words for it, which may stand elsewhere too."""
        return self.kind is Kind.TERM or bool(self.stand_in)

    @property
    def forms(self) -> tuple[str, ...]:
        """Return what the model may write for it."""
        return self.stand_in[1:] or (self.written, *self.others)


def shifted(value: Value, by: int) -> Value:
    """Return the value at a place that is `by` further on."""
    return replace(value, start=value.start + by, end=value.end + by)


def within(values: Sequence[Value], start: int, end: int) -> Sequence[Value]:
    """Return the values that begin in a range."""
    return values[bisect_left(values, start, key=_start) : bisect_left(values, end, key=_start)]


def _start(value: Value) -> int:
    return value.start


def merged(values: Sequence[Value], others: Sequence[Value]) -> tuple[Value, ...]:
    """Return values in order; one of the others wins over numbers, places and unknown words in it, and no more."""
    if not others:
        return tuple(values)
    kept: list[Value] = []
    position = 0
    for candidate in others:
        first = bisect_right(values, candidate.start, position, key=lambda value: value.end)
        last = bisect_left(values, candidate.end, first, key=lambda value: value.start)
        inner = values[first:last]
        kept += values[position:first]
        weaker = all(value.kind in (Kind.NUMBER, Kind.PLACE, Kind.WORD) for value in inner)
        if weaker and all(candidate.start <= value.start and value.end <= candidate.end for value in inner):
            kept.append(candidate)
            position = last
        else:
            position = first
    return tuple(sorted([*kept, *values[position:]], key=lambda value: value.start))
