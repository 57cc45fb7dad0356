"""Reads texts: cuts them into sentences that the model takes, each of which goes through the steps of a reading.

A text is searched for values once and split once. Each sentence is then a draft that goes through STEPS. A sentence
that is too long is cut, and each part goes through the steps as if it stood alone. The functions have no side effects
and read no clock.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from service.bundle.wrapping import Span, is_translatable, outside, trimmed, without_long_words, wrap
from service.engine.cancellation import while_wanted
from service.engine.text.draft import Draft
from service.engine.text.reading import Reading
from service.engine.text.respelling import may_be_respelled
from service.engine.text.segmenter import list_marker, parts_of, sentences_of
from service.engine.text.short_strings import in_small_letters, is_short
from service.engine.text.steps import AS_IT_IS, AS_SPELLED, OF_STRINGS, STEPS, Reader, SegmentationOptions, Step
from service.engine.text.tokenizer import Tokenizers, check_text
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.value import Kind, Value, shifted, within


def segment_text(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> list[Reading]:
    """Return the sentences of a text, of at most `max_tokens` each; raise InvalidText for lone surrogates."""
    check_text(text)
    reader = Reader(tokenizers, segmentation)
    rules = segmentation.values if segmentation.respell else None
    values = reader.values_of(text)
    steps = STEPS if rules is not None and may_be_respelled(text, rules.source) else AS_IT_IS
    parts = parts_of(text, values) if segmentation.split else trimmed(text, list_marker(text), len(text))
    result: list[Reading] = []
    for part in while_wanted(parts):
        own = within(values, *part) if segmentation.split else values
        may_be_string = rules is not None and is_short(text, part, alone=len(parts) == 1)
        string = _string(text, part, own, reader) if may_be_string else None
        if string is not None:
            result.append(string)
            continue
        if segmentation.split:
            sentences = sentences_of(text, part, segmentation.language, own or None)
        else:
            sentences = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
        for sentence in while_wanted(sentences):
            result += _fitting(text, sentence, within(own, *sentence), reader, steps)
    return result


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
    inside = tuple(shifted(value, -start) for value in values if start <= value.start and value.end <= end)
    return Draft(text[start:end], inside)


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
