"""The served translators by language pair: made once for each change of the models, used by every request.

A model of many languages has thousands of pairs, so what belongs to one pair is made at its first request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar

from service.engine.errors import UnknownModel, UnsupportedLanguage, UnsupportedPair
from service.engine.languages.default_model import in_order
from service.engine.languages.pivot import Pair
from service.engine.languages.tags import Languages, pairs_of
from service.engine.types import ModelInfo, ModelStateName


class PairTranslator(Protocol):
    """The part of a translator that the choice needs."""

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        ...

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""
        ...

    @property
    def state(self) -> ModelStateName:
        """Return whether it accepts requests."""
        ...

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs."""
        ...


AnyServed = TypeVar("AnyServed", bound=PairTranslator)


class Pairs(Generic[AnyServed]):
    """The translators of each pair, its default first; tags are matched by `languages.tags`."""

    def __init__(self, served: tuple[AnyServed, ...], preferred: Sequence[str] = ()) -> None:
        """Take the served translators, and the names of the bundles that are preferred as defaults."""
        self.served = served
        infos = [translator.info for translator in served]
        self._languages = Languages.of(infos)
        self._preferred = preferred
        self._by_name = {translator.name: translator for translator in served}
        self._owners: dict[Pair, list[ModelInfo]] = {}
        for info in infos:
            for pair in dict.fromkeys(pairs_of(info)):
                self._owners.setdefault(pair, []).append(info)
        self._translators: dict[Pair, list[AnyServed]] = {}  # of the pairs that have been requested

    def resolve(self, source: str, target: str, model: str | None = None) -> AnyServed:
        """Return the translator for a pair: the named bundle or architecture, else the pair's default.

        If the default has failed, the next model of the pair that has not is returned. A model of the gallery
        translates only if it is named. Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        pair = self._languages.pair(source, target)
        fitting = self._fitting(pair) if pair is not None else []
        if not fitting:
            for language in (source, target):
                if self._languages.match(language) is None:
                    raise UnsupportedLanguage(f"{language} is not supported")
            raise UnsupportedPair(f"No model translates from {source} to {target}.")
        usual = [t for t in fitting if not t.info.gallery]
        if not model:
            if not usual:
                names = ", ".join(t.name for t in fitting)
                raise UnsupportedPair(f"Only models of the gallery translate from {source} to {target}: {names}.")
            return _first_working(usual)
        named = [t for t in fitting if t.name == model] or [t for t in usual if t.info.architecture == model]
        if not named:
            names = ", ".join(sorted({t.name for t in fitting} | {t.info.architecture for t in usual}))
            raise UnknownModel(f"There is no model {model[:64]!r} from {source} to {target}; available: {names}.")
        return named[0]

    def failed_default(self, source: str, target: str) -> AnyServed | None:
        """Return the default of a pair if it has failed and another model translates in its place."""
        pair = self._languages.pair(source, target)
        usual = [t for t in self._fitting(pair) if not t.info.gallery] if pair is not None else []
        return usual[0] if usual and _first_working(usual) is not usual[0] else None

    def _fitting(self, pair: Pair) -> list[AnyServed]:
        """Return the translators of a pair, the default first."""
        if pair not in self._translators:
            ranked = in_order(self._owners.get(pair, ()), self._preferred, pair)
            self._translators[pair] = [self._by_name[info.name].for_pair(*pair) for info in ranked]
        return self._translators[pair]


def _first_working(translators: Sequence[AnyServed]) -> AnyServed:
    """Return the first translator that has not failed for good; if all have, the first."""
    for each in translators:
        if each.state != "failed":
            return each
    return translators[0]
