"""The record of a prepared run folder: its recipe and a fingerprint, with which checkpoints and links are compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.files import write_json
from training.recipe import CorpusConfig, Recipe

_FREE = ("weight", "licence", "credit")
"""Keys of a corpus that can change without a new `prepare`."""

MISSING = object()

Fingerprint = Mapping[str, str]
"""Hashes of the vocabulary, of the development pairs and of each corpus, by name."""


class PreparedError(ValueError):
    """The prepared text does not belong to the recipe, the checkpoints or the links."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The record of ``prepare``: the part of the recipe that it used, and the fingerprint of the text that it made."""

    recipe: Mapping[str, Any]
    fingerprint: Fingerprint

    def save(self, path: Path) -> None:
        """Write the record as JSON."""
        write_json(path, {"recipe": self.recipe, "fingerprint": self.fingerprint})

    @staticmethod
    def load(path: Path) -> Prepared:
        """Return the record that ``save`` wrote; raise PreparedError if there is none."""
        if not path.exists():
            raise PreparedError(f"{path} is missing: run `python -m training prepare` first")
        content = json.loads(path.read_text(encoding="utf-8"))
        return Prepared(content["recipe"], content["fingerprint"])

    def require(self, recipe: Recipe) -> None:
        """Raise PreparedError with the keys of ``recipe`` that have changed since the text was prepared."""
        changed = changed_values(self.recipe, prepared_part(recipe))
        if changed:
            raise PreparedError(
                f"this run was prepared with other values ({'; '.join(changed)}), which only `prepare` can change: "
                "undo the changes, or give the recipe another name and prepare that (`start_from` takes parameters "
                "along)"
            )


def prepared_part(recipe: Recipe) -> dict[str, Any]:
    """Return the part of a recipe that `prepare` uses, as plain data, with only the names of files and folders."""
    return {
        "source_languages": list(recipe.source_languages),
        "target_language": recipe.target_language,
        "max_tokens": recipe.max_tokens,
        "cleaning": recipe.cleaning.model_dump(mode="json"),
        "vocabulary": _named(recipe.vocabulary.model_dump()),
        "corpora": {corpus.name: _corpus(corpus) for corpus in recipe.corpora},
    }


def _corpus(corpus: CorpusConfig) -> dict[str, Any]:
    return _named({key: value for key, value in corpus.model_dump().items() if key not in _FREE})


def _named(values: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        """Return a value as it is read again from JSON."""
        if isinstance(value, dict):
            return _named(value)
        return value.name if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value

    return {key: plain(value) for key, value in values.items()}


def changes(before: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield key, old and new value of each difference between two recipes, or MISSING where one has no such key."""
    for key in dict.fromkeys((*now, *before)):
        old, new = before.get(key, MISSING), now.get(key, MISSING)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from changes(old, new, f"{where}{key}.")
        elif old != new:
            yield f"{where}{key}", old, new


def changed_values(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return ``key: old → new`` for each key that both have; a key that only one version knows makes no difference."""
    return [f"{key}: {old} → {new}" for key, old, new in changes(before, now) if MISSING not in (old, new)]


def hash_of(*contents: bytes | memoryview) -> str:
    """Return a short hash of bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def require_same(before: Fingerprint, now: Fingerprint, what: str) -> None:
    """Raise PreparedError if ``what`` was made from another text; corpora may be added or removed."""
    others = [name for name, value in before.items() if name in now and now[name] != value]
    if others:
        raise PreparedError(
            f"{what} were made with other text than this folder contains now (different: {', '.join(others)}): give "
            f"the "
            "recipe another name and prepare that (`start_from` takes parameters along), or delete them to start again"
        )
