"""A value of a sentence: what it is, where it stands, and how the target language writes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of values; DIGIT_KINDS are written with digits in any language."""

    NUMBER = "number"
    TIME = "time"
    DATE = "date"
    AMOUNT = "amount"
    PHONE = "phone"
    CODE = "code"
    ADDRESS = "address"
    PLACEHOLDER = "placeholder"
    TAG = "tag"
    ENTITY = "entity"
    MENTION = "mention"
    EMOJI = "emoji"
    MARKED = "marked"
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


def shifted(value: Value, by: int) -> Value:
    """Return the value at a place that is `by` further on."""
    return replace(value, start=value.start + by, end=value.end + by)
