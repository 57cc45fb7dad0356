"""Translates the segments of a document in small windows, so that interactive requests get their turn in between."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from service.documents.fragments import plain
from service.engine import (
    TEXT_POOL,
    DeadlineExceeded,
    Formality,
    NotReady,
    Overloaded,
    TextTranslator,
    Token,
    Translation,
    TranslationOptions,
    formality_note,
    in_other_register,
    mean_quality,
    split_sentences,
)
from service.markup.batch import prepare, units_of, write_all

WINDOW_CHARACTERS = 1500
WINDOW_SEGMENTS = 16
RETRY_SECONDS = 1.0
DOUBTFUL = 0.3  # segments below are listed, as the page underlines sentences below it
MOST_LISTED = 100
SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class WindowTimeouts:
    """The time limits of a window, and of waiting for an engine that is full or restarting."""

    window_seconds: float = 120.0
    retry_seconds: float = 600.0


class TranslatedSegment(NamedTuple):
    """A translated segment and its quality: the share of it that is expected to be usable."""

    text: str
    quality: float | None = None  # None: the model gives none, or there was nothing to translate


def windows(segments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the segments in order, few at a time."""
    window: list[str] = []
    size = 0
    for segment in segments:
        if window and (len(window) >= WINDOW_SEGMENTS or size + len(segment) > WINDOW_CHARACTERS):
            yield window
            window, size = [], 0
        window.append(segment)
        size += len(segment)
    if window:
        yield window


async def translate_window(
    translator: TextTranslator, segments: Sequence[str], options: TranslationOptions, timeouts: WindowTimeouts
) -> list[TranslatedSegment]:
    """Return the fragments of a window in the language of one model; wait and try again while it is full or restarting.

    Raise the errors of the engine, also Overloaded and NotReady after `timeouts.retry_seconds`.
    """
    began = time.monotonic()
    while True:
        try:
            return await _translated(translator, segments, options, timeouts)
        except (Overloaded, NotReady, DeadlineExceeded) as error:
            if time.monotonic() - began > timeouts.retry_seconds:
                raise
            wait = error.retry_after if isinstance(error, Overloaded) else RETRY_SECONDS
            await asyncio.sleep(min(max(wait, 0.1), 10.0))


async def _translated(
    translator: TextTranslator, segments: Sequence[str], options: TranslationOptions, timeouts: WindowTimeouts
) -> list[TranslatedSegment]:
    inner = [segment.strip() for segment in segments]
    keep_values = options.values != "off"
    documents = await TEXT_POOL.run(lambda: [prepare(text, keep_values=keep_values) for text in inner])
    units = units_of(documents)
    translations: dict[int, Translation] = {}
    # Only the details have the alignment, which is needed only to put tags back.
    for tagged in (False, True):
        numbers = [number for number, unit in enumerate(units) if bool(unit.nodes) == tagged]
        texts = [units[number].text for number in numbers]
        if texts:
            search = replace(options, details=tagged, alternatives=0)
            translations.update(zip(numbers, await _in_chunks(translator, texts, search, timeouts), strict=True))
    ordered = [translations[number] for number in range(len(units))]
    written = await TEXT_POOL.run(lambda: write_all(documents, ordered))
    return [
        TranslatedSegment(with_outer_spaces(segment, translation.text), translation.quality)
        for segment, translation in zip(segments, written, strict=True)
    ]


def with_outer_spaces(segment: str, text: str) -> str:
    """Return a text between the blanks that are around a segment."""
    before = len(segment) - len(segment.lstrip())
    return segment[:before] + text + segment[max(before, len(segment.rstrip())) :]


async def _in_chunks(
    translator: TextTranslator, texts: Sequence[str], options: TranslationOptions, timeouts: WindowTimeouts
) -> list[Translation]:
    """Translate texts in one call if they are short; a long one is cut between sentences, into several calls."""
    if sum(map(len, texts)) <= 2 * WINDOW_CHARACTERS:
        return await translator.translate(texts, options, deadline=time.monotonic() + timeouts.window_seconds)
    return [await _long(translator, text, options, timeouts) for text in texts]


async def _long(
    translator: TextTranslator, text: str, options: TranslationOptions, timeouts: WindowTimeouts
) -> Translation:
    """Translate a long text chunk by chunk; of each, only what writes it is kept."""
    language = translator.info.source_language
    source = target = 0
    parts: list[Translation] = []
    for chunk in await TEXT_POOL.run(lambda: chunked(text, language)):
        deadline = time.monotonic() + timeouts.window_seconds
        [part] = await translator.translate([chunk], options, deadline=deadline)
        parts.append(await TEXT_POOL.run(partial(shifted, part, source, target)))
        source += len(chunk)
        target += len(part.text)
    sentences = tuple(sentence for part in parts for sentence in part.sentences)
    qualities = tuple(quality for part in parts for quality in part.qualities)
    return Translation("".join(part.text for part in parts), sentences=sentences, qualities=qualities)


