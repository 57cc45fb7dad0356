"""The values that a translation must hold exactly once, as tokens, and where it holds them."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MOST_VALUES = 24  # of one sentence: models lose the thread of more
MOST_FORMS = 500  # of all values of a sentence together


@dataclass(frozen=True, slots=True)
class TokenClasses:
    """The classes of a vocabulary's tokens: a bit for each token, as numpy.packbits packs it."""

    size: int
    digits: bytes  # tokens with a decimal digit
    openers: bytes  # tokens after which a value may follow without a space, such as brackets
    continuing: bytes  # tokens that continue a word


class Form(NamedTuple):
    """One way to write a value: its tokens, and whether they follow the token before them without a space."""

    tokens: tuple[int, ...]
    inside: bool


class PlacedValue(NamedTuple):
    """A value in a translation: its number, and the range of its tokens."""

    value: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class ValueConstraints:
    """The values that a translation must hold exactly once each, in the order of the source."""

    forms: tuple[tuple[Form, ...], ...]  # of each value
    whole_words: tuple[bool, ...]  # whether no letter may follow the value
    digits_reserved: bool  # whether tokens with digits may stand in values only
    classes: TokenClasses
    soft: tuple[bool, ...] = ()  # whether the tokens of a value may stand outside of it too, as those of terms do

    def is_soft(self, number: int) -> bool:
        """Return whether a value consists of ordinary words."""
        return bool(self.soft) and self.soft[number]

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return every token of every form, which a shortlist must hold."""
        return tuple(sorted({token for forms in self.forms for form in forms for token in form.tokens}))


def places_of(constraints: ValueConstraints, ids: Sequence[int]) -> tuple[PlacedValue, ...] | None:
    """Return where a translation holds each value exactly once, in the order of its tokens; None if it does not."""
    return _places_of(constraints, tuple(ids))


@functools.lru_cache(maxsize=512)  # the choice among hypotheses and the text of the translation ask the same
def _places_of(constraints: ValueConstraints, ids: tuple[int, ...]) -> tuple[PlacedValue, ...] | None:
    digits, _, _ = _token_sets(constraints.classes)
    places: dict[int, PlacedValue] = {}
    at = 0
    while at < len(ids):
        here = _values_at(constraints, ids, at)
        place = max((place for place in here if place.value not in places), key=lambda place: place.end, default=None)
        if place is not None:
            places[place.value] = place
            at = place.end
            continue
        again = any(not constraints.is_soft(place.value) for place in here)
        if again or (constraints.digits_reserved and ids[at] in digits):
            return None
        at += 1
    return tuple(places.values()) if len(places) == len(constraints.forms) else None


def _values_at(constraints: ValueConstraints, ids: tuple[int, ...], first: int) -> list[PlacedValue]:
    """Return the values one of whose forms stands at a token, in their order."""
    _, openers, continuing = _token_sets(constraints.classes)
    opened = first == 0 or ids[first - 1] in openers
    places: list[PlacedValue] = []
    for number, form in _forms_by_token(constraints).get(ids[first], ()):
        end = first + len(form.tokens)
        is_word = constraints.whole_words[number] or constraints.is_soft(number)
        continued = is_word and end < len(ids) and ids[end] in continuing
        if ids[first:end] == form.tokens and (opened or not form.inside) and not continued:
            places.append(PlacedValue(number, first, end))
    return places


@functools.lru_cache(maxsize=64)
def _forms_by_token(constraints: ValueConstraints) -> dict[int, list[tuple[int, Form]]]:
    """Return the numbers and forms of values by the first token of each form."""
    by_token: dict[int, list[tuple[int, Form]]] = {}
    for number, forms in enumerate(constraints.forms):
        for form in forms:
            by_token.setdefault(form.tokens[0], []).append((number, form))
    return by_token


@functools.lru_cache(maxsize=64)
def _token_sets(classes: TokenClasses) -> tuple[frozenset[int], ...]:
    """Return the tokens of each class: digits, openers, and those that continue a word."""
    flags = (classes.digits, classes.openers, classes.continuing)
    unpacked = (np.unpackbits(np.frombuffer(packed, np.uint8), count=classes.size) for packed in flags)
    return tuple(frozenset(row.nonzero()[0].tolist()) for row in unpacked)
