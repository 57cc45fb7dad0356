"""Reads texts: cuts them into sentences that the model takes, and applies the steps of a reading to each.

A text is searched for values once and split once. Each sentence is then a draft that goes through STEPS: its usual
spelling, the values of that spelling, its places, and the stand-ins that the model reads for values. A sentence that
is too long is cut, and each part goes through the steps as if it stood alone. The functions have no side effects and
read no clock.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.bundle.wrapping import Span, is_translatable, outside, trimmed, without_long_words, wrap
from service.engine.cancellation import while_wanted
from service.engine.text.draft import Draft
from service.engine.text.line_parts import trailing_tags
from service.engine.text.reading import Reading
from service.engine.text.respelling import may_be_respelled, respelled
from service.engine.text.segmenter import between_parts, list_marker, split_sentences
from service.engine.text.short_strings import in_small_letters, is_short_line, may_be_short, short_string
from service.engine.text.stand_in_step import with_stand_ins
from service.engine.text.tokenizer import Tokenizers, check_text
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.months import find_months
from service.engine.values.people import find_people
from service.engine.values.places import find_places
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary, with_terms
from service.engine.values.unknown_words import kept_forms, unknown_words
from service.engine.values.value import Kind, Value, shifted


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """The options of segmentation; token counts include </s>."""

    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence
    respell: bool = True  # whether short strings and sentences in capitals are read in another spelling
    values: ValueRules | None = None  # how values are found and written; None: they are text as any other
    glossary: Glossary | None = None  # its terms are values too


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads texts for one pair of languages of a model."""

    tokenizers: Tokenizers
    options: SegmentationOptions

    def values_of(self, text: str) -> Sequence[Value]:
        """Return the values of a text, with its unknown words and the terms of the glossary."""
        rules, glossary = self.options.values, self.options.glossary
        values: Sequence[Value] = ()
        if rules is not None:
            values = with_terms(find_values(text, rules), unknown_words(text, self.tokenizers.source.knows))
            values = with_terms(values, kept_forms(text, rules.source))
        return values if glossary is None else with_terms(values, glossary.find(text, self.options.language))

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
    rules = reader.options.values
    if rules is None or any(value.kind in CUT_KINDS for value in draft.values):
        return None
    return short_string(draft, (rules.source, rules.target), reader.tokenizers.source)


def sentence_spelled(draft: Draft, reader: Reader) -> Draft | None:
    """Return a sentence in its usual spelling."""
    rules = reader.options.values
    if rules is None:
        return draft
    return respelled(draft, (rules.source, rules.target), reader.tokenizers.source) or draft


def with_names(draft: Draft, reader: Reader) -> Draft | None:
    """Return a draft with its places, people and months, which are read the same whatever stands around."""
    rules, spelled = reader.options.values, draft.spelled
    if rules is None:
        return draft
    people = [*find_people(spelled, rules.source, rules.target)]
    names = with_terms([*find_places(spelled, rules.source, rules.target)], people)
    names = with_terms(names, [*find_months(spelled, rules.source, rules.target)])
    return replace(draft, values=with_terms(draft.values, draft.at_text(names))) if names else draft


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


