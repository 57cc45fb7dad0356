"""Reads texts: cuts them into sentences that the model takes, each of which goes through the steps of a reading.

A text is searched for values once and split once; `reader` reads each sentence. The functions have no side effects and
read no clock.
"""

from collections.abc import Iterator
from dataclasses import replace

from service.bundle.wrapping import outside, trimmed
from service.engine.cancellation import while_wanted
from service.engine.text.context import in_context
from service.engine.text.draft import Draft
from service.engine.text.reader import AS_IT_IS, STEPS, Reader, read_sentence, read_string
from service.engine.text.reading import Reading, written_form
from service.engine.text.respelling import may_be_respelled
from service.engine.text.segmenter import list_marker, parts_of, sentences_of
from service.engine.text.short_strings import is_short
from service.engine.text.token_text import check_text
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.value import within


def segment_text(text: str, reader: Reader) -> list[Reading]:
    """Return the sentences of a text, of at most `max_tokens` each; raise InvalidText for lone surrogates."""
    check_text(text)
    rules = reader.values if reader.respell else None
    values = reader.values_of(text)
    steps = STEPS if rules is not None and may_be_respelled(text, rules.source) else AS_IT_IS
    parts = parts_of(text, values) if reader.split else trimmed(text, list_marker(text), len(text))
    result: list[Reading] = []
    for part in while_wanted(parts):
        part_values = within(values, *part) if reader.split else values
        may_be_string = rules is not None and is_short(text, part, alone=len(parts) == 1)
        string = read_string(text, part, part_values, reader) if may_be_string else None
        if string is not None:
            result.append(string)
            continue
        if reader.split:
            sentences = sentences_of(text, part, reader.language, part_values or None)
            if reader.context:
                sentences = in_context(text, sentences, reader.language, reader.fits)
        else:
            sentences = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
        for sentence in while_wanted(sentences):
            result += read_sentence(text, sentence, within(part_values, *sentence), reader, steps)
    return result


def readings(text: str, reader: Reader) -> Iterator[Reading]:
    """Yield what a model may read of a whole text as one sentence: first what a translation reads, at last the text.

    A part of a longer text may be read in other ways than the same text alone.
    """
    whole = replace(reader, split=False, wrap_tokens=reader.max_tokens)
    for way in (whole, replace(whole, respell=False)):
        sentences = segment_text(text, way)
        if len(sentences) == 1:
            yield sentences[0]
    values = whole.values_of(text)
    if values:  # what is cut off at the ends of a text stands within a part
        parts = [*read_sentence(text, (0, len(text)), values, whole, AS_IT_IS)]
        if len(parts) == 1:
            yield parts[0]
    yield Reading(Draft(text), 0, reader.tokenizers.source.encode(text))


def cut_at_values(sentence: Reading, reader: Reader) -> list[tuple[Reading, str | None]]:
    """Return the parts of a sentence between its values, which are copied, with None, and its terms, translated."""
    encode = reader.tokenizers.source.encode
    copied = ((value.start, value.end) for value in sentence.values)
    parts: list[tuple[Reading, str | None]] = [
        (part, None)
        for span in outside(sentence.text, 0, len(sentence.text), copied)
        for part in read_sentence(sentence.text, span, (), reader, ())
    ]
    terms = (value for value in sentence.values if value.is_soft)
    parts += [
        (
            Reading(Draft(term.text), term.start, encode(term.text)),
            written_form(term, term.text, begins=term.start == 0),
        )
        for term in terms
    ]
    parts.sort(key=lambda part: part[0].start)
    return [(part.moved(sentence.start), written) for part, written in parts]