def chunked(text: str, language: str) -> list[str]:
    """Return a text in chunks of whole sentences, at most about WINDOW_CHARACTERS long unless a sentence is longer."""
    cuts = [0]
    for start, end in split_sentences(text, language):
        if end - cuts[-1] > WINDOW_CHARACTERS and start > cuts[-1]:
            cuts.append(start)
    return [text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def shifted(part: Translation, source: int, target: int) -> Translation:
    """Return the translation of a chunk that begins at these places of a text and of its translation."""

    def moved(tokens: Sequence[Token], by: int) -> tuple[Token, ...]:
        # Made anew, because `replace` takes three times as long, and a long text has very many.
        return tuple(
            Token(token.id, token.piece, token.text, token.start + by, token.end + by, token.special)
            for token in tokens
        )

    sentences = tuple(
        replace(
            sentence,
            source_start=sentence.source_start + source,
            target_start=sentence.target_start + target,
            source_tokens=moved(sentence.source_tokens, source),
            target_tokens=moved(sentence.target_tokens, target),
            value_spans=tuple(
                ((old[0] + source, old[1] + source), (new[0] + target, new[1] + target))
                for old, new in sentence.value_spans
            ),
            scores=None,
        )
        for sentence in part.sentences
    )
    qualities = tuple(replace(quality, start=None) for quality in part.qualities)
    return Translation(part.text, sentences=sentences, qualities=qualities)


async def translate_segments(
    legs: Sequence[TextTranslator],
    segments: Sequence[str],
    options: TranslationOptions,
    *,
    timeouts: WindowTimeouts | None = None,
    known: dict[str, TranslatedSegment] | None = None,
    on_window: Callable[[dict[str, TranslatedSegment]], Awaitable[None]] | None = None,
) -> list[TranslatedSegment]:
    """Return the translated segments; equal segments are translated once, through one model after the other.

    `known` holds translations from before a restart; `on_window` is called with each new window.
    """
    done = {**(known or {})}
    timeouts = timeouts or WindowTimeouts()
    missing = [segment for segment in dict.fromkeys(segments) if segment not in done]
    for window in windows(missing):
        new = await _through_legs(legs, window, options, timeouts)
        done.update(new)
        if on_window is not None:
            await on_window(new)
    if options.formality == "default" and done:
        done = await _in_one_register(legs, done, options, timeouts)
    return [done[segment] for segment in segments]


async def _in_one_register(
    legs: Sequence[TextTranslator],
    done: dict[str, TranslatedSegment],
    options: TranslationOptions,
    timeouts: WindowTimeouts,
) -> dict[str, TranslatedSegment]:
    """Return the translations in the register of most, or in the other one if only that is found for all."""

    async def others(texts: dict[str, TranslatedSegment], formality: Formality) -> tuple[list[str], Formality]:
        every = [*texts]
        numbers, asked = await TEXT_POOL.run(
            lambda: in_other_register(_pairs(every, [*texts.values()]), _languages(legs), formality)
        )
        return [every[number] for number in numbers], asked

    async def reworded(texts: Sequence[str], formality: Formality) -> dict[str, TranslatedSegment]:
        results = {**done}
        for window in windows(texts):
            results.update(await _through_legs(legs, window, replace(options, formality=formality), timeouts))
        return results

    few, formality = await others(done, "default")
    as_most = await reworded(few, formality)
    if not few or not (await others(as_most, formality))[0]:
        return as_most
    opposite: Formality = "prefer_less" if formality == "prefer_more" else "prefer_more"
    as_few = await reworded((await others(done, opposite))[0], opposite)
    return as_most if (await others(as_few, opposite))[0] else as_few


def _product(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first * second


async def _through_legs(
    legs: Sequence[TextTranslator], window: Sequence[str], options: TranslationOptions, timeouts: WindowTimeouts
) -> dict[str, TranslatedSegment]:
    """Return the segments of a window with their translations, through one model after the other."""
    translated = [TranslatedSegment(segment, 1.0) for segment in window]
    for leg in legs:
        results = await translate_window(leg, [translation.text for translation in translated], options, timeouts)
        translated = [
            translation._replace(quality=_product(translation.quality, before.quality))
            for before, translation in zip(translated, results, strict=True)
        ]
    return dict(zip(window, translated, strict=True))


def _languages(legs: Sequence[TextTranslator]) -> tuple[str, str]:
    return legs[0].info.source_language, legs[-1].info.target_language


def note_of(
    formality: Formality,
    segments: Sequence[str],
    translations: Sequence[TranslatedSegment],
    legs: Sequence[TextTranslator],
) -> str | None:
    """Return what a document does not have of the formality that was asked for; None if nothing is missing."""
    if formality == "default" or not legs:
        return None
    return formality_note(formality, _pairs(segments, translations), _languages(legs)) or None


def _pairs(segments: Sequence[str], translations: Sequence[TranslatedSegment]) -> list[tuple[str, str]]:
    return [(plain(text), plain(translation.text)) for text, translation in zip(segments, translations, strict=True)]


def sample(segments: Sequence[str], size: int = 5000) -> str:
    """Return the beginning of a document's text, for language detection."""
    texts: list[str] = []
    length = 0
    for segment in segments:
        texts.append(plain(segment))
        length += len(texts[-1])
        if length >= size:
            break
    return "\n".join(texts)[:size]


def quality_of(segments: Sequence[str], translations: Sequence[TranslatedSegment]) -> float | None:
    """Return the share of a document that is expected to be usable: the mean by length; None if none is known."""
    pairs = zip(segments, translations, strict=True)
    quality = mean_quality((part.quality, len(segment)) for segment, part in pairs)
    return None if quality is None else round(quality, 4)


def doubtful_segments(
    segments: Sequence[str], translations: Sequence[TranslatedSegment]
) -> tuple[tuple[int, float, str, str], ...]:
    """Return the segments to check, the worst first: number from 1, quality, beginnings of translation and source."""
    doubtful = [
        (translation.quality, number)
        for number, translation in enumerate(translations, 1)
        if translation.quality is not None and translation.quality < DOUBTFUL
    ]

    def beginning(text: str) -> str:
        return plain(text).strip()[:SHOWN_CHARACTERS]

    return tuple(
        (number, round(quality, 4), beginning(translations[number - 1].text), beginning(segments[number - 1]))
        for quality, number in sorted(doubtful)[:MOST_LISTED]
    )
