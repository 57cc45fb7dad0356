"""Finds the bundles that a command means: by a folder or name, by a language pair, or both."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from service.bundle.load import Bundle, is_bundle, load_bundle
from service.bundle.repository import find_bundles, no_models
from service.engine import (
    BundleMissing,
    InvalidOption,
    Languages,
    ModelInfo,
    ModelSettings,
    Pair,
    UnsupportedPair,
    in_order,
    info_of,
    pairs_of,
)


class OptionNames(NamedTuple):
    """The names of the caller's options, for messages."""

    source: str = "--from"
    target: str = "--to"
    model: str = "--model"


_HUB_NAME = re.compile(r"[\w-]{1,96}/[\w.-]{1,96}", re.ASCII)
COMMAND_LINE = OptionNames()


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """The description of the wanted model."""

    model: str | None = None  # a bundle's folder, its name in the folder of models, or an architecture of a pair
    source: str | None = None  # language tags; without a source, the only source language of all models
    target: str | None = None
    preferred: tuple[str, ...] = ()  # bundles that are preferred over bundles with better scores
    pivot: str | None = None  # the language through which pairs without a model are translated
    names: OptionNames = COMMAND_LINE


class LegBundle(NamedTuple):
    """A bundle, and the pair that it has to translate."""

    bundle: Bundle
    pair: Pair


def find_legs(query: ModelQuery, models_dir: Path, settings: ModelSettings) -> list[LegBundle]:
    """Return the wanted bundle: the named one, else the pair's default, by the server's rule.

    If no model translates the pair, return the defaults of its two legs through the pivot language. Raise BundleError,
    DeviceUnavailable, InvalidOption (more options are needed) or UnsupportedPair.
    """
    folder = folder_of(query.model, models_dir) if query.model else None
    named = load_bundle(folder) if folder else None
    if named is not None:
        info = info_of(named, settings)
        if (query.source or query.target) and _pair([info], query) is None:
            pairs = ", ".join(" → ".join(pair) for pair in info.pairs)
            raise UnsupportedPair(f"{info.name} translates {pairs}.")
        return [LegBundle(named, pair_of(info, query))]
    if query.model and _is_path(query.model, models_dir):
        raise _missing(f"{query.model}: there is no such folder", models_dir)
    if query.model and _HUB_NAME.fullmatch(query.model):
        raise BundleMissing(
            f"{query.model} is no folder here. If it is a model on the Hugging Face hub, import it once "
            f"(docs/import.md): python -m training import {query.model} "
            f"--output models/{query.model.partition('/')[2]}"
        )
    if query.model and not query.target:
        raise _missing(f"{query.model} is neither a bundle's folder nor a model's name", models_dir)
    bundles = {bundle.manifest.name: bundle for bundle in find_bundles(models_dir)}
    infos = [info_of(bundle, settings) for bundle in bundles.values()]
    languages = Languages.of(infos, None if query.model else query.pivot)
    pair = _pair(infos, query) or _only_pair(languages.pivoted, languages, query)
    if pair is None:
        pairs = ", ".join(sorted({" → ".join(pair) for info in infos for pair in pairs_of(info)}))
        raise UnsupportedPair(f"No model translates {_asked(query)}; {models_dir} has {pairs}.")
    legs = []
    for leg in languages.legs(*pair):
        ranked = in_order([info for info in infos if leg in pairs_of(info)], query.preferred, leg)
        chosen = [info for info in ranked if query.model in (None, info.architecture)]
        if not chosen:
            raise _missing(f"There is no model {query.model!r} {_asked(query)}", models_dir)
        legs.append(LegBundle(bundles[chosen[0].name], leg))
    return legs


def pair_of(info: ModelInfo, query: ModelQuery) -> Pair:
    """Return the pair of a model: the wanted one, with the model's first source language if none is named.

    Raise InvalidOption if the model has several targets and none is named.
    """
    if query.target is None and len({target for _, target in pairs_of(info)}) > 1:
        return _pair([info], query) or (info.source_language, info.target_language)
    named = query.source or info.source_language, query.target or info.target_language
    return Languages.of([info]).pair(*named) or (info.source_language, info.target_language)


def folder_of(model: str, models_dir: Path) -> Path | None:
    """Return the folder of a bundle that is named by it, or by its name in the folder of models; None without one."""
    return next((folder for folder in (Path(model), models_dir / model) if is_bundle(folder)), None)


def _is_path(model: str, models_dir: Path) -> bool:
    """Return whether a name can only be meant as a folder: in an existing one, in one for models, or absolute."""
    path = Path(model).expanduser()
    if path.name == model:
        return False
    return path.is_absolute() or model.startswith(".") or path.parent.is_dir() or path.parts[0] == models_dir.name


def _pair(infos: Sequence[ModelInfo], query: ModelQuery) -> Pair | None:
    """Return the wanted pair of the models, or None; raise InvalidOption if more options are needed."""
    return _only_pair({pair for info in infos for pair in pairs_of(info)}, Languages.of(infos), query)


def _only_pair(served: Set[Pair], languages: Languages, query: ModelQuery) -> Pair | None:
    """Return the only one of the pairs that is wanted, or None; raise InvalidOption if there are several."""
    pairs = sorted(served)
    if query.source:
        pairs = [pair for pair in pairs if pair == languages.pair(query.source, query.target or pair[1])]
    elif query.target:
        pairs = [pair for pair in pairs if pair == languages.pair(pair[0], query.target)]
    if len(pairs) > 1:
        option, place = (query.names.source, 0) if query.target else (query.names.target, 1)
        codes = sorted({pair[place] for pair in pairs})
        raise InvalidOption(
            f"Choose the language with {option}: {', '.join(codes)}; or name a model with {query.names.model}."
        )
    return pairs[0] if pairs else None


def _asked(query: ModelQuery) -> str:
    source = f"from {query.source!r} " if query.source else ""
    return f"{source}to {query.target!r}" if query.target else f"{source}to any language"


def _missing(what: str, models_dir: Path) -> BundleMissing:
    """Return the error about a model that is not there, which says which models there are."""
    names = sorted(folder.name for folder in models_dir.iterdir() if is_bundle(folder)) if models_dir.is_dir() else []
    if names:
        return BundleMissing(f"{what}; {models_dir} has {', '.join(names)}.")
    return no_models(f"{what}; there are no models in {models_dir}.")
