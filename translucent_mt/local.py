"""Models in this process."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, cast

from service import engine
from service.bundle.load import read_bundle
from service.bundle.repository import find_bundles
from service.cli.find_model import ModelQuery, OptionNames, find_legs
from service.engine import (
    AttentionMap,
    Budget,
    EngineSettings,
    InvalidOption,
    Languages,
    ModelSettings,
    WorkerSettings,
    canonical,
    open_translator,
    translate_in_legs,
)
from service.glossaries.checks import Entry, glossary_of
from service.settings.fields import DEFAULT_PIVOT, default_models_folder
from translucent_mt.backend import AttentionOptions, LoadOptions, Model, Pair, TranslatedText, TranslationOptions

EVERYTHING = 1 << 40  # no limit: only this program fills the queue
NAMES = OptionNames("source=", "target=", "model=")


class LocalBackend:
    """The started model of a pair in this process, or the two models of a pivoted pair."""

    def __init__(self, legs: Sequence[engine.Translator]) -> None:
        self._legs = legs
        info = legs[-1].info
        self.model = Model.of(info, Pair(legs[0].info.source_language, info.target_language))

    @classmethod
    async def load(cls, model: str | None, options: LoadOptions) -> Self:
        """Load and warm up a model: a bundle's folder, its name, or an architecture of a pair; raise EngineError."""
        legs = await asyncio.to_thread(_open, model, options)
        await asyncio.gather(*(leg.model.start() for leg in legs))
        return cls(legs)

    async def translate(self, texts: Sequence[str], options: TranslationOptions) -> list[TranslatedText]:
        """Translate texts, each cut into sentences."""
        given = dict(options)
        terms = cast(Mapping[str, str | Sequence[str]] | None, given.pop("glossary", None))
        glossary = None if terms is None else glossary_of(map(_entry, terms.items()))
        wanted = engine.TranslationOptions(**{"details": True, **given}, glossary=glossary)  # type: ignore[arg-type]
        found = await translate_in_legs(self._legs, texts, wanted, engine.Translator.translate)
        pair = Pair(self.model.source, self.model.target)
        return [
            TranslatedText(
                each.text, pair, each.alternatives, each.sentences, each.quality, each.pivot, self._notes(each, wanted)
            )
            for each in found
        ]

    def _notes(self, found: engine.Translation, options: engine.TranslationOptions) -> tuple[str, ...]:
        pairs = [(each.source_text, each.target_text) for each in found.qualities]
        last = self._legs[-1].info  # the sentences are those of the last leg
        note = engine.formality_note(options.formality, pairs, (last.source_language, last.target_language))
        return (note,) if note else ()

    async def attention(
        self, text: str, target_text: str | None, options: AttentionOptions, pair: Pair | None = None
    ) -> AttentionMap:
        """Return the attention of a sentence and its own translation, or of the given one."""
        leg = self._leg(pair)
        shown = {name: value for name, value in options.items() if name in _SHOWN}
        shown |= {name: tuple(shown[name]) for name in ("source_ids", "target_ids") if name in shown}  # type: ignore[arg-type]
        search = {name: value for name, value in options.items() if name not in {*_SHOWN, "view"}}
        default = "align" if options.get("kind", "cross") == "cross" else "mean"
        wanted = engine.AttentionOptions(
            **{"layer": default, "head": default, **shown},  # type: ignore[arg-type]
            trace=options.get("view") == "steps",
            translation=engine.TranslationOptions(**search),  # type: ignore[arg-type]
        )
        return await leg.attention(text, target_text, wanted)

    async def close(self) -> None:
        """Stop the threads of the models and free their memory."""
        await asyncio.gather(*(leg.model.stop(0.0) for leg in self._legs))

    def _leg(self, pair: Pair | None) -> engine.Translator:
        """Return the model that translated a sentence of this pair; raise InvalidOption if that is not known."""
        for leg in self._legs:
            if len(self._legs) == 1 or (pair and canonical(leg.info.source_language) == canonical(pair.source)):
                return leg
        raise InvalidOption(
            f"{self.model.source} → {self.model.target} is translated through {self._legs[-1].info.source_language}, "
            "and each of the two translations has its own attention: use that of a sentence of the result, or of its "
            "`pivot`."
        )


def list_models(models_dir: str | Path | None = None) -> list[Model]:
    """Return the models of a folder, one for each of their pairs, None for the default one; raise BundleMissing."""
    folder = default_models_folder() if models_dir is None else Path(models_dir)
    infos = [engine.info_of(bundle, ModelSettings()) for bundle in find_bundles(folder, read_bundle)]
    return [Model.of(info, Pair(*pair)) for info in infos for pair in engine.pairs_of(info)]


def local_pairs(models_dir: Path | None = None) -> list[Pair]:
    """Return the language pairs that the bundles of a folder serve, None for the default one; raise BundleMissing."""
    bundles = find_bundles(default_models_folder() if models_dir is None else models_dir)
    known = Languages.of([engine.info_of(bundle, ModelSettings()) for bundle in bundles], DEFAULT_PIVOT)
    return [Pair(source, each) for source, targets in known.targets.items() for each in targets if each != source]


_SHOWN = frozenset({"kind", "layer", "head", "tokens", "specials", "source_ids", "target_ids"})


def _open(model: str | None, options: LoadOptions) -> list[engine.Translator]:
    folder = Path(options["models_dir"]) if "models_dir" in options else default_models_folder()
    device, precision, threads = (
        options.get("device", "auto"),
        options.get("precision"),
        options.get("intra_threads", 1),
    )
    settings = ModelSettings(device, precision, threads)
    wanted = None if model is None else str(model)
    query = ModelQuery(wanted, options.get("source"), options.get("target"), pivot=DEFAULT_PIVOT, names=NAMES)
    budget = Budget(rows=0, queued_sentences=EVERYTHING, queued_tokens=EVERYTHING)
    own = EngineSettings(settings, WorkerSettings(budget))
    legs = find_legs(query, folder, settings)
    first = engine.info_of(legs[0].bundle, settings)
    if query.source is None and len(first.sources) > 1:
        raise InvalidOption(f"{first.name} translates from {', '.join(first.sources)}: choose with {NAMES.source}.")
    return [open_translator(leg.bundle, own).for_pair(*leg.pair) for leg in legs]


def _entry(term: tuple[str, str | Sequence[str]]) -> Entry:
    source, targets = term
    return source, (targets,) if isinstance(targets, str) else tuple(targets)
