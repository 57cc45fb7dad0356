"""Checks that a run can be resumed with a recipe and the prepared text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.data.prepare import fingerprint_of
from training.recipe import Recipe
from training.runs.fingerprint import Fingerprint, Prepared, PreparedError, require_same
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
    warnings: tuple[str, ...]


def resumed_from(folder: RunFolder, newest: Path | None, recipe: Recipe) -> Resumed:
    """Check a prepared folder and its newest checkpoint against a recipe.

    Raises PreparedError for text that was prepared with other values, or again after the checkpoint, and ValueError
    for another network. A folder without a fingerprint passes with a warning.
    """
    prepared = Prepared.load(folder.prepared)
    if prepared is not None:
        prepared.require(recipe)
    if not folder.load_development():
        raise PreparedError(f"{folder.path} holds out no sentences: give a corpus `development` and prepare it again")
    fingerprint = fingerprint_of(folder) if prepared is None else prepared.fingerprint
    if newest is None:
        return Resumed(0, fingerprint, () if prepared else (_unrecorded(folder),))
    checkpoint = torch.load(newest, map_location="cpu", mmap=True, weights_only=False)
    if "fingerprint" in checkpoint:
        require_same(checkpoint["fingerprint"], fingerprint, f"the checkpoints of {folder.path}")
    if "network" in checkpoint:
        require_network(checkpoint["network"], recipe)
    known = prepared is not None and "fingerprint" in checkpoint
    return Resumed(int(checkpoint["global_step"]), fingerprint, () if known else (_unrecorded(folder),))


def require_network(before: Mapping[str, Any], recipe: Recipe) -> None:
    """Raise a one-line ValueError if the recipe's network differs from the one that the run began with."""
    changed = list(_changed(before, recipe.network.model_dump(mode="json")))
    if changed:
        raise ValueError(
            f"a run cannot change its network ({', '.join(changed)}): undo the change, or give the recipe another name "
            "(`start_from` takes along what fits)"
        )


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, value in now.items():
        if key not in FREE_NETWORK_KEYS and key in before and before[key] != value:
            yield f"network.{key}: {before[key]} → {value}"


def _unrecorded(folder: RunFolder) -> str:
    return (
        f"{folder.path} was prepared or trained by an older version, without a fingerprint: its text, links and "
        "checkpoints may not belong together"
    )
