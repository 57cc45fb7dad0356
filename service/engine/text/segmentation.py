"""Cuts texts into sentences that the model takes, at sentences, values and limits of length.

The functions have no side effects and read no clock.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.bundle.wrapping import Span, cut_sentence, outside, trimmed, wrap
from service.engine.cancellation import while_wanted
from service.engine.text.respelling import may_be_respelled, respelled
from service.engine.text.segmenter import list_marker, split_sentences
from service.engine.text.sentence import Sentence
from service.engine.text.short_strings import in_small_letters, is_short_line, may_be_short, short_string
from service.engine.text.spelling import Spelling
from service.engine.text.tokenizer import Tokenizer, Tokenizers, check_text
from service.engine.text.valued_sentence import ValuedSentence, valued_sentence
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.places import find_places
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary, with_terms
from service.engine.values.unknown_words import unknown_words
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


def segment_text(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> list[Sentence]:
    """Return the sentences of a text, of at most `max_tokens` each; raise InvalidText for lone surrogates."""
    check_text(text)
    rules = segmentation.values if segmentation.respell else None
    if rules is not None and may_be_short(text):
        short = _read_otherwise(short_string, text, tokenizers, segmentation, rules)
        if short is not None:
            return [short]
    return _segmented(text, tokenizers, segmentation, rules is not None and may_be_respelled(text, rules.source))


def readings(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> Iterator[Sentence]:
    """Yield what a model may read of a whole text as one sentence: first what a translation reads, at last the text.

    A part of a longer text may be read in other ways than the same text alone.
    """
    whole = replace(segmentation, split=False, wrap_tokens=segmentation.max_tokens)
    for options in (whole, replace(whole, respell=False)):
        found = segment_text(text, tokenizers, options)
        if len(found) == 1:
            yield found[0]
    values = _with_places(_values(text, tokenizers, whole), text, 0, whole)
    if values:  # what is cut off at the ends of a text stands within a part
        limits = whole.wrap_tokens, whole.wrap_tokens
        parts = [*_valued_sentences((text, values), (0, len(text)), tokenizers, limits, whole)]
        if len(parts) == 1:
            yield parts[0]
    yield Sentence(text, 0, tokenizers.source.encode(text))


def _segmented(
    text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions, respell: bool = False
) -> list[Sentence]:
    """Return the sentences of a text, some of them perhaps in another spelling; one of values alone is copied."""
    values = _values(text, tokenizers, segmentation)
    if segmentation.split:
        spans = split_sentences(text, segmentation.language, values or None)
    else:
        spans = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
    sentences: list[Sentence] = []
    limits = segmentation.wrap_tokens, segmentation.wrap_tokens
    first = 0
    for start, end in while_wanted(spans):
        while first < len(values) and values[first].start < start:
            first += 1
        last = first
        while last < len(values) and values[last].end <= end:
            last += 1
        own = _with_places(values[first:last], text[start:end], start, segmentation)
        line = _short_line(text, (start, end), tokenizers, segmentation) if segmentation.respell else None
        spelled = _respelled(text[start:end], tokenizers, segmentation) if respell and line is None else []
        if line is not None:
            sentences.append(line.moved(start))
        elif spelled:
            sentences += [sentence.moved(start) for sentence in spelled]
        elif own:
            sentences += _valued_sentences((text, own), (start, end), tokenizers, limits, segmentation)
        else:
            sentences += _cut(text, (start, end), tokenizers.source, segmentation)
    return sentences


def _respelled(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> list[Sentence]:
    """Return a sentence that is read in another spelling, such as one in capitals; nothing for any other."""
    alone, rules = replace(segmentation, split=False), segmentation.values
    assert rules is not None, "without rules nothing is respelled"
    spelled = respelled(text, (rules.source, rules.target), tokenizers.source)
    if spelled is None:
        return []
    sentences: list[Sentence] = []
    for read in _segmented(spelled.read, tokenizers, alone):  # several if it is too long
        start, end = spelled.span(read.start, read.end)
        one = _read_otherwise(respelled, text[start:end], tokenizers, alone, rules)
        parts = [one] if one else _segmented(text[start:end], tokenizers, alone)
        sentences += [part.moved(start) for part in parts]
    return sentences


def _short_line(text: str, span: Span, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> Sentence | None:
    """Return a line of a few words among others, such as a heading, as the same words alone are read."""
    start, end = span
    if segmentation.values is None or not is_short_line(text, start, end):
        return None
    return _read_otherwise(short_string, text[start:end], tokenizers, segmentation, segmentation.values)


def _cut(text: str, span: Span, tokenizer: Tokenizer, segmentation: SegmentationOptions) -> Iterator[Sentence]:
    """Yield the sentence in a range of a text that has no values; several if it is too long."""
    segments = cut_sentence(text, span, tokenizer, segmentation.wrap_tokens, segmentation.max_tokens)
    for each in while_wanted(segments):
        yield Sentence(text[each.start : each.end], each.start, each.ids)


def _values(text: str, tokenizers: Tokenizers, segmentation: SegmentationOptions) -> Sequence[Value]:
    rules = segmentation.values
    values: Sequence[Value] = ()
    if rules is not None:
        values = with_terms(find_values(text, rules), unknown_words(text, tokenizers.source.knows))
    if segmentation.glossary is not None:
        return with_terms(values, segmentation.glossary.find(text, segmentation.language))
    return values


def _with_places(
    values: Sequence[Value], sentence: str, start: int, segmentation: SegmentationOptions
) -> Sequence[Value]:
    """Return the values of a sentence with its places, which are read the same whatever stands around it."""
    rules = segmentation.values
    if rules is None:
        return values
    places = [shifted(place, start) for place in find_places(sentence, rules.source, rules.target)]
    return with_terms(values, places)


def _read_otherwise(
    read_as: Callable[..., Spelling | None],
    text: str,
    tokenizers: Tokenizers,
    segmentation: SegmentationOptions,
    rules: ValueRules,
) -> Sentence | None:
    """Return a text that the model reads in another form as one sentence; None for any other text."""
    start = list_marker(text)
    spans = trimmed(text, start, len(text))
    if not spans:
        return None
    [(start, end)] = spans
    string = text[start:end]
    values = _with_places(_values(string, tokenizers, segmentation), string, 0, segmentation)
    short = read_as(string, (rules.source, rules.target), tokenizers.source, values)
    if short is None:
        return None
    sentence = _read_as(short, start, tokenizers, segmentation)
    small = in_small_letters(short, rules.source, tokenizers.source)
    rival = None if small is None or sentence is None else _read_as(small, start, tokenizers, segmentation)
    return sentence if sentence is None or rival is None else replace(sentence, rivals=(rival,))


def _read_as(
    spelling: Spelling, start: int, tokenizers: Tokenizers, segmentation: SegmentationOptions
) -> Sentence | None:
    """Return a text in another spelling as one sentence; None if it would be several."""
    read = _segmented(spelling.read, tokenizers, replace(segmentation, split=False))
    if [each.text for each in read] != [spelling.read]:
        return None
    return Sentence(spelling.text, start, read[0].ids, read[0].valued, spelling)


def cut_at_values(
    sentence: Sentence, tokenizer: Tokenizer, segmentation: SegmentationOptions
) -> list[tuple[Sentence, str | None]]:
    """Return the parts of a sentence between its values, which are copied, with None, and its terms, translated."""
    values = sentence.values
    copied = ((value.start, value.end) for value in values)
    parts: list[tuple[Sentence, str | None]] = [
        (part, None)
        for span in outside(sentence.text, 0, len(sentence.text), copied)
        for part in _cut(sentence.text, span, tokenizer, segmentation)
    ]
    terms = (value for value in values if value.is_soft)
    parts += [(Sentence(term.text, term.start, tokenizer.encode(term.text)), term.written) for term in terms]
    parts.sort(key=lambda part: part[0].start)
    return [(part.moved(sentence.start), written) for part, written in parts]


def _valued_sentences(
    given: tuple[str, Sequence[Value]],
    span: Span,
    tokenizers: Tokenizers,
    limits: tuple[int, int],
    segmentation: SegmentationOptions,
) -> Iterator[Sentence]:
    """Yield the sentences of a range of a text with values; `limits` are as in `service.bundle.wrapping`."""
    text, values = given
    start, end = span
    own = [shifted(value, -start) for value in values if start <= value.start and value.end <= end]
    sentence = text[start:end]
    if not _has_words(sentence, own):
        return
    here, whole = limits
    if not own:
        yield from _cut(text, span, tokenizers.source, segmentation)
        return
    valued = valued_sentence(sentence, own, tokenizers.target)
    if valued is not None:
        ids = tokenizers.source.encode(valued.read)
        if len(ids) <= max(here, 2) or (here < whole and len(ids) <= segmentation.max_tokens):
            yield Sentence(sentence, start, ids, valued)
            return
    parts = _wrapped(sentence, own, tokenizers.source, max(here - 1, 1), valued)
    if parts == [(0, len(sentence))]:
        here //= 2
    others = [value for value in own if value.kind is not Kind.PLACE]
    for begin, finish in while_wanted(parts):
        if here:  # the places of a part are read the same as in the part alone
            placed = _with_places(others, sentence[begin:finish], begin, segmentation)
            part = (sentence, placed), (begin, finish), tokenizers, (here, whole), segmentation
            yield from (each.moved(start) for each in _valued_sentences(*part))


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
    if any(value.kind in (Kind.TERM, Kind.SPOKEN_TIME, Kind.PLACE) for value in values):
        return True
    position = 0
    for value in values:
        if any(map(str.isalpha, sentence[position : value.start])):
            return True
        position = value.end
    return any(map(str.isalpha, sentence[position:]))