def segment_text(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> list[Reading]:
    """Return the sentences of a text, of at most `max_tokens` each; raise InvalidText for lone surrogates."""
    check_text(text)
    reader = Reader(tokenizers, segmentation)
    rules = segmentation.values if segmentation.respell else None
    values = reader.values_of(text)
    in_parts = segmentation.split and may_be_short(text) and between_parts(text, (0, len(text)), values)
    if rules is not None and may_be_short(text) and not in_parts:
        tags = trailing_tags(text, 0, len(text), values)
        whole = trimmed(text, list_marker(text), tags[0][0] if tags else len(text))
        if whole and (string := _string(text, whole[0], values, reader)):
            return [string]
    steps = STEPS if rules is not None and may_be_respelled(text, rules.source) else AS_IT_IS
    if segmentation.split:
        spans = split_sentences(text, segmentation.language, values or None)
    else:
        spans = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
    readings: list[Reading] = []
    first = 0
    for start, end in while_wanted(spans):
        while first < len(values) and values[first].start < start:
            first += 1
        last = first
        while last < len(values) and values[last].end <= end:
            last += 1
        own = values[first:last]
        is_line = rules is not None and is_short_line(text, start, end)
        line = _string(text, (start, end), own, reader) if is_line else None
        readings += [line] if line else _fitting(text, (start, end), own, reader, steps)
    return readings


def readings(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> Iterator[Reading]:
    """Yield what a model may read of a whole text as one sentence: first what a translation reads, at last the text.

    A part of a longer text may be read in other ways than the same text alone.
    """
    whole = replace(segmentation, split=False, wrap_tokens=segmentation.max_tokens)
    for options in (whole, replace(whole, respell=False)):
        sentences = segment_text(text, tokenizers, options)
        if len(sentences) == 1:
            yield sentences[0]
    reader = Reader(tokenizers, whole)
    values = reader.values_of(text)
    if values:  # what is cut off at the ends of a text stands within a part
        parts = [*_fitting(text, (0, len(text)), values, reader, AS_IT_IS)]
        if len(parts) == 1:
            yield parts[0]
    yield Reading(Draft(text), 0, tokenizers.source.encode(text))


def cut_at_values(
    sentence: Reading, tokenizers: Tokenizers, segmentation: SegmentationOptions
) -> list[tuple[Reading, str | None]]:
    """Return the parts of a sentence between its values, which are copied, with None, and its terms, translated."""
    reader, encode = Reader(tokenizers, segmentation), tokenizers.source.encode
    copied = ((value.start, value.end) for value in sentence.values)
    parts: list[tuple[Reading, str | None]] = [
        (part, None)
        for span in outside(sentence.text, 0, len(sentence.text), copied)
        for part in _fitting(sentence.text, span, (), reader, ())
    ]
    terms = (value for value in sentence.values if value.is_soft)
    parts += [(Reading(Draft(term.text), term.start, encode(term.text)), term.written) for term in terms]
    parts.sort(key=lambda part: part[0].start)
    return [(part.moved(sentence.start), written) for part, written in parts]


def _string(text: str, span: Span, values: Sequence[Value], reader: Reader) -> Reading | None:
    """Return a range as a short string, perhaps with a rival in small letters; None for any other text."""
    spelled = reader.after(_draft(text, span, values), OF_STRINGS)
    string = reader.reading(reader.after(spelled, AS_SPELLED))
    if spelled is None or string is None or not _fits(string, reader) or not _is_read(string, reader):
        return None
    small = in_small_letters(spelled, reader.options.language, reader.tokenizers.source)
    rival = reader.reading(reader.after(small, AS_SPELLED))
    if rival is not None and _fits(rival, reader):
        string = replace(string, rivals=(rival,))
    return string.moved(span[0])


def _draft(text: str, span: Span, values: Sequence[Value]) -> Draft:
    start, end = span
    within = tuple(shifted(value, -start) for value in values if start <= value.start and value.end <= end)
    return Draft(text[start:end], within)


def _fits(reading: Reading, reader: Reader) -> bool:
    return len(reading.ids) <= max(reader.options.wrap_tokens, 2)


def _is_read(reading: Reading, reader: Reader) -> bool:
    """Return whether there is anything to translate: with values words, and else letters of the vocabulary."""
    if reading.values:
        return _has_words(reading.text, reading.values)
    return reader.tokenizers.source.knows_letters(reading.ids)


def _fitting(
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
    whole = reader.options.wrap_tokens
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
        if size <= max(here, 2) or (here < whole and size <= reader.options.max_tokens):
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
            yield from _fitting(text, part, values, reader, steps, here)


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
