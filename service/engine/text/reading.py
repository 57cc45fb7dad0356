"""A sentence as the model reads it, and the ways back: tokens to a translation, and a translation to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from service.bundle.line_breaks import has_breaks, in_lines
from service.bundle.wrapping import Span
from service.engine.text.draft import Draft, moved
from service.engine.text.edits import Edit, Edits, letter_edits
from service.engine.text.respelling import respelled, usual_spelling
from service.engine.text.short_strings import short_string
from service.engine.text.stand_in_step import TermReading, with_stand_ins
from service.engine.text.style import PLAIN, WORD, is_within
from service.engine.text.tokenizer import DecodedText, Tokenizer, Tokenizers
from service.engine.types import Token
from service.engine.values.constraints import PlacedValue, ValueConstraints, places_of
from service.engine.values.stand_ins import LETTERS
from service.engine.values.value import DIGIT_KINDS, Kind, Value
from service.languages import language_of

FAR = 3  # ranks: a stand-in so far from its place in the order of the source was written instead of another one
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[^«»]{0,80}?(\s)»")
_ENDING = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence of a text as the model reads it."""

    draft: Draft
    start: int  # of its range in the text
    ids: tuple[int, ...]  # what the model reads, the end token last
    rivals: tuple[Reading, ...] = ()  # other readings of the same range; the likeliest translation of all is taken

    @property
    def text(self) -> str:
        """Return the text of the range."""
        return self.draft.text

    @property
    def end(self) -> int:
        """Return the end of the range."""
        return self.start + len(self.draft.text)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Return all readings of the range, each without rivals."""
        return (replace(self, rivals=()), *self.rivals) if self.rivals else (self,)

    @property
    def values(self) -> Sequence[Value]:
        """Return its values, at their places in it."""
        return self.draft.values

    @property
    def constraints(self) -> ValueConstraints | None:
        """Return what its translation must hold, if it has values."""
        return self.draft.constraints

    @property
    def has_terms(self) -> bool:
        """Return whether one of its values is a term of a glossary."""
        return any(value.kind is Kind.TERM for value in self.values)

    def moved(self, by: int) -> Reading:
        """Return the sentence at a place that is `by` further on."""
        return replace(self, start=self.start + by, rivals=tuple(rival.moved(by) for rival in self.rivals))

    def reading_terms(self, tokenizers: Tokenizers, terms: TermReading) -> Reading:
        """Return the same sentence, but the model reads something else in the places of source terms or codes."""
        if not self.values or not (self.has_terms or terms == "otherwise"):
            return self
        draft = with_stand_ins(self.draft, tokenizers.target, terms)
        return self if draft is None else replace(self, ids=tokenizers.source.encode(draft.read), draft=draft)

    def source_tokens(self, tokenizer: Tokenizer) -> tuple[Token, ...]:
        """Return the tokens that the model reads, located in the whole text; those of a stand-in span its value."""
        if not self.draft.edits:
            return tokenizer.tokens(self.text, self.start)
        return self.draft.edits.tokens_of_old(tokenizer.tokens(self.draft.read), self.text, self.start)

    def translated(self, ids: Sequence[int], tokenizer: Tokenizer) -> str:
        """Return the text of a translation: that of `locate`."""
        is_plain = self.draft.is_plain and not has_breaks(self.text)
        return tokenizer.decode(ids) if is_plain else self.locate(ids, tokenizer).text

    def locate(self, ids: Sequence[int], tokenizer: Tokenizer, shift: int = 0) -> DecodedText:
        """Return the text of a translation and the range of each token; `shift` is added to every span."""
        style, lines = self.draft.style, has_breaks(self.text)
        offset = 0 if lines else shift
        begin = offset if style is PLAIN else 0
        decoded = self._with_values(ids, tokenizer, begin) if self.values else tokenizer.locate(ids, begin)
        if style.small_in:
            decoded = _begun_small(decoded, tokenizer, style.small_in)
        decoded = decoded if style is PLAIN else style.write(decoded, offset)
        if not lines:
            return decoded
        breaks = Edits(Edit(*span, new) for span, new in in_lines(decoded.text, self.text))
        text = breaks.edited(decoded.text)
        return DecodedText(text, breaks.tokens_of_new(decoded.tokens, text, shift))

    def _with_values(self, ids: Sequence[int], tokenizer: Tokenizer, shift: int) -> DecodedText:
        """Return a translation with its values; the tokens of a stand-in span its value."""
        decoded = tokenizer.locate(ids)
        edits: list[Edit] = []
        kept: list[Span] = []
        for place in self._places(ids) or ():
            start, end = decoded.tokens[place.first].start, decoded.tokens[place.end - 1].end
            value = self.values[place.value]
            edits.append(Edit(start, end, written_form(value, decoded.text[start:end], start == 0)))
            quoted = _QUOTED.match(decoded.text, end) if decoded.text[start - 1 : start] == "«" else None
            if quoted is not None:  # the blanks within quotation marks are alike
                edits.append(Edit(start, start, quoted[1]))
            ending = _ENDING.match(decoded.text, end)
            if ending is not None and ending[0] in value.endings:  # "21th"
                edits.append(Edit(*ending.span(), value.endings[0]))
            if not value.is_soft and value.kind not in DIGIT_KINDS and not self.draft.is_respelled(value):
                kept.append((start, end))
        placed = Edits(edit for edit in edits if edit.new != decoded.text[edit.start : edit.end])
        text = placed.edited(decoded.text)
        spans = tuple(placed.to_new(*span) for span in kept)
        return DecodedText(text, placed.tokens_of_new(decoded.tokens, text, shift), spans)

    def read_target(self, text: str, tokenizer: Tokenizer, languages: tuple[str, str]) -> DecodedText:
        """Return a given translation of the text, in the tokens that the tokenizer makes of what the model would write.

        That has stand-ins where this sentence has them, and small letters in the place of capitals. `languages` are
        those of the source and of the translation. Tokens are located in `text`.
        """
        style = self.draft.style
        given = Draft(text, tuple(value for _, value in self._held_in(text)))
        if style.capitals or style.mark or style.tail:
            read_as = short_string if style.mark or style.tail else respelled
            given = read_as(given, languages[::-1], tokenizer) or given
        spelling, spelled = given.spelling, given.spelled
        low = spelled[:1].lower()
        if style.capital and self.draft.read[:1].islower() and len(low) == 1 and low != spelled[:1]:
            spelling = spelling.over([Edit(*spelling.to_old(0, 1), low)])
            spelled = spelling.edited(text)
        words = (
            Edit(*spelling.to_old(value.start, value.end), word)
            for number, value in self._held_in(spelled)
            if not value.is_soft and (word := self.draft.stand_ins[number]) is not None
        )
        edits = spelling.over(words)
        return DecodedText(text, edits.tokens_of_old(tokenizer.tokens(edits.edited(text)), text))

    def _held_in(self, translation: str) -> list[tuple[int, Value]]:
        """Return the values that a given translation holds, at their places in it, and their numbers."""
        held: list[tuple[int, Value]] = []
        for number, value in enumerate(self.values):
            for written in dict.fromkeys((value.written, value.text, *value.others)):
                start = _word_at(translation, written, [span for _, span in held])
                if start is not None:
                    held.append((number, replace(moved(value, start, start + len(written)), text=written)))
                    break
        return held

    def value_spans(self, ids: Sequence[int], tokens: Sequence[Token]) -> tuple[tuple[Span, Span], ...]:
        """Return the range of each value in the whole text and in a translation with these located tokens."""
        places = self._places(ids) or ()
        sources = [(value.start + self.start, value.end + self.start) for value in self.values] if places else []
        return tuple((sources[at.value], (tokens[at.first].start, tokens[at.end - 1].end)) for at in places)

    def _places(self, ids: Sequence[int]) -> Sequence[PlacedValue] | None:
        """Return where a translation holds the values; None if it does not hold each of them exactly once."""
        constraints = self.draft.constraints
        return () if constraints is None else places_of(constraints, ids)

    def keeps_values(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation holds every value exactly once, and nothing that was made of a stand-in."""
        places = self._places(ids)
        return places is not None and not self._is_garbled(ids, places, tokenizer)

    def _is_garbled(self, ids: Sequence[int], places: Sequence[PlacedValue], tokenizer: Tokenizer) -> bool:
        """Return whether a translation has words that were made of stand-ins, or stand-ins far from their places."""
        words = [(word or "").strip("]()") for word in self.draft.stand_ins]  # those of links stand in brackets
        marks = {word for word in words if word in LETTERS}
        pairs = zip(self.values, words, strict=True)
        codes = [word in marks or value.kind is Kind.CODE for value, word in pairs]
        if not any(codes):
            return False
        order = [place.value for place in places if codes[place.value]]
        ranks = sorted(order)
        if any(abs(ranks.index(value) - rank) >= FAR for rank, value in enumerate(order)):
            return True
        decoded = tokenizer.locate(ids)
        taken = {number for place in places for number in range(place.first, place.end)}
        rest = _without(
            decoded.text, [(token.start, token.end) for n, token in enumerate(decoded.tokens) if n in taken]
        )
        letters = {mark[1] for mark in marks}
        spelled = self.draft.spelled
        source_rest = _without(spelled, [(value.start, value.end) for value in self.draft.at_spelled(self.values)])
        has_initials = any(map(_is_initials, _WORD.findall(source_rest)))  # "NATO" may become "OTAN"
        return any(
            word not in spelled
            and (
                not letters.isdisjoint(word[1:])
                or any(mark in word for mark in marks)
                or (_is_initials(word) and not has_initials)
            )
            for word in _WORD.findall(rest)
        )


