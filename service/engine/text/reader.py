"""Reads sentences in steps: each takes a draft of a sentence and returns one, or none if the draft is not for it.

A sentence that is too long is cut, and each part goes through the steps as if it stood alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from service.bundle.wrapping import Span, is_translatable, outside, without_long_words, wrap
from service.engine.cancellation import while_wanted
from service.engine.text.draft import Draft
from service.engine.text.reading import Reading
from service.engine.text.respelling import respelled
from service.engine.text.short_strings import in_small_letters, short_string
from service.engine.text.stand_in_step import with_stand_ins
from service.engine.text.tokenizer import Tokenizers
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.months import find_months
from service.engine.values.people import find_people
from service.engine.values.places import find_places
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary
from service.engine.values.unknown_words import kept_forms, unknown_words
from service.engine.values.value import Kind, Value, merged, shifted


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads texts for one pair of languages of a model; token counts include </s>."""

    tokenizers: Tokenizers
    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence
    context: bool = True  # whether a sentence that refers to the one before it is read with it
    respell: bool = True  # whether short strings and sentences in capitals are read in another spelling
    values: ValueRules | None = None  # how values are found and written; None: they are text as any other
    glossary: Glossary | None = None  # its terms are values too

    def values_of(self, text: str) -> Sequence[Value]:
        """Return the values of a text, with its unknown words and the terms of the glossary."""
        rules, glossary, knows = self.values, self.glossary, self.tokenizers.source.knows
        by_part: list[Sequence[Value]] = []
        if rules is not None:
            by_part = [find_values(text, rules), unknown_words(text, knows), kept_forms(text, rules.source)]
        return reduce(merged, by_part if glossary is None else [*by_part, glossary.find(text, self.language)], ())

    def fits(self, text: str) -> bool:
        """Return whether a text is read whole; a subword has at most some ten characters in the mean."""
        limit = self.wrap_tokens
        return len(text) <= 10 * limit and len(self.tokenizers.source.encode(text)) <= limit

    def after(self, draft: Draft | None, steps: Sequence["Step"]) -> Draft | None:
        """Return a draft after some steps; None if one of them does not take it."""
        for step in steps:
            if draft is None:
                return None
            draft = step(draft, self)
        return draft

    def reading(self, draft: Draft | None) -> Reading | None:
        """Return a draft after all steps as a reading at the beginning of a text."""
        return None if draft is None else Reading(draft, 0, self.tokenizers.source.encode(draft.read))


Step = Callable[[Draft, Reader], Draft | None]


def string_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a short string in the spelling of a sentence; None for any other text."""
    rules = reader.values
    if rules is None or any(value.kind in CUT_KINDS for value in draft.values):
        return None
    return short_string(draft, (rules.source, rules.target), reader.tokenizers.source)


def sentence_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a sentence in its usual spelling."""
    rules = reader.values
    if rules is None:
        return draft
    return respelled(draft, (rules.source, rules.target), reader.tokenizers.source) or draft


