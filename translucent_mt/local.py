"""A model in this process."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, cast

from service import engine
from service.bundle.repository import find_bundles
from service.cli.find_model import ModelQuery, OptionNames, find_legs
from service.engine import AttentionMap, Budget, EngineSettings, ModelSettings, WorkerSettings, open_translator
from service.glossaries.checks import Entry, glossary_of
from service.settings.fields import default_models_folder
from translucent_mt.backend import AttentionOptions, LoadOptions, Model, Pair, Translated, TranslationOptions

EVERYTHING = 1 << 40  # no limit: only this program fills the queue
NAMES = OptionNames("source=", "target=", "model=")


class LocalBackend:
    """A started model of this process."""

    def __init__(self, translator: engine.Translator) -> None:
        self._translator = translator
        info = translator.info
        self.model = Model(
            name=info.name,
            architecture=info.architecture,
            source=info.source_language,
            target=info.target_language,
            digest=info.digest,
            precision=info.precision,
            attention=info.attention,
            card=info.card,
        )

    @classmethod
    async def load(cls, model: str | None, options: LoadOptions) -> Self:
        """Load and warm up a model: a bundle's folder, its name, or an architecture of a pair; raise EngineError."""
        translator = await asyncio.to_thread(_open, model, options)
        await translator.start()
        return cls(translator)

    async def translate(self, texts: Sequence[str], options: TranslationOptions) -> list[Translated]:
        """Translate texts, each cut into sentences."""
        given = dict(options)
        terms = cast(Mapping[str, str | Sequence[str]] | None, given.pop("glossary", None))
        glossary = None if terms is None else glossary_of(map(_entry, terms.items()))
        wanted = engine.TranslationOptions(**{"details": True, **given}, glossary=glossary)  # type: ignore[arg-type]
        found = await self._translator.translate(texts, wanted)
        source = self.model.source
        return [
            Translated(each.text, each.alternatives, each.sentences, each.quality, self._notes(each, wanted), source)
            for each in found
        ]

    def _notes(self, found: engine.Translation, options: engine.TranslationOptions) -> tuple[str, ...]:
        pairs = [(each.source_text, each.target_text) for each in found.qualities]
        note = engine.formality_note(options.formality, pairs, (self.model.source, self.model.target))
        return (note,) if note else ()

    async def attention(
        self, text: str, target_text: str | None, options: AttentionOptions, source: str | None = None
    ) -> AttentionMap:
        """Return the attention of a sentence and its own translation, or of the given one."""
        shown = {name: value for name, value in options.items() if name in _SHOWN}
        shown |= {name: tuple(shown[name]) for name in ("source_ids", "target_ids") if name in shown}  # type: ignore[arg-type]
        search = {name: value for name, value in options.items() if name not in {*_SHOWN, "view"}}
        default = "align" if options.get("kind", "cross") == "cross" else "mean"
        wanted = engine.AttentionOptions(
            **{"layer": default, "head": default, **shown},  # type: ignore[arg-type]
            trace=options.get("view") == "steps",
            translation=engine.TranslationOptions(**search),  # type: ignore[arg-type]
        )
        return await self._translator.attention(text, target_text, wanted)

    async def close(self) -> None:
        """Stop the model's threads and free its memory."""
        await self._translator.stop(0.0)


def local_pairs(models_dir: Path | None = None) -> list[Pair]:
    """Return the language pairs of the bundles of a folder, None for the default one; raise BundleMissing."""
    bundles = find_bundles(default_models_folder() if models_dir is None else models_dir)
    infos = [engine.info_of(bundle, ModelSettings()) for bundle in bundles]
    return sorted({Pair(*pair) for info in infos for pair in engine.pairs_of(info)})


_SHOWN = frozenset({"kind", "layer", "head", "tokens", "specials", "source_ids", "target_ids"})


def _open(model: str | None, options: LoadOptions) -> engine.Translator:
    folder = Path(options["models_dir"]) if "models_dir" in options else default_models_folder()
    device, precision, threads = (
        options.get("device", "auto"),
        options.get("precision"),
        options.get("intra_threads", 1),
    )
    settings = ModelSettings(device, precision, threads)
    wanted = None if model is None else str(model)
    query = ModelQuery(wanted, options.get("source"), options.get("target"), names=NAMES)
    [leg] = find_legs(query, folder, settings)  # without a pivot language there is one
    budget = Budget(queued_sentences=EVERYTHING, queued_tokens=EVERYTHING)
    return open_translator(leg.bundle, EngineSettings(settings, WorkerSettings(budget))).for_pair(*leg.pair)


def _entry(term: tuple[str, str | Sequence[str]]) -> Entry:
    source, targets = term
    return source, (targets,) if isinstance(targets, str) else tuple(targets)
