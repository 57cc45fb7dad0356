"""A sentence with values as the model reads it, and its translation with the values in their places."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from service.bundle.wrapping import Span
from service.engine.text.replacements import inverse, moved, replaced
from service.engine.text.tokenizer import Decoded, Tokenizer
from service.engine.types import Token
from service.engine.values.constraints import MOST_FORMS, MOST_VALUES, Form, ValueConstraints
from service.engine.values.stand_ins import LETTERS, is_number_like, stand_ins
from service.engine.values.states import places_of
from service.engine.values.value import DIGIT_KINDS, Kind, Value

# What the model reads in the place of a term; or every short code itself, instead of its stand-in.
TermReading = Literal["source", "target", "stand-in", "codes"]
MOST_OWN_TOKENS = 12  # the model writes no longer value itself
_END = re.compile(r"(?:[^\W\d_]{3}\.|[!?…])\s|[.!?…]\s?$")
_WORD = re.compile(r"\w+")
FAR = 3  # ranks: a stand-in so far from its place in the order of the source was written instead of another one
_OPENING = "("  # what follows it has no space before it


@dataclass(frozen=True, slots=True)
class ValuedSentence:
    """A sentence with values, as the model reads it; places of values are in the sentence."""

    text: str
    values: tuple[Value, ...]
    read: str  # what the model reads: the text with stand-ins
    stand_ins: tuple[str | None, ...]  # None: the model reads and writes the value itself
    constraints: ValueConstraints

    def source_tokens(self, tokenizer: Tokenizer, shift: int = 0) -> tuple[Token, ...]:
        """Return the located tokens that the model reads; those of a stand-in span its value."""
        parts = [(value, word) for value, word in zip(self.values, self.stand_ins, strict=True) if word is not None]
        _, replacements = replaced(self.text, [((value.start, value.end), word) for value, word in parts])
        return moved(tokenizer.tokens(self.read), inverse(replacements), self.text, shift)

    def locate(self, ids: Sequence[int], tokenizer: Tokenizer, shift: int = 0) -> Decoded:
        """Return the translation with its values, and the range of each token; those of a stand-in span its value."""
        decoded = tokenizer.locate(ids)
        parts: list[tuple[Span, str]] = []
        values: list[Span] = []
        longer = 0  # than what the model wrote
        for place in places_of(self.constraints, ids, tokenizer.eos) or ():
            start, end = decoded.tokens[place.first].start, decoded.tokens[place.end - 1].end
            own, value = decoded.text[start:end], self.values[place.value]
            written = _written(value, own, start == 0)
            if not value.is_soft:
                values.append((start + longer, start + longer + len(written)))
            if own != written:
                parts.append(((start, end), written))
                longer += len(written) - len(own)
        text, replacements = replaced(decoded.text, parts)
        return Decoded(text, moved(decoded.tokens, replacements, text, shift), tuple(values))

    def held_in(self, translation: str) -> dict[int, Value]:
        """Return the values that a given translation holds, at their places in it, by their numbers."""
        held: dict[int, Value] = {}
        for number, value in enumerate(self.values):
            for written in dict.fromkeys((value.written, value.text, *value.others)):
                start = _word_at(translation, written, [*held.values()])
                if start is not None:
                    held[number] = replace(value, start=start, end=start + len(written), text=written)
                    break
        return held

    def target_tokens(self, translation: str, tokenizer: Tokenizer) -> tuple[Token, ...]:
        """Return the tokens of a given translation, with this sentence's stand-ins in the places of its values."""
        held = sorted(self.held_in(translation).items(), key=lambda item: item[1].start)
        words = ((value, None if value.is_soft else self.stand_ins[number]) for number, value in held)
        parts = [((value.start, value.end), word) for value, word in words if word is not None]
        read, replacements = replaced(translation, parts)
        return moved(tokenizer.tokens(read), inverse(replacements), translation)

    @property
    def has_terms(self) -> bool:
        """Return whether one of its values is a term of a glossary."""
        return any(value.kind is Kind.TERM for value in self.values)

    def holds_all(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation holds every value exactly once."""
        return places_of(self.constraints, ids, tokenizer.eos) is not None

    def is_well_placed(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation holds every value in a likely place, and no remains of a stand-in."""
        places = places_of(self.constraints, ids, tokenizer.eos)
        if places is None or self.is_garbled(ids, tokenizer):
            return False
        decoded = tokenizer.locate(ids)  # no value stands after the end that is not there in the source
        return not any(
            _ends(decoded.text[: decoded.tokens[place.first].start])
            > _ends(self.text[: self.values[place.value].start])
            for place in places
        )

    def is_garbled(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation has words that were made of stand-ins, or stand-ins far from their places."""
        marks = {word for word in self.stand_ins if word in LETTERS}
        pairs = zip(self.values, self.stand_ins, strict=True)
        codes = [word in marks or value.kind is Kind.CODE for value, word in pairs]
        places = places_of(self.constraints, ids, tokenizer.eos)
        if places is None or not any(codes):
            return False
        order = [place.value for place in places if codes[place.value]]
        ranks = sorted(order)
        if any(abs(ranks.index(value) - rank) >= FAR for rank, value in enumerate(order)):
            return True
        decoded = tokenizer.locate(ids)
        taken = {number for place in places for number in range(place.first, place.end)}
        spans = [(token.start, token.end) for number, token in enumerate(decoded.tokens) if number in taken]
        rest, _ = replaced(decoded.text, [(span, " ") for span in spans])
        letters = {mark[1] for mark in marks}
        own, _ = replaced(self.text, [((value.start, value.end), " ") for value in self.values])
        has_initials = any(map(_is_initials, _WORD.findall(own)))  # "NATO" may become "OTAN"
        return any(
            word not in self.text
            and (
                not letters.isdisjoint(word[1:])
                or any(mark in word for mark in marks)
                or (_is_initials(word) and not has_initials)
            )
            for word in _WORD.findall(rest)
        )


def valued_sentence(
    text: str, values: Sequence[Value], target: Tokenizer, terms: TermReading = "source"
) -> ValuedSentence | None:
    """Return a sentence with its values, whose places are in it; None if it has too many of them, or of their forms.

    `terms`: whether the model reads the source terms, or in their places the target terms or words that it copies.
    "codes": it reads short codes themselves.
    """
    if len(values) > MOST_VALUES or (len(values) > 1 and sum(len(value.forms) for value in values) > MOST_FORMS):
        return None
    needed = [terms == "stand-in" if value.kind is Kind.TERM else _needs_stand_in(value, target) for value in values]
    if terms == "codes":
        own = [value.kind is Kind.CODE and _is_short(value, target) for value in values]
        needed = [need and not may for need, may in zip(needed, own, strict=True)]
    words = stand_ins(text, values, needed)
    if words is None:
        return None
    if terms != "stand-in":  # for a term of several words, the model would also write some of its own
        words = tuple(
            value.written if value.kind is Kind.TERM and (terms == "target" or " " in value.text) else word
            for value, word in zip(values, words, strict=True)
        )
    parts = [((value.start, value.end), word) for value, word in zip(values, words, strict=True) if word is not None]
    read, _ = replaced(text, parts)
    soft = [value.is_soft and not (value.kind is Kind.TERM and terms == "stand-in") for value in values]
    forms = tuple(
        _term_forms(text, value, target)
        if is_soft
        else _forms(word or value.written, value.start > 0 and not text[value.start - 1].isspace(), target)
        for value, word, is_soft in zip(values, words, soft, strict=True)
    )
    constraints = ValueConstraints(
        forms=forms,
        whole_words=tuple(not _may_continue(text, value) for value in values),
        digits_reserved=any(map(is_number_like, values)),
        soft=tuple(soft),
        classes=target.classes,
    )
    return ValuedSentence(text, tuple(values), read, words, constraints)


def _is_initials(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _written(value: Value, own: str, begins: bool) -> str:
    """Return a value as a translation holds it, where the search wrote `own`."""
    if not value.is_soft:
        return value.written
    form = next((each for each in (value.written, *value.others) if each.casefold() == own.casefold()), value.written)
    capital = own[:1].isupper() or (value.start == 0 and value.text[:1].isupper())
    return form[:1].upper() + form[1:] if begins and capital else form


def _word_at(text: str, word: str, taken: Sequence[Value]) -> int | None:
    """Return where a text has a word that is no part of a longer one and not one of the values."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        apart = not (start and text[start - 1].isalnum() and word[:1].isalnum())
        apart = apart and not (text[end : end + 1].isalnum() and word[-1:].isalnum())
        if apart and not any(value.start < end and start < value.end for value in taken):
            return start
        start = text.find(word, start + 1)
    return None


def _ends(text: str) -> int:
    """Return how many sentences end in a text: at a stop after a word that is no abbreviation, or at its end."""
    return len(_END.findall(text))


def _may_continue(text: str, value: Value) -> bool:
    """Return whether letters may follow a value: the endings of ordinals and decades, and units without a space.

    The source says so, except that 1 becomes "1er" in French without being asked.
    """
    if not is_number_like(value) or value.written[-1:].isalpha():
        return False
    following = text[value.end : value.end + 2]
    ordinal = following[:1] == "." and following[1:].isspace()  # "5. Mai"
    return value.written == "1" or ordinal or following[:1].isalnum() or following[:1] in ("-", "'", "’")


def _needs_stand_in(value: Value, target: Tokenizer) -> bool:
    # Figures such as 3:16 that are no time look like one: a model that reads them writes "Uhr" behind them.
    like_a_time = value.kind is Kind.NUMBER and ":" in value.text
    return like_a_time or bool(value.stand_in) or value.kind not in DIGIT_KINDS or not _is_short(value, target)


def _is_short(value: Value, target: Tokenizer) -> bool:
    """Return whether the model can write a value itself: a few whole pieces, the first of them visible."""
    tokens = target.word(value.written)
    return len(tokens) <= MOST_OWN_TOKENS and target.writes_plainly(tokens)


def _term_forms(text: str, value: Value, target: Tokenizer) -> tuple[Form, ...]:
    """Return the tokens of every form of a term, which may follow an apostrophe and may begin a sentence."""
    written = dict.fromkeys(value.forms)
    if text[:1].isupper() or value.text[:1].isupper():
        written |= dict.fromkeys(each[:1].upper() + each[1:] for each in written)
    return tuple(dict.fromkeys(form for each in written for form in _forms(each, True, target)))


def _forms(written: str, inside: bool, target: Tokenizer) -> tuple[Form, ...]:
    """Return the tokens of a value at the start of a word, and within one if the source has it there."""
    forms = [Form(target.word(written), False)]
    if inside:
        before, both = target.word(_OPENING), target.word(_OPENING + written)
        if both[: len(before)] == before:
            forms.append(Form(both[len(before) :], True))
    return tuple(forms)
