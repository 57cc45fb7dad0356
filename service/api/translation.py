"""Translates what a checked request holds and makes its answer: language by language, as text or as HTML."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from starlette.responses import Response

from service import markup
from service.answers.translation import (
    DetailsSchema,
    DetectionSchema,
    LowQualitySchema,
    TranslateResponse,
    WarningSchema,
)
from service.api.checks import AUTO, served_pair
from service.api.context import RequestContext
from service.api.rendering import REPRESENTATIONS
from service.api.schemas.translate import TranslateRequest
from service.api.state import Service, failure_warnings, warning
from service.detection import Guess
from service.engine import (
    TEXT_POOL,
    Languages,
    Pair,
    Translates,
    Translation,
    TranslationOptions,
    formality_note,
    in_other_register,
    kept,
    translate_in_legs,
)
from service.logs import describe_exception, get_logger
from service.markup.batch import PreparedDocument, prepare, units_of, write_all

log = get_logger(__name__)

LONG_DETAILS = 500  # characters; details of longer texts are written in a thread, so that other requests do not wait


@dataclass(slots=True)
class Answered:
    """One text of a request: its translation, the text itself before that; and what there is to say about it."""

    translation: Translation
    guess: Guess | None = None  # its language, where that was detected
    warnings: list[WarningSchema] = field(default_factory=list)


async def translate_texts(
    fields: TranslateRequest, pair: Pair, service: Service, context: RequestContext
) -> list[Answered]:
    """Translate; a text that is already in the target language, or in none, is returned as it is."""
    source, target = pair
    answered = [Answered(Translation(text)) for text in fields.texts]
    groups = {} if source == target else {pair: answered}
    if source == AUTO:
        for answer, guesses in zip(answered, await service.detect(await _detectable(fields)), strict=True):
            answer.guess = guesses[0]
        groups = _by_pair(answered, fields, service.languages)
    await _together([_translate_group(*group, fields, service, context) for group in groups.items()])
    if groups or source == AUTO:
        await _warn(answered, None if source == AUTO else source, fields, service)
    return answered


async def _translate_group(
    pair: Pair, group: Sequence[Answered], fields: TranslateRequest, service: Service, context: RequestContext
) -> None:
    """Translate the texts of one pair, each of which stands in the place of its translation."""
    is_best = (fields.effort or service.settings.effort) == "best"
    legs = service.legs(*pair, fields.model or (service.best_model(pair) if is_best else None))
    context.record_legs([leg.info for leg in legs])
    with kept(legs):
        glossary = await service.glossary(fields.glossary, pair, legs)
        back = service.way_back(fields.effort, legs) if is_best else None
        options = TranslationOptions.of(fields, glossary=glossary, back=back)
        run = partial(_translate_html if fields.format == "html" else _translate_text, deadline=context.deadline)
        texts = [answer.translation.text for answer in group]
        translations = await translate_in_legs(legs, texts, options, run, context.deadline)
    languages = legs[-1].info.source_language, legs[-1].info.target_language
    for answer, translation in zip(group, translations, strict=True):
        answer.translation, answer.warnings = translation, failure_warnings(legs)
        if options.formality != "default":
            sentences = [(one.source_text, one.target_text) for one in translation.qualities]
            if note := formality_note(options.formality, sentences, languages):
                answer.warnings.append(warning("formality", note))


async def _warn(answered: Sequence[Answered], source: str | None, fields: TranslateRequest, service: Service) -> None:
    """Add the warnings about the language of each text; after the translation, so that a refusal costs nothing."""
    doubted = [answer.guess is None or not answer.guess.confidence for answer in answered]
    try:
        warnings = await service.language_warnings(await _detectable(fields), doubted, source)
    except Exception as error:  # without the warnings the translation is still worth its price
        log.error("the language of the texts was not checked", **describe_exception(error))
        return
    for answer, about_language in zip(answered, warnings, strict=True):
        answer.warnings = [*about_language, *answer.warnings]


def _by_pair(answered: Sequence[Answered], fields: TranslateRequest, known: Languages) -> dict[Pair, list[Answered]]:
    """Return the texts to translate by the pair of the language that was detected.

    A text in a language that is not translated into the target is left out, if there is another text: it is returned as
    it is, together with its language. Raise ApiError if no text can be translated.
    """
    target, direct = fields.target, bool(fields.model)
    guesses = [answer.guess for answer in answered if answer.guess is not None]
    sources = [guess.language if guess.confidence else target for guess in guesses]
    pairs = {source: known.pair(source, target, direct=direct) for source in set(sources)}
    if pairs and not any(pairs.values()):
        served_pair(sources[0], target, known, fields.model)
    groups: dict[Pair, list[Answered]] = {}
    for answer, source in zip(answered, sources, strict=True):
        pair = pairs[source]
        if pair is not None and pair[0] != pair[1]:
            groups.setdefault(pair, []).append(answer)
    return groups


async def _together(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all; the first failure cancels the others, and its error is raised."""
    if len(works) == 1:  # the usual case: a separate task would cost a tenth of a refusal
        await works[0]
        return
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as error:
        raise error.exceptions[0] from None


