"""Runs a checked translation job and makes its answer: language by language, as text or as HTML."""

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


@dataclass(frozen=True, slots=True)
class TranslationJob:
    """A checked request."""

    fields: TranslateRequest
    texts: Sequence[str]
    source: str
    target: str
    options: TranslationOptions

    @property
    def html(self) -> bool:
        """Return whether the texts are pages."""
        return self.fields.format == "html"


@dataclass(slots=True)
class Answered:
    """One text of a job: its translation, and what there is to say about it."""

    translation: Translation
    guess: Guess | None = None  # its language, where that was detected
    warnings: list[WarningSchema] = field(default_factory=list)


async def run_job(job: TranslationJob, service: Service, context: RequestContext) -> list[Answered]:
    """Translate; a text that is already in the target language, or in none, is returned as it is."""
    deadline = context.deadline
    found = [Answered(Translation(text)) for text in job.texts]
    groups = {} if job.source == job.target else {(job.source, job.target): [*range(len(job.texts))]}
    if job.source == AUTO:
        guesses = await deadline.wait_for(_guess(job, service))
        for each, guess in zip(found, guesses, strict=True):
            each.guess = guess
        sources = [guess.language if guess.confidence else job.target for guess in guesses]
        groups = _by_pair(sources, job, service.languages)

    async def translate_group(pair: Pair, numbers: Sequence[int]) -> None:
        is_best = (job.fields.effort or service.settings.effort) == "best"
        model = job.fields.model or (service.best_model(pair) if is_best else None)
        legs = service.legs(*pair, model)
        context.record_legs([leg.info for leg in legs])
        own = [found[number] for number in numbers]
        texts = [job.texts[number] for number in numbers]
        with kept(legs):
            glossary = await service.glossary(job.fields.glossary, pair, legs)
            back = service.way_back(job.fields.effort, legs) if is_best else None
            options = replace(job.options, glossary=glossary, back=back) if glossary or back else job.options
            run = partial(_translate_html if job.html else _translate_text, deadline=deadline.at)
            translations = await translate_in_legs(legs, texts, options, run, deadline.at)
        for each, translation in zip(own, translations, strict=True):
            each.translation, each.warnings = translation, failure_warnings(legs)
        if options.formality != "default":
            languages = legs[-1].info.source_language, legs[-1].info.target_language
            for each in own:
                pairs = [(one.source_text, one.target_text) for one in each.translation.qualities]
                if note := formality_note(options.formality, pairs, languages):
                    each.warnings.append(warning("formality", note))

    async def translate_all() -> None:
        await _together([translate_group(*group) for group in groups.items()])
        if groups or job.source == AUTO:
            await _warn(job, found, service)

    await deadline.wait_for(translate_all())
    return found


async def _warn(job: TranslationJob, found: Sequence[Answered], service: Service) -> None:
    """Add the warnings about the language of each text; after the translation, so that a refusal costs nothing."""
    doubted = [each.guess is None or not each.guess.confidence for each in found]
    source = None if job.source == AUTO else job.source
    try:
        warnings = await service.language_warnings(await _detectable(job), doubted, source)
    except Exception as error:  # without the warnings the translation is still worth its price
        log.error("the language of the texts was not checked", **describe_exception(error))
        return
    for each, own in zip(found, warnings, strict=True):
        each.warnings = [*own, *each.warnings]


def _by_pair(sources: Sequence[str], job: TranslationJob, known: Languages) -> dict[Pair, list[int]]:
    """Return the numbers of the texts to translate, by their pair.

    A text in a language that is not translated into the target is left out, if there is another text: it is returned as
    it is, together with its language. Raise ApiError if no text can be translated.
    """
    pairs = {source: known.pair(source, job.target, direct=bool(job.fields.model)) for source in set(sources)}
    if pairs and not any(pairs.values()):
        served_pair(sources[0], job.target, known, job.fields.model)
    groups: dict[Pair, list[int]] = {}
    for number, source in enumerate(sources):
        pair = pairs[source]
        if pair is not None and pair[0] != pair[1]:
            groups.setdefault(pair, []).append(number)
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


async def _guess(job: TranslationJob, service: Service) -> list[Guess]:
    return [guesses[0] for guesses in await service.detect(await _detectable(job))]


async def _detectable(job: TranslationJob) -> Sequence[str]:
    return await TEXT_POOL.run(lambda: _plain_texts(job.texts)) if job.html else job.texts


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


async def respond(job: TranslationJob, found: Sequence[Answered]) -> Response:
    """Return the answer; long ones are made in a thread."""
    is_long = job.options.details and sum(map(len, job.texts)) > LONG_DETAILS
    content = await REPRESENTATIONS.run(lambda: written(job, found)) if is_long else written(job, found)
    return Response(content, media_type="application/json")


def written(job: TranslationJob, found: Sequence[Answered]) -> bytes:
    """Return the answer's JSON: plain values for a string, lists for a list."""
    translations = [each.translation for each in found]
    parts: dict[str, list[Any]] = {"translatedText": [translation.text for translation in translations]}
    if any(translation.pivot for translation in translations):
        parts["pivot"] = [translation.pivot and translation.pivot.language for translation in translations]
    if job.source == AUTO:
        parts["detectedLanguage"] = [
            DetectionSchema(confidence=each.guess.confidence, language=each.guess.language)
            for each in found
            if each.guess
        ]
    if job.options.alternatives:
        parts["alternatives"] = [
            [text for text in dict.fromkeys(translation.alternatives) if text != translation.text]
            for translation in translations
        ]
    if job.options.details:
        parts["details"] = [DetailsSchema.of(translation) for translation in translations]
    if job.options.min_quality is not None:
        parts["low_quality"] = [LowQualitySchema.all_of(translation) for translation in translations]
    if any(each.warnings for each in found):
        parts["warnings"] = [each.warnings for each in found]
    shown = parts if isinstance(job.fields.q, list) else {name: values[0] for name, values in parts.items()}
    return TranslateResponse(**shown).json_bytes()