def with_names(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with its places, people and months, which are read the same whatever stands around."""
    rules, spelled = reader.values, draft.spelled
    if rules is None:
        return draft
    kinds = ([*find(spelled, rules.source, rules.target)] for find in (find_places, find_people, find_months))
    names: Sequence[Value] = reduce(merged, kinds)
    return replace(draft, values=merged(draft.values, draft.at_text(names))) if names else draft


def with_values_as_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with the values of its spelled text: `%D` is one in small letters only."""
    if not draft.spelling:
        return draft
    return with_names(replace(draft, values=draft.at_text(reader.values_of(draft.spelled))), reader)


def stood_in(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with stand-ins for its values; None if it has too many."""
    return with_stand_ins(draft, reader.tokenizers.target) if draft.values else draft


AS_IT_IS: tuple[Step, ...] = (with_names, stood_in)
AS_SPELLED: tuple[Step, ...] = (with_values_as_spelled, stood_in)
STEPS: tuple[Step, ...] = (with_names, sentence_spelled, *AS_SPELLED)
OF_STRINGS: tuple[Step, ...] = (with_names, string_spelled)  # and then AS_SPELLED


def read_string(text: str, span: Span, values: Sequence[Value], reader: Reader) -> Reading | None:
    """Return a range as a short string, perhaps with a rival in small letters; None for any other text."""
    spelled = reader.after(_draft(text, span, values), OF_STRINGS)
    string = reader.reading(reader.after(spelled, AS_SPELLED))
    if spelled is None or string is None or not _fits(string, reader) or not _is_read(string, reader):
        return None
    small = in_small_letters(spelled, reader.language, reader.tokenizers.source)
    rival = reader.reading(reader.after(small, AS_SPELLED))
    if rival is not None and _fits(rival, reader):
        string = replace(string, rivals=(rival,))
    return string.moved(span[0])


def _draft(text: str, span: Span, values: Sequence[Value]) -> Draft:
    start, end = span
    inside = tuple(shifted(value, -start) for value in values if start <= value.start and value.end <= end)
    return Draft(text[start:end], inside)


def _fits(reading: Reading, reader: Reader) -> bool:
    return len(reading.ids) <= max(reader.wrap_tokens, 2)


def _is_read(reading: Reading, reader: Reader) -> bool:
    """Return whether there is anything to translate: with values words, and else letters of the vocabulary."""
    if reading.values:
        return _has_words(reading.text, reading.values)
    return reader.tokenizers.source.knows_letters(reading.ids)


def read_sentence(
    text: str,
    span: Span,
    values: Sequence[Value],
    reader: Reader,
    steps: Sequence[Step],
    wrap_tokens: int | None = None,
) -> Iterator[Reading]:
    """Yield the sentence in a range as one reading, or as several if it has more than `wrap_tokens`.

    A part may need more tokens alone than within its sentence: it is cut again only above `max_tokens`.
    """
    whole = reader.wrap_tokens
    here = whole if wrap_tokens is None else wrap_tokens
    draft = _draft(text, span, values)
    reading = reader.reading(reader.after(draft, steps))
    if reading is not None and not reading.draft.is_spelled:
        steps = AS_IT_IS  # also for the parts: a part that begins with a small letter gets no capital
    elif reading is not None and not _is_read(reading, reader):  # in another spelling it is a name or a code
        steps = AS_IT_IS
        reading = reader.reading(reader.after(draft, steps))
    if reading is not None:
        size = len(reading.ids)
        if size <= max(here, 2) or (here < whole and size <= reader.max_tokens):
            if _is_read(reading, reader):
                yield reading.moved(span[0])
            return
    limit = max(here - 1, 1)
    blank, tokens = _without_values(draft if reading is None else reading.draft, reading, reader)
    if reading is None:
        middle = draft.values[len(draft.values) // 2]
        parts = outside(draft.text, 0, len(draft.text), [(middle.start, middle.end)])
    elif (parts := without_long_words(blank, tokens, limit)) == [(0, len(blank))]:
        parts = [part for part in wrap(blank, tokens, limit) if is_translatable(draft.text[slice(*part)])]
        here //= 2
    if here:
        for start, end in while_wanted(parts):
            part = span[0] + start, span[0] + end
            yield from read_sentence(text, part, values, reader, steps, here)


def _without_values(draft: Draft, reading: Reading | None, reader: Reader) -> tuple[str, list[Span]]:
    """Return a sentence with zeros in the places of its values, in which nothing is cut, and its tokens."""
    blank = draft.text
    for value in draft.values:
        blank = blank[: value.start] + "0" * (value.end - value.start) + blank[value.end :]
    tokens = () if reading is None else reading.source_tokens(reader.tokenizers.source)
    return blank, [(token.start, token.end) for token in tokens if token.special is None]


def _has_words(sentence: str, values: Sequence[Value]) -> bool:
    """Return whether there is anything to translate: a term, or a letter outside of values."""
    if any(value.kind in (Kind.TERM, Kind.SPOKEN_TIME, Kind.PLACE, Kind.MONTH) for value in values):
        return True
    position = 0
    for value in values:
        if any(map(str.isalpha, sentence[position : value.start])):
            return True
        position = value.end
    return any(map(str.isalpha, sentence[position:]))
