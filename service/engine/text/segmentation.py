"""Cuts texts into segments that the model takes, at sentences, values and limits of length.

The functions have no side effects and read no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from service.bundle.wrapping import Segment, Span, cut_sentence, outside, trimmed, whole_text, wrap
from service.engine.text.respelling import may_be_respelled, respelled
from service.engine.text.segmented_text import SegmentedText
from service.engine.text.segmenter import list_marker, split_sentences
from service.engine.text.short_strings import ShortString, may_be_short, short_string
from service.engine.text.tokenizer import Tokenizer, Tokenizers, check_text
from service.engine.text.valued_sentence import ValuedSentence, valued_sentence
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary, with_terms
from service.engine.values.value import Kind, Value, shifted


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """The options of segmentation; token counts include </s>."""

    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence
    values: ValueRules | None = None  # how values are found and written; None: they are text as any other
    glossary: Glossary | None = None  # its terms are values too


def _in_text(segmented: SegmentedText, number: int) -> Sequence[Value]:
    """Return the values of a segment, at their places in it."""
    values, short = segmented.valued[number].values, segmented.short.get(number)
    if short is None:
        return values
    spans = [short.span(value.start, value.end) for value in values]
    return [replace(value, start=start, end=end) for value, (start, end) in zip(values, spans, strict=True)]


def segment_text(
    text: str, tokenizer: Tokenizer, segmentation: SegmentationOptions, target: Tokenizer | None = None
) -> SegmentedText:
    """Return a text with its segments of at most `max_tokens`; raise InvalidText for lone surrogates.

    `target` is the tokenizer of the other side, if that is another one.
    """
    check_text(text)
    tokenizers = Tokenizers(tokenizer, target or tokenizer)
    rules = segmentation.values
    if rules is not None and may_be_short(text):
        short = _read_otherwise(short_string, text, tokenizers, segmentation, rules)
        if short is not None:
            return short
    if rules is not None and may_be_respelled(text):
        return _respelled(text, tokenizers, segmentation, rules)
    return _segmented(text, tokenizers, segmentation)


def _respelled(
    text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions, rules: ValueRules
) -> SegmentedText:
    """Return a text of which some sentences are read in another spelling: those in capitals, for example."""
    values = _values(text, segmentation)
    spans = split_sentences(text, segmentation.language, values) if segmentation.split else whole_text(text)
    alone = replace(segmentation, split=False)
    parts: list[Span] = []
    found = False
    for start, end in spans:
        spelled = respelled(text[start:end], (rules.source, rules.target), tokenizers.source)
        if spelled is None:
            parts.append((start, end))
            continue
        found = True
        read = _segmented(spelled.read, tokenizers, alone)
        within = (spelled.span(*span) for span in read.spans)
        parts += [(start + begin, start + finish) for begin, finish in within]
    if not found:
        return _segmented(text, tokenizers, segmentation)
    segments: list[Segment] = []
    valued: dict[int, ValuedSentence] = {}
    short: dict[int, ShortString] = {}
    for start, end in parts:
        own = text[start:end]
        part = _read_otherwise(respelled, own, tokenizers, alone, rules) or _segmented(own, tokenizers, alone)
        valued |= {len(segments) + number: sentence for number, sentence in part.valued.items()}
        short |= {len(segments) + number: string for number, string in part.short.items()}
        segments += [Segment(each.start + start, each.end + start, each.ids) for each in part.segments]
    return SegmentedText(text, tuple(segments), valued, short)


def _segmented(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> SegmentedText:
    values = _values(text, segmentation)
    if values:
        return _with_values(text, values, tokenizers, segmentation)
    spans = split_sentences(text, segmentation.language) if segmentation.split else whole_text(text)
    segments = [
        segment
        for span in spans
        for segment in cut_sentence(text, span, tokenizers.source, segmentation.wrap_tokens, segmentation.max_tokens)
    ]
    return SegmentedText(text, tuple(segments))


def _values(text: str, segmentation: SegmentationOptions) -> Sequence[Value]:
    values = () if segmentation.values is None else find_values(text, segmentation.values)
    if segmentation.glossary is not None:
        return with_terms(values, segmentation.glossary.find(text, segmentation.language))
    return values


def _read_otherwise(
    read_as: Callable[..., ShortString | None],
    text: str,
    tokenizers: Tokenizers,
    segmentation: SegmentationOptions,
    rules: ValueRules,
) -> SegmentedText | None:
    """Return a text that the model reads in another form as one segment; None for any other text."""
    start = list_marker(text)
    spans = trimmed(text, start, len(text))
    if not spans:
        return None
    [(start, end)] = spans
    string = text[start:end]
    short = read_as(string, (rules.source, rules.target), tokenizers.source, _values(string, segmentation))
    if short is None:
        return None
    read = _segmented(short.read, tokenizers, replace(segmentation, split=False))
    if read.spans != [(0, len(short.read))]:
        return None
    return SegmentedText(text, (Segment(start, end, read.segments[0].ids),), read.valued, {0: short})


def _with_values(
    text: str, values: Sequence[Value], tokenizers: Tokenizers, segmentation: SegmentationOptions
) -> SegmentedText:
    """Return a text with values and its segments; a segment of values alone is copied."""
    if segmentation.split:
        spans = split_sentences(text, segmentation.language, values)
    else:
        spans = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
    segments: list[Segment] = []
    valued: dict[int, ValuedSentence] = {}
    limits = segmentation.wrap_tokens, segmentation.wrap_tokens
    first = 0
    for start, end in spans:
        while first < len(values) and values[first].start < start:
            first += 1
        last = first
        while last < len(values) and values[last].end <= end:
            last += 1
        own = values[first:last]
        if not own:
            segments.extend(
                cut_sentence(text, (start, end), tokenizers.source, segmentation.wrap_tokens, segmentation.max_tokens)
            )
            continue
        for segment, sentence in _valued_segments(
            (text, own), (start, end), tokenizers, limits, segmentation.max_tokens
        ):
            if sentence is not None:
                valued[len(segments)] = sentence
            segments.append(segment)
    return SegmentedText(text, tuple(segments), valued)


def cut_at_values(
    segmented: SegmentedText, numbers: Collection[int], tokenizer: Tokenizer, segmentation: SegmentationOptions
) -> tuple[SegmentedText, list[int | str | None]]:
    """Return the text with some of its segments cut at their values, which are copied then.

    Also return for each segment of the result its number before, or None if it is a part of one that was cut, or its
    translation if it is a term.
    """
    segments: list[Segment] = []
    valued: dict[int, ValuedSentence] = {}
    before: list[int | str | None] = []
    for number, segment in enumerate(segmented.segments):
        if number not in numbers:
            if number in segmented.valued:
                valued[len(segments)] = segmented.valued[number]
            segments.append(segment)
            before.append(number)
            continue
        values = _in_text(segmented, number)
        copied = ((value.start + segment.start, value.end + segment.start) for value in values)
        cut: list[tuple[Segment, str | None]] = [
            (part, None)
            for span in outside(segmented.text, segment.start, segment.end, copied)
            for part in cut_sentence(segmented.text, span, tokenizer, segmentation.wrap_tokens, segmentation.max_tokens)
        ]
        for value in values:
            if value.is_soft:
                start, end = value.start + segment.start, value.end + segment.start
                cut.append((Segment(start, end, tokenizer.encode(value.text)), value.written))
        cut.sort(key=lambda part: part[0].start)
        segments += [part for part, _ in cut]
        before += [written for _, written in cut]
    return SegmentedText(segmented.text, tuple(segments), valued), before


def _valued_segments(
    given: tuple[str, Sequence[Value]], span: Span, tokenizers: Tokenizers, limits: tuple[int, int], max_tokens: int
) -> Iterator[tuple[Segment, ValuedSentence | None]]:
    """Yield the segments of a range of a text with values; `limits` are as in `service.bundle.wrapping`."""
    text, values = given
    start, end = span
    own = [shifted(value, -start) for value in values if start <= value.start and value.end <= end]
    sentence = text[start:end]
    if not _has_words(sentence, own):
        return
    here, whole = limits
    if not own:
        for segment in cut_sentence(text, span, tokenizers.source, whole, max_tokens):
            yield segment, None
        return
    valued = valued_sentence(sentence, own, tokenizers.target)
    if valued is not None:
        ids = tokenizers.source.encode(valued.read)
        if len(ids) <= max(here, 2) or (here < whole and len(ids) <= max_tokens):
            yield Segment(start, end, ids), valued
            return
    parts = _wrapped(sentence, own, tokenizers.source, max(here - 1, 1), valued)
    if parts == [(0, len(sentence))]:
        here //= 2
    for begin, finish in parts:
        if here:
            yield from _valued_segments(given, (start + begin, start + finish), tokenizers, (here, whole), max_tokens)


def _wrapped(
    sentence: str, values: Sequence[Value], tokenizer: Tokenizer, limit: int, valued: ValuedSentence | None
) -> list[Span]:
    """Return the parts of a sentence that is too long or has too many values; no part ends inside a value."""
    if valued is None:
        middle = values[len(values) // 2]
        return outside(sentence, 0, len(sentence), [(middle.start, middle.end)])
    blank = sentence
    for value in values:
        blank = blank[: value.start] + "0" * (value.end - value.start) + blank[value.end :]
    spans = [(token.start, token.end) for token in valued.source_tokens(tokenizer) if token.special is None]
    return wrap(blank, spans, limit)


def _has_words(sentence: str, values: Sequence[Value]) -> bool:
    """Return whether there is anything to translate: a term, or a letter outside of values."""
    if any(value.kind in (Kind.TERM, Kind.SPOKEN_TIME) for value in values):
        return True
    position = 0
    for value in values:
        if any(map(str.isalpha, sentence[position : value.start])):
            return True
        position = value.end
    return any(map(str.isalpha, sentence[position:]))
