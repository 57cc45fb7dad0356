"""Reads a run's checkpoints: parameters, their mean, or the whole network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import is_zipfile

import torch
from tokenizers import Tokenizer

from training.networks.build import Network, build_network
from training.recipe import Recipe
from training.runs.folder import RunFolder

Parameters = dict[str, torch.Tensor]


def newest_checkpoint(folder: RunFolder) -> Path | None:
    """Return the whole checkpoint of the latest update, or None in a fresh folder."""
    checkpoints = whole_checkpoints(folder)
    return checkpoints[-1] if checkpoints else None


def whole_checkpoints(folder: RunFolder) -> list[Path]:
    """Return the checkpoints by update, without those whose end is missing: a full disk cuts a file off."""
    return sorted(filter(is_zipfile, folder.checkpoints.glob("[0-9]*.ckpt")), key=lambda path: int(path.stem))


def damaged_checkpoints(folder: RunFolder) -> list[Path]:
    """Return the checkpoints that cannot be read."""
    return sorted({*folder.checkpoints.glob("[0-9]*.ckpt")} - {*whole_checkpoints(folder)})


def trained_parameters(folder: RunFolder) -> Path | None:
    """Return a run's parameters: the mean of its last checkpoints, or the newest one if training has continued since.

    None in a fresh folder.
    """
    newest = newest_checkpoint(folder)
    if not folder.averaged.exists():
        return newest
    averaged = torch.load(folder.averaged, map_location="cpu", mmap=True, weights_only=True)
    return folder.averaged if newest is None or averaged.get("update", 0) >= int(newest.stem) else newest


def write_average(folder: RunFolder, last: int, start_share: float = 0.0) -> None:
    """Write the mean of the ``last`` checkpoints, and the update of the newest, into the run folder.

    ``start_share``: that of the parameters that the run began with.
    """
    newest = newest_checkpoint(folder)
    parameters = average_checkpoints(folder, last)
    if start_share:
        start = load_parameters(folder.start)
        parameters = {name: torch.lerp(value, start[name], start_share) for name, value in parameters.items()}
    assert newest is not None  # otherwise there is nothing to average
    torch.save({"update": int(newest.stem), "parameters": parameters}, folder.averaged)


def average_checkpoints(folder: RunFolder, last: int) -> Parameters:
    """Return the mean of the ``last`` checkpoints' network parameters (1706.03762, section 6.1).

    Older ones may be there from before a change of ``keep_checkpoints``. Raises FileNotFoundError if there is none.
    """
    paths = whole_checkpoints(folder)[-last:]
    if not paths:
        raise FileNotFoundError(f"no checkpoint in {folder.checkpoints}: train first")
    total: Parameters = {}
    for path in paths:
        for name, value in load_parameters(path).items():
            total[name] = total[name] + value if name in total else value.clone()
    return {name: value / len(paths) for name, value in total.items()}


def load_parameters(file: Path) -> Parameters:
    """Return the network's parameters from a checkpoint, a mean of several, or a file with only parameters."""
    content = torch.load(file, map_location="cpu", weights_only=False)
    parameters: Parameters = content.get("state_dict", content.get("parameters", content))
    prefix = "network."
    if "state_dict" not in content:
        return parameters
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class Trained:
    """A network with the vocabulary and the recipe of its training."""

    network: Network
    tokenizer: Tokenizer
    recipe: Recipe
    weights: str
    """The file of the parameters."""


Weights = Literal["usual", "best"]
"""``usual``: the mean of the last checkpoints, or the newest one if training continued since. ``best``: the checkpoint
with the highest development BLEU."""


def load_trained(path: Path, which: Weights = "usual") -> Trained:
    """Return a run folder's network with the requested parameters.

    Raises FileNotFoundError if the folder does not have them.
    """
    folder = RunFolder(path)
    if not folder.recipe.exists():
        raise FileNotFoundError(f"{path} is not a run folder: there is no {folder.recipe.name} in it")
    weights = _weights(folder, which)
    if weights is None:
        raise FileNotFoundError(f"{path} holds no averaged parameters and no checkpoint: train first")
    recipe, tokenizer = folder.load_recipe(), folder.load_tokenizer()
    network = build_network(recipe.network, tokenizer.get_vocab_size()).eval()
    network.load_state_dict(load_parameters(weights))
    return Trained(network, tokenizer, recipe, weights.name)


def _weights(folder: RunFolder, which: Weights) -> Path | None:
    if which == "usual":
        return trained_parameters(folder)
    if not folder.best.exists():
        raise FileNotFoundError(f"there is no {folder.best}: it is written at the first validation")
    return folder.best
