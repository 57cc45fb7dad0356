"""All models of a folder, and which of them serves a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from service.engine.bundle import Bundle, is_bundle, load_bundle
from service.engine.errors import (
    BundleIncompatible,
    BundleMissing,
    UnknownModel,
    UnsupportedLanguage,
    UnsupportedPair,
)
from service.engine.observer import NULL_OBSERVER, Observer
from service.engine.onnx_model import load_model
from service.engine.sessions import ModelSettings
from service.engine.tokenizer import load_tokenizer
from service.engine.translator import Translator
from service.engine.types import ModelInfo
from service.engine.worker import Worker, WorkerSettings

DEFAULT_ARCHITECTURE = "transformer"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How every model runs."""

    model: ModelSettings = field(default_factory=ModelSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    # Longer sentences are wrapped although the model takes more: it has seen few of that length.
    wrap_tokens: int | None = 128


def open_translator(
    bundle: Bundle, settings: EngineSettings | None = None, observer: Observer = NULL_OBSERVER
) -> Translator:
    """Load a bundle into memory; it works once it is started.

    Raises BundleCorrupt, BundleIncompatible or DeviceUnavailable.
    """
    settings = settings or EngineSettings()
    manifest = bundle.manifest
    tokenizer = load_tokenizer(bundle)
    model = load_model(bundle, settings.model)
    info = ModelInfo(
        name=manifest.name,
        version=manifest.version,
        architecture=manifest.architecture,
        source_language=manifest.source_language,
        target_language=manifest.target_language,
        digest=bundle.digest,
        precision=model.placement.precision,
        device=model.placement.device,
        device_wanted=settings.model.device,
        provider=model.placement.provider,
        source_tokens=manifest.limits.source_tokens,
        target_tokens=manifest.limits.target_tokens,
        attention=manifest.raw["attention"],
        card=manifest.card,
    )
    worker = Worker(manifest.name, model, settings.worker, observer)
    return Translator(manifest, info, tokenizer, worker, observer, settings.wrap_tokens)


def find_bundles(folder: Path) -> list[Bundle]:
    """Read and check every bundle of a folder, in the order of their names; folders without a manifest are ignored.

    Raises BundleMissing (no folder, or no bundle in it), BundleCorrupt or BundleIncompatible (one of them cannot be
    served, or two have the same name).
    """
    if not folder.is_dir():
        raise BundleMissing(f"{folder}: there is no such folder of models.")
    bundles: dict[str, Bundle] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        if not is_bundle(path):
            _LOG.warning("%s is ignored: it has no manifest.json, so it is no bundle", path)
            continue
        bundle = load_bundle(path)
        name = bundle.manifest.name
        if name in bundles:
            raise BundleIncompatible(f"{path} and {bundles[name].folder} are both named {name}; remove one of them.")
        bundles[name] = bundle
    if not bundles:
        raise BundleMissing(f"{folder}: there is no bundle in it, which is a folder with a manifest.json.")
    return list(bundles.values())


class Registry:
    """The translators of a models folder; load, start, resolve, stop."""

    def __init__(
        self, models_dir: Path, settings: EngineSettings | None = None, observer: Observer = NULL_OBSERVER
    ) -> None:
        """Remember where the models are; nothing is read before `load`."""
        self._models_dir = models_dir
        self._settings = settings or EngineSettings()
        self._observer = observer
        self._translators: tuple[Translator, ...] = ()

    @property
    def translators(self) -> Sequence[Translator]:
        """Give the loaded translators, in the order of their names."""
        return self._translators

    @property
    def ready(self) -> bool:
        """Say whether every model is warmed up and its worker alive."""
        return bool(self._translators) and all(translator.ready for translator in self._translators)

    @property
    def dead(self) -> bool:
        """Say whether a model has failed for good, so that the process should be replaced."""
        return any(translator.dead for translator in self._translators)

    def load(self) -> None:
        """Load every bundle of the folder, or none; raises BundleError or DeviceUnavailable."""
        bundles = find_bundles(self._models_dir)
        self._translators = tuple(open_translator(bundle, self._settings, self._observer) for bundle in bundles)

    async def start(self) -> None:
        """Load what is not loaded yet, start the workers and warm them up."""
        if not self._translators:
            await asyncio.to_thread(self.load)
        await asyncio.gather(*(translator.start() for translator in self._translators))

    async def stop(self, drain: float) -> None:
        """Stop the workers; what runs may finish within `drain` seconds."""
        await asyncio.gather(*(translator.stop(drain) for translator in self._translators))

    def models(self) -> list[ModelInfo]:
        """Give what the loaded models say about themselves."""
        return [translator.info for translator in self._translators]

    def languages(self) -> dict[str, tuple[str, ...]]:
        """Give every known language with the languages it can be translated into."""
        infos = self.models()
        codes = {info.source_language for info in infos} | {info.target_language for info in infos}
        return {
            code: tuple(sorted({info.target_language for info in infos if info.source_language == code}))
            for code in sorted(codes)
        }

    def resolve(self, source: str, target: str, model: str | None = None) -> Translator:
        """Give the translator for a pair: the one named by its bundle or architecture, else the Transformer's.

        Raises UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        known = self.languages()
        for language in (source, target):
            if language not in known:
                raise UnsupportedLanguage(f"{language} is not supported")
        fitting = [t for t in self._translators if (t.info.source_language, t.info.target_language) == (source, target)]
        if not fitting:
            raise UnsupportedPair(f"No model translates from {source} to {target}.")
        if model:
            named = [t for t in fitting if model in (t.name, t.info.architecture)]
            if not named:
                names = ", ".join(sorted({t.name for t in fitting} | {t.info.architecture for t in fitting}))
                raise UnknownModel(f"There is no model {model[:64]!r} from {source} to {target}; there are: {names}.")
            return named[0]
        return next((t for t in fitting if t.info.architecture == DEFAULT_ARCHITECTURE), fitting[0])
