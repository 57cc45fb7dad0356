"""Checks that a run can be resumed with a recipe and the prepared text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.recipe import Recipe
from training.runs.fingerprint import Fingerprint, Prepared, PreparedError, changed_values, require_same
from training.runs.folder import RunFolder

FREE_NETWORK_KEYS = (
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "layer_dropout",
    "hard_gradient",
    "entropy_weight",
)
"""The options of a network that may change during training: no parameter depends on them."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The state of a run before it is resumed."""

    update: int
    fingerprint: Fingerprint
    """The fingerprint of the currently prepared text."""


def resumed_from(folder: RunFolder, newest: Path | None, recipe: Recipe) -> Resumed:
    """Check a prepared folder and its newest checkpoint against a recipe.

    Raises PreparedError for text that was prepared with other values, or again after the checkpoint, and ValueError
    for another network, or a share of a start that was not kept.
    """
    prepared = Prepared.load(folder.prepared)
    prepared.require(recipe)
    if not folder.load_development():
        raise PreparedError(f"{folder.path} holds out no sentences: give a corpus `development` and prepare it again")
    if newest is None:
        return Resumed(0, prepared.fingerprint)
    checkpoint = torch.load(newest, map_location="cpu", mmap=True, weights_only=False)
    require_same(checkpoint["fingerprint"], prepared.fingerprint, f"the checkpoints of {folder.path}")
    require_network(checkpoint["network"], recipe)
    if recipe.optimisation.start_share and not folder.start.exists():  # it would only be missed at the end
        raise ValueError(
            f"{folder.path} has not kept the parameters that it began with, of which optimisation.start_share wants a "
            "share: set it before the first update, or give the recipe another name"
        )
    return Resumed(int(checkpoint["global_step"]), prepared.fingerprint)


def require_network(before: Mapping[str, Any], recipe: Recipe) -> None:
    """Raise a one-line ValueError if the recipe's network differs from the one that the run began with."""
    now = recipe.network.model_dump(mode="json", exclude=set(FREE_NETWORK_KEYS))
    changed = changed_values({"network": before}, {"network": now})
    if changed:
        raise ValueError(
            f"a run cannot change its network ({', '.join(changed)}): undo the change, or give the recipe another name "
            "(`start_from` takes along what fits)"
        )
