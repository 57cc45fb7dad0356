"""Finds the bundle that a command means: by its folder or name, by a language pair, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from service.bundle.load import Bundle, is_bundle, load_bundle
from service.bundle.repository import find_bundles
from service.engine import (
    BundleMissing,
    InvalidOption,
    Languages,
    ModelInfo,
    ModelSettings,
    UnsupportedPair,
    in_order,
    info_of,
    pairs_of,
)


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """The description of the wanted model."""

    model: str | None = None  # a bundle's folder, its name in the folder of models, or an architecture of a pair
    source: str | None = None  # language tags; without a source, the only source language of all models
    target: str | None = None
    preferred: tuple[str, ...] = ()  # bundles that are preferred over bundles with better scores


def find_bundle(wanted: ModelQuery, models_dir: Path, settings: ModelSettings) -> Bundle:
    """Return the wanted bundle: the named one, else the pair's default, by the server's rule.

    Raise BundleError, DeviceUnavailable, InvalidOption (more options are needed) or UnsupportedPair.
    """
    named = _named(wanted.model, models_dir) if wanted.model else None
    if named is not None:
        info = info_of(named, settings)
        if (wanted.source or wanted.target) and _pair([info], wanted) is None:
            pairs = ", ".join(" → ".join(pair) for pair in info.pairs)
            raise UnsupportedPair(f"{info.name} translates {pairs}.")
        return named
    if wanted.model and not wanted.target:
        raise BundleMissing(f"{wanted.model} is neither a bundle's folder nor a model's name; {_there(models_dir)}.")
    bundles = {bundle.manifest.name: bundle for bundle in find_bundles(models_dir)}
    infos = [info_of(bundle, settings) for bundle in bundles.values()]
    pair = _pair(infos, wanted)
    fitting = [info for info in infos if pair in pairs_of(info)]
    if not fitting:
        pairs = ", ".join(sorted({" → ".join(pair) for info in infos for pair in pairs_of(info)}))
        raise UnsupportedPair(f"No model translates {_asked(wanted)}; {models_dir} has {pairs}.")
    ranked = in_order(fitting, wanted.preferred, pair or ("", ""))
    chosen = [info for info in ranked if wanted.model in (None, info.architecture)]
    if not chosen:
        raise BundleMissing(f"There is no model {wanted.model!r} {_asked(wanted)}; {_there(models_dir)}.")
    return bundles[chosen[0].name]


def pair_of(info: ModelInfo, wanted: ModelQuery) -> tuple[str, str]:
    """Return the pair of a model: the wanted one, with the model's first source language if none is named.

    Raise InvalidOption if the model has several targets and none is named.
    """
    if wanted.target is None and len({target for _, target in pairs_of(info)}) > 1:
        return _pair([info], wanted) or (info.source_language, info.target_language)
    named = wanted.source or info.source_language, wanted.target or info.target_language
    return Languages.of([info]).pair(*named) or (info.source_language, info.target_language)


def _named(model: str, models_dir: Path) -> Bundle | None:
    return next((load_bundle(folder) for folder in (Path(model), models_dir / model) if is_bundle(folder)), None)


def _pair(infos: Sequence[ModelInfo], wanted: ModelQuery) -> tuple[str, str] | None:
    """Return the wanted pair, or None if there is none; raise InvalidOption if more options are needed."""
    known = Languages.of(infos)
    pairs = sorted({pair for info in infos for pair in pairs_of(info)})
    if wanted.source:
        pairs = [pair for pair in pairs if pair == known.pair(wanted.source, wanted.target or pair[1])]
    elif wanted.target:
        pairs = [pair for pair in pairs if pair == known.pair(pair[0], wanted.target)]
    if len(pairs) > 1:
        option, place = ("--from", 0) if wanted.target else ("--to", 1)
        codes = sorted({pair[place] for pair in pairs})
        raise InvalidOption(f"Choose the language with {option}: {', '.join(codes)}; or name a model with --model.")
    return pairs[0] if pairs else None


def _asked(wanted: ModelQuery) -> str:
    source = f"from {wanted.source!r} " if wanted.source else ""
    return f"{source}to {wanted.target!r}" if wanted.target else f"{source}to any language"


def _there(models_dir: Path) -> str:
    names = sorted(folder.name for folder in models_dir.iterdir() if is_bundle(folder)) if models_dir.is_dir() else []
    return f"{models_dir} has {', '.join(names)}" if names else f"there are no models in {models_dir}"