def _begun_small(decoded: DecodedText, tokenizer: Tokenizer, language: str) -> DecodedText:
    """Return a translation whose first word has no capital, unless its language writes the word so everywhere."""
    text = decoded.text
    word = WORD.match(text)
    if word is None or not (word[0].istitle() or len(word[0]) == 1) or is_within(0, decoded.values):
        return decoded
    if text[word.end() + 1 : word.end() + 2].isupper() and not language_of(language).capitals.nouns:
        return decoded  # a name of several words
    small = word[0].lower() + text[word.end() :]
    usual = (
        usual_spelling(small, [word.span()], tokenizer, language, sentence=False) if len(small) == len(text) else text
    )
    edits = Edits(letter_edits(word[0], usual[: word.end()]))
    written = edits.edited(text)
    return DecodedText(written, edits.tokens_of_new(decoded.tokens, written), decoded.values)


def _without(text: str, spans: Iterable[Span]) -> str:
    """Return a text with a blank in the place of each range."""
    return Edits(Edit(start, end, " ") for start, end in spans).edited(text)


def _is_initials(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def written_form(value: Value, spelled: str, begins: bool) -> str:
    """Return a value as a translation holds it, where the search, or the text, has `spelled`; `begins` a sentence."""
    if not value.is_soft:
        return value.written
    forms = (value.written, *value.others)
    read = zip(value.stand_in[1:] or forms, forms, strict=False)  # a stand-in has as many forms as what it stands for
    form = next((form for written, form in read if written.casefold() == spelled.casefold()), value.written)
    capital = spelled[:1].isupper() or (value.start == 0 and value.text[:1].isupper())
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
