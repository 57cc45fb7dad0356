"""The variants of a grid: one recipe with some of its keys varied."""

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
    key, separator, values = text.partition("=")
    try:
        parsed = yaml.safe_load(f"[{values}]")
    except yaml.YAMLError as error:
        raise RecipeError(f"--vary {text!r} is not a list of values: {error}") from error
    # In YAML 1.1, `off` and `no` are booleans, but `none` is a string and `null` is no value.
    if not separator or not key or not parsed:
        raise RecipeError(f"--vary {text!r} must look like network.score=additive,dot")
    plain = (isinstance(value, str) and yaml.safe_load(value) == value for value in parsed)  # needs no quotes
    return [f"{key}={value if bare else json.dumps(value)}" for value, bare in zip(parsed, plain, strict=True)]


def combinations(axes: Sequence[Sequence[str]], each: bool) -> list[list[str]]:
    """Return the overrides of every variant: all combinations or, with ``each``, every axis alone."""
    return [[override] for axis in axes for override in axis] if each else list(map(list, itertools.product(*axes)))


def make_variants(
    path: Path, fixed: Sequence[str], chosen: Sequence[Sequence[str]], seeds: int
) -> tuple[list[Variant], list[str]]:
    """Return the variants of a recipe, seed by seed, and a line for each combination that no recipe can have.

    ``fixed`` are overrides of all variants. Overrides that change nothing do not count, so that a variant has one name
    however it was asked for.
    """
    base = load_recipe(path)
    variants: dict[tuple[str, int], Variant] = {}
    refused = []
    for own in chosen:
        overrides = [*fixed, *own]
        try:
            recipe = load_recipe(path, overrides)
        except RecipeError as error:
            refused.append(f"left out: {', '.join(overrides)}: {str(error).splitlines()[-1].strip()}")
            continue
        name = variant_name(base, recipe, overrides)
        for seed in range(recipe.seed, recipe.seed + seeds):
            full_name = _short(base.name if name == "base" else f"{base.name}-{name}")
            changed = recipe.model_copy(update={"seed": seed, "name": full_name})
            variants[name, seed] = Variant(name, changed)
    ordered = sorted(variants, key=lambda key: key[1])  # a stable sort: seed by seed, in the order of the variants
    return [variants[key] for key in ordered], list(dict.fromkeys(refused))


def _short(name: str) -> str:
    """Return a name that a bundle may have: of a long one, the beginning and a hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].rstrip('-')}-{hash_of(name.encode())[:8]}"


def variant_name(base: Recipe, recipe: Recipe, overrides: Sequence[str]) -> str:
    """Return a name for the overrides that change something: ``score-dot``, ``conditional``, ``no-tie-embeddings``."""
    before, now = base.model_dump(mode="json"), recipe.model_dump(mode="json")
    words = []
    for key in sorted({override.partition("=")[0] for override in overrides}):
        old, value = _value(before, key), _value(now, key)
        if old != value:
            words.append(_word(key.rpartition(".")[2], value))
    return "-".join(words) or "base"


def _value(recipe: dict[str, Any], key: str) -> Any:
    value: Any = recipe
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _word(key: str, value: Any) -> str:
    if value is None or value is False:
        text = f"no-{key}"
    elif value is True or isinstance(value, dict):
        text = key
    else:
        text = f"{key}-{value}"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
