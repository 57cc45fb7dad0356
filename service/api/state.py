"""The state that lives as long as the application, and changes of its models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.answers.translation import WarningCode, WarningSchema
from service.api.languages import LanguageDetection, language_name
from service.bundle.repository import Change
from service.detection import Guess
from service.engine import (
    TEXT_POOL,
    BackScores,
    Effort,
    EngineError,
    Glossary,
    InvalidOption,
    Languages,
    ModelInfo,
    Pair,
    Translates,
    UnsupportedLanguage,
    UnsupportedPair,
    pairs_of,
)
from service.glossaries.checks import Entries, InvalidGlossary, glossary_of
from service.glossaries.folder import GlossaryFolder
from service.logs import describe_exception, get_logger
from service.metrics import Metrics
from service.settings import Settings

if TYPE_CHECKING:
    from service.engine import Registry
    from service.tracing.otel import OpenTelemetry

log = get_logger(__name__)


@dataclass(slots=True)
class Service:
    """The service behind routes and middleware; `draining` becomes true once, when the process is told to stop."""

    settings: Settings
    registry: Registry
    metrics: Metrics
    draining: bool = False
    tracing: OpenTelemetry | None = None
    detection: LanguageDetection = field(default_factory=LanguageDetection, init=False)
    glossaries: GlossaryFolder = field(init=False)
    _models: list[ModelInfo] = field(default_factory=list, init=False)
    _languages: Languages = field(default_factory=lambda: Languages({}), init=False)

    def __post_init__(self) -> None:
        """Read the folder of glossaries."""
        self.glossaries = GlossaryFolder(self.settings.glossaries_dir)
        self.glossaries.reload()

    async def glossary(self, given: str | Entries | None, pair: Pair, legs: Sequence[Translates]) -> Glossary | None:
        """Return the glossary that a request names or holds, for a pair; raise InvalidGlossary or Overloaded."""
        if given is None:
            return None
        if len(legs) > 1:
            raise InvalidGlossary(
                f"A glossary works in one translation, and {pair[0]} to {pair[1]} is translated in two, through "
                f"{self.settings.pivot}. Send two requests, each with its own glossary."
            )
        if isinstance(given, str):
            return self.glossaries.get(given, pair)
        return await TEXT_POOL.run(lambda: glossary_of(given))

    def best_model(self, pair: Pair) -> str | None:
        """Return the model that is to do its best if a request names none: an ensemble; None: the default."""
        together = [info.name for info in self.registry.models() if info.members and pair in pairs_of(info)]
        return together[0] if together else None

    def way_back(self, effort: Effort | None, legs: Sequence[Translates]) -> BackScores | None:
        """Return how the way back is scored, None if it cannot be; raise InvalidOption if the request asks for it."""
        try:
            if len(legs) > 1:
                raise InvalidOption(
                    f"effort=best works in one translation, and this one goes through {self.settings.pivot}. "
                    "Send two requests, or leave it out."
                )
            info = legs[0].info
            back = info.target_language, info.source_language
            self.registry.resolve(*back)
        except (InvalidOption, UnsupportedLanguage, UnsupportedPair) as error:
            if effort is None:  # by the setting: where it is possible
                return None
            if isinstance(error, InvalidOption):
                raise
            raise InvalidOption(
                f"effort=best needs a model that translates back, and there is none from {info.target_language} to "
                f"{info.source_language}; leave it out."
            ) from None

        async def scores(pairs: Sequence[tuple[str, str]], deadline: float | None) -> list[float]:
            model = self.registry.resolve(*back)  # now: it may have been replaced since the request began
            return [result.score for result in await model.score_batch(pairs, deadline=deadline)]

        return scores

    @property
    def ready(self) -> bool:
        """Return whether new work should be sent here: one model that accepts it is enough."""
        return not self.draining and self.registry.ready

    def model_ready(self, name: str) -> bool:
        """Return whether new work for one model should be sent here."""
        return not self.draining and any(state.ready for state in self.registry.states() if state.name == name)

    @property
    def languages(self) -> Languages:
        """Return the languages that are served now; they are computed again only after a change of the models."""
        models = self.registry.models()
        if models != self._models:
            self._models, self._languages = models, Languages.of(models, self.settings.pivot_language)
        return self._languages

    def legs(self, source: str, target: str, model: str | None = None) -> list[Translates]:
        """Return the translators of a served pair: one, or those of the two legs through the pivot language.

        Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        return [self.registry.resolve(*leg, model) for leg in self.languages.legs(source, target)]

    async def load_detection(self) -> None:
        """Load the language detection; if that fails, each request for it tries again."""
        try:
            await self.detect(["warm up"])
        except Exception as error:
            log.error("the language detection could not be loaded", **describe_exception(error))

    async def detect(self, texts: Sequence[str]) -> list[list[Guess]]:
        """Return the guesses for each text among the languages that are served now."""
        return await self.detection.detect(texts, self.languages)

    async def language_warnings(
        self, texts: Sequence[str], doubted: Sequence[bool], source: str | None
    ) -> list[list[WarningSchema]]:
        """Return the warnings about the language of each doubted text; `source` is None if it was to be detected."""
        doubted_languages = await self.detection.other_languages(texts, doubted, source, self.languages)
        return [[] if language is None else [warning_of(language, source)] for language in doubted_languages]