async def _detectable(fields: TranslateRequest) -> Sequence[str]:
    if fields.format == "html":
        return await TEXT_POOL.run(lambda: _plain_texts(fields.texts))
    return fields.texts


def _plain_texts(documents: Sequence[str]) -> list[str]:
    return [
        " ".join(part.text for part in markup.read(document) if isinstance(part, markup.Unit)) for document in documents
    ]


async def _translate_text(
    translator: Translates, texts: Sequence[str], options: TranslationOptions, deadline: float
) -> list[Translation]:
    return await translator.translate(texts, options, deadline=deadline)


async def _translate_html(
    translator: Translates, texts: Sequence[str], options: TranslationOptions, deadline: float
) -> list[Translation]:
    translator.check_room(deadline)  # as the translator does before any work on a text: a refusal costs next to nothing
    keep_values = options.values != "off"
    documents = await TEXT_POOL.run(lambda: [prepare(text, keep_values=keep_values) for text in texts])
    units = units_of(documents)
    # Only the details have the alignment, which is needed only to put tags back.
    options = replace(options, alternatives=0, details=any(unit.nodes for unit in units))
    found = await translator.translate([unit.text for unit in units], options, deadline=deadline)
    if options.formality == "default":
        await _unify(translator, documents, found, options, deadline)
    return await TEXT_POOL.run(lambda: write_all(documents, found))


async def _unify(
    translator: Translates,
    documents: Sequence[PreparedDocument],
    found: list[Translation],
    options: TranslationOptions,
    deadline: float,
) -> None:
    """Put the units of each page, which are one text, in the register of most of them."""
    languages = translator.info.source_language, translator.info.target_language
    start = 0
    for document in documents:
        units = units_of([document])
        pairs = [(unit.text, each.text) for unit, each in zip(units, found[start:], strict=False)]
        other, formality = await TEXT_POOL.run(partial(in_other_register, pairs, languages))
        if other:
            wanted = [units[number].text for number in other]
            again = await translator.translate(wanted, replace(options, formality=formality), deadline=deadline)
            for number, each in zip(other, again, strict=True):
                found[start + number] = each
        start += len(units)


async def respond(fields: TranslateRequest, answered: Sequence[Answered]) -> Response:
    """Return the answer; long ones are made in a thread."""
    is_long = fields.details and sum(map(len, fields.texts)) > LONG_DETAILS
    content = await REPRESENTATIONS.run(lambda: written(fields, answered)) if is_long else written(fields, answered)
    return Response(content, media_type="application/json")


def written(fields: TranslateRequest, answered: Sequence[Answered]) -> bytes:
    """Return the answer's JSON: plain values for a string, lists for a list."""
    translations = [answer.translation for answer in answered]
    parts: dict[str, list[Any]] = {"translatedText": [translation.text for translation in translations]}
    if any(translation.pivot for translation in translations):
        parts["pivot"] = [translation.pivot and translation.pivot.language for translation in translations]
    if fields.source.lower() == AUTO:
        parts["detectedLanguage"] = [
            DetectionSchema(confidence=answer.guess.confidence, language=answer.guess.language)
            for answer in answered
            if answer.guess
        ]
    if fields.alternatives:
        parts["alternatives"] = [
            [text for text in dict.fromkeys(translation.alternatives) if text != translation.text]
            for translation in translations
        ]
    if fields.details:
        parts["details"] = [DetailsSchema.of(translation) for translation in translations]
    if fields.min_quality is not None:
        parts["low_quality"] = [LowQualitySchema.all_of(translation) for translation in translations]
    if any(answer.warnings for answer in answered):
        parts["warnings"] = [answer.warnings for answer in answered]
    shown = parts if isinstance(fields.q, list) else {name: values[0] for name, values in parts.items()}
    return TranslateResponse(**shown).json_bytes()
