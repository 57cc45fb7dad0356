"""A value of a sentence: what it is, where it stands, and how the target language writes it."""

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
