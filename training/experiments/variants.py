"""The variants of a recipe: combinations of overrides, and their names."""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from training.recipe import Recipe, RecipeError, load_recipe
from training.runs.fingerprint import hash_of

LONGEST_NAME = 64
"""Characters of a bundle's name."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One recipe of a grid, for one seed."""

    name: str
    """``base``, or the keys that differ from the base recipe with their values."""
    recipe: Recipe


def parse_axis(text: str) -> list[str]:
    """Return the overrides that ``KEY=VALUE,VALUE`` stands for; a value may be a YAML flow mapping.

    Raises RecipeError.
    """
    key, _, values = text.partition("=")
    try:
        parsed = yaml.safe_load(f"[{values}]")
    except yaml.YAMLError as error:
        raise RecipeError(f"--vary {text!r} is not a list of values: {error}") from error
    if not key or not parsed:
        raise RecipeError(f"--vary {text!r} must look like network.score=additive,dot")
    return [f"{key}={_written(value)}" for value in parsed]


def _written(value: Any) -> str:
    """Return a value as YAML; in YAML 1.1, `off` and `no` are booleans, so a string may need quotes."""
    return value if isinstance(value, str) and yaml.safe_load(value) == value else json.dumps(value)


def combinations(axes: Sequence[Sequence[str]], singly: bool) -> list[list[str]]:
    """Return the overrides of every variant: all combinations or, with ``singly``, every axis alone."""
    return [[override] for axis in axes for override in axis] if singly else list(map(list, itertools.product(*axes)))


def make_variants(
    path: Path, fixed: Sequence[str], chosen: Sequence[Sequence[str]], seeds: int
) -> tuple[list[Variant], list[str]]:
    """Return the variants of a recipe, seed by seed, and a line for each combination that no recipe can have.

    ``fixed`` are overrides of all variants. Overrides that change nothing do not count, so that a variant has one name
    however it was asked for.
    """
    base = load_recipe(path)
    recipes: dict[str, Recipe] = {}
    refused = []
    for choices in chosen:
        overrides = [*fixed, *choices]
        try:
            recipe = load_recipe(path, overrides)
        except RecipeError as error:
            refused.append(f"left out: {', '.join(overrides)}: {str(error).splitlines()[-1].strip()}")
            continue
        recipes[_name(base, recipe, overrides)] = recipe
    variants = []
    for seed, (name, recipe) in itertools.product(range(seeds), recipes.items()):
        full_name = _short(base.name if name == "base" else f"{base.name}-{name}")
        variants.append(Variant(name, recipe.model_copy(update={"seed": recipe.seed + seed, "name": full_name})))
    return variants, list(dict.fromkeys(refused))


def _short(name: str) -> str:
    """Return a name that a bundle may have: of a long one, the beginning and a hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].rstrip('-')}-{hash_of(name.encode())[:8]}"


def _name(base: Recipe, recipe: Recipe, overrides: Sequence[str]) -> str:
    """Return a name for the overrides that change something: ``score-dot``, ``conditional``, ``no-tie-embeddings``."""
    words = []
    for key in sorted({override.partition("=")[0] for override in overrides}):
        before, now = (_value(variant.model_dump(mode="json"), key) for variant in (base, recipe))
        if before != now:
            word = key.rpartition(".")[2]
            if now is None or now is False:
                word = f"no-{word}"
            elif now is not True and not isinstance(now, dict):
                word = f"{word}-{now}"
            words.append(re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-"))
    return "-".join(words) or "base"


def _value(recipe: dict[str, Any], key: str) -> Any:
    value: Any = recipe
    for part in key.split("."):
        value = (value or {}).get(part)
    return value