def warning(code: WarningCode, message: str, language: str | None = None, model: str | None = None) -> WarningSchema:
    """Return something that a reader of the translation should know."""
    return WarningSchema(code=code, message=message, language=language, model=model)


def failure_warnings(legs: Sequence[Translates]) -> list[WarningSchema]:
    """Return a warning for each model that has failed, so that another one translates in its place."""
    return [
        warning(
            "default_model_failed",
            f"{leg.failed_default}, which translates this pair by default, has failed; {leg.info.name} has translated "
            "instead.",
            model=leg.info.name,
        )
        for leg in legs
        if leg.failed_default is not None
    ]


def warning_of(language: str, source: str | None) -> WarningSchema:
    """Return the warning that a text seems to be in a language, not in `source`; None: in none of the served ones."""
    begins = f"The text seems to be in {language_name(language)}"
    if source is None:
        return warning("unknown_language", f"{begins}, which is not translated here.", language)
    return warning("source_language", f"{begins}, but it was translated from {language_name(source)}.", language)


async def reload_models(service: Service, name: str | None = None) -> list[Change]:
    """Load the changes in the folder of models and the glossaries, or one bundle; every change is logged and counted.

    Raise BundleMissing. The load continues if the caller stops waiting.
    """
    return await asyncio.shield(asyncio.create_task(_reload(service, name)))


async def unload_model(service: Service, name: str) -> None:
    """Unload a model; raise UnknownModel or LastModel."""
    await service.registry.unload(name)
    service.metrics.count("model_changes", "unloaded")
    service.metrics.show_models(service.registry.models())
    log.info("model unloaded", model=name)


async def _reload(service: Service, name: str | None) -> list[Change]:
    if name is None:
        await asyncio.to_thread(service.glossaries.reload)
    try:
        changes = await service.registry.reload(name)
    except EngineError as error:
        service.metrics.count("model_changes", "refused")
        log.error("models not reloaded", reason=error.message, code=error.code)
        raise
    for change in changes:
        if change.outcome in ("added", "replaced"):
            log.info("model ready", model=change.name, digest=change.digest, outcome=change.outcome)
        elif change.outcome == "missing":
            log.warning("model is no longer in the folder; it is served until it is unloaded", model=change.name)
        elif change.error is not None:
            reason, code = change.error.message, change.error.code
            log.error("model refused", model=change.name, serving=change.digest or None, reason=reason, code=code)
        if change.outcome in ("added", "replaced", "refused"):
            service.metrics.count("model_changes", change.outcome)
    service.metrics.show_models(service.registry.models())
    log.info("models reloaded", **{change.name: change.outcome for change in changes})
    return changes
