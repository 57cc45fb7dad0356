"""The state that lives as long as the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from service.api.interface import RegistryPort, TranslatorPort
from service.api.language_detection import LanguageDetection
from service.api.language_names import language_name
from service.detection import Guess
from service.embedding import Embedder
from service.engine import Glossary, Languages, ModelInfo, Pair, in_order, pairs_of
from service.glossaries.checks import Entries, GlossaryLimits, InvalidGlossary, glossary_of
from service.glossaries.folder import GlossaryFolder
from service.metrics import Metrics
from service.settings import Settings
from service.tracing import Tracing


@dataclass(slots=True)
class Service:
    """The service behind routes and middleware; `draining` becomes true once, when the process is told to stop."""

    settings: Settings
    registry: RegistryPort
    metrics: Metrics
    draining: bool = False
    tracing: Tracing = field(default_factory=Tracing)
    embedder: Embedder | None = None
    detection: LanguageDetection = field(default_factory=LanguageDetection, init=False)
    glossaries: GlossaryFolder = field(init=False)
    _models: list[ModelInfo] = field(default_factory=list, init=False)
    _languages: Languages = field(default_factory=lambda: Languages({}), init=False)

    def __post_init__(self) -> None:
        """Read the folder of glossaries."""
        self.glossaries = GlossaryFolder(self.settings.glossaries_dir, self._glossary_limits)
        self.glossaries.reload()

    @property
    def _glossary_limits(self) -> GlossaryLimits:
        return GlossaryLimits(self.settings.glossary_term_limit)

    def glossary(self, wanted: str | Entries | None, pair: Pair, legs: Sequence[TranslatorPort]) -> Glossary | None:
        """Return the glossary that a request names or holds, for a pair; raise InvalidGlossary."""
        if wanted is None:
            return None
        if len(legs) > 1:
            raise InvalidGlossary(
                f"A glossary works in one translation, and {pair[0]} to {pair[1]} is translated in two, through "
                f"{self.settings.pivot}. Send two requests, each with its own glossary."
            )
        return (
            self.glossaries.get(wanted, pair) if isinstance(wanted, str) else glossary_of(wanted, self._glossary_limits)
        )

    @property
    def ready(self) -> bool:
        """Return whether new work should be sent here: one model that accepts it is enough."""
        return not self.draining and self.registry.ready

    def model_ready(self, name: str) -> bool:
        """Return whether new work for one model should be sent here."""
        return not self.draining and any(each.ready for each in self.registry.states() if each.name == name)

    @property
    def languages(self) -> Languages:
        """Return the languages that are served now; they are computed again only after a change of the models."""
        models = self.registry.models()
        if models != self._models:
            self._models, self._languages = models, Languages.of(models, self.settings.pivot or None)
        return self._languages

    def legs(self, source: str, target: str, model: str | None = None) -> list[TranslatorPort]:
        """Return the translators of a served pair: one, or those of the two legs through the pivot language.

        Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        return [self.registry.resolve(*leg, model) for leg in self.languages.legs(source, target)]

    def second_model(self, first: ModelInfo, pair: Pair) -> TranslatorPort | None:
        """Return the best model of a pair beside the one that translates it; None if no other works."""
        unfit = {first.name, *(each.name for each in self.registry.states() if each.state == "failed")}
        others = [info for info in self.registry.models() if info.name not in unfit and pair in pairs_of(info)]
        ranked = in_order(others, self.settings.default_models, pair)
        return self.registry.resolve(*pair, ranked[0].name) if ranked else None

    def failure_warnings(self, pair: Pair, model: str | None) -> list[dict[str, Any]]:
        """Return a warning for each model that has failed, so that another one translates a pair in its place."""
        if model:
            return []
        legs = self.languages.legs(*pair)
        failed = [(leg, self.registry.failed_default(*leg)) for leg in legs]
        return [
            failure_warning(name, self.registry.resolve(*leg).info.name) for leg, name in failed if name is not None
        ]

    async def detect(self, texts: Sequence[str]) -> list[list[Guess]]:
        """Return the guesses for each text among the languages that are served now."""
        return await self.detection.detect(texts, self.languages)

    async def language_warnings(
        self, texts: Sequence[str], doubted: Sequence[bool], source: str | None
    ) -> list[list[dict[str, Any]]]:
        """Return the warnings about the language of each doubted text; `source` is None if it was to be detected."""
        found = await self.detection.other_languages(texts, doubted, source, self.languages)
        return [[] if language is None else [warning_of(language, source)] for language in found]


def failure_warning(failed: str, instead: str) -> dict[str, Any]:
    """Return the warning that a model has translated in the place of the default."""
    message = f"{failed}, which translates this pair by default, has failed; {instead} has translated instead."
    return {"code": "default_model_failed", "message": message, "language": None, "model": instead}


def warning_of(language: str, source: str | None) -> dict[str, Any]:
    """Return the warning that a text seems to be in a language, not in `source`; None: in none of the served ones."""
    if source is None:
        message = f"The text seems to be in {language_name(language)}, which is not translated here."
        return {"code": "unknown_language", "message": message, "language": language, "model": None}
    message = f"The text seems to be in {language_name(language)}, but it was translated from {language_name(source)}."
    return {"code": "source_language", "message": message, "language": language, "model": None}
