"""The state that lives as long as the application."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.api.interface import RegistryPort, TranslatorPort
from service.api.language_detection import LanguageDetection
from service.detection import Guess
from service.engine import Languages, ModelInfo
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
    detection: LanguageDetection = field(default_factory=LanguageDetection, init=False)
    _models: list[ModelInfo] = field(default_factory=list, init=False)
    _languages: Languages = field(default_factory=lambda: Languages({}), init=False)

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
        if len(models) != len(self._models) or any(a is not b for a, b in zip(models, self._models, strict=True)):
            self._models, self._languages = models, Languages.of(models, self.settings.pivot or None)
        return self._languages

    def legs(self, source: str, target: str, model: str | None = None) -> list[TranslatorPort]:
        """Return the translators of a served pair: one, or those of the two legs through the pivot language.

        Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        return [self.registry.resolve(*leg, model) for leg in self.languages.legs(source, target)]

    async def detect(self, texts: list[str] | tuple[str, ...]) -> list[list[Guess]]:
        """Return the guesses for each text among the languages that are served now."""
        return await self.detection.detect(texts, self.languages)
