"""Recipes in stages: a model that is trained in several runs, each of which begins with the one before it."""

from pathlib import Path
from typing import Any

from training.recipe import Recipe, RecipeError, apply_overrides, checked_recipe, read_recipe


def load_recipes(path: Path, runs: Path, overrides: list[str] | None = None) -> list[Recipe]:
    """Return the recipes of a file in their order: one for each of its ``stages``, or the only one.

    A stage has a ``name`` and the keys that it changes: sections are merged, any other value is replaced. Its run is
    NAME-STAGE in ``runs``. It begins with the parameters of the stage before, unless it has a ``start_from``.
    Overrides change every stage. Raises RecipeError as ``load_recipe`` does.
    """
    shared = read_recipe(path)
    stages = shared.pop("stages", None)
    if stages is None:
        return [checked_recipe(apply_overrides(shared, overrides), path)]
    if not isinstance(stages, list) or not all(isinstance(stage, dict) and "name" in stage for stage in stages):
        raise RecipeError(f"{path}: stages must be a list of sections, each with a name")
    recipes: list[Recipe] = []
    for stage in stages:
        begun = {"start_from": str(runs / recipes[-1].run)} if recipes else {}
        changes = {key: value for key, value in stage.items() if key != "name"}
        content = _merged(shared, begun | changes | {"stage": stage["name"]})
        recipes.append(checked_recipe(apply_overrides(content, overrides), path))
    return recipes


def _merged(content: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return new sections with the changes in them."""
    result = {key: _merged(value, {}) if isinstance(value, dict) else value for key, value in content.items()}
    for key, value in changes.items():
        before = result.get(key)
        result[key] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result
