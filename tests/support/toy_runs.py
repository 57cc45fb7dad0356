"""Training runs of the toy recipe: how to start one, and what its log says."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from training.data.dataset import EncodedPairs
from training.recipe import Recipe, load_recipe
from training.runs.folder import RunFolder
from training.trainer.run import train

ROOT = Path(__file__).parents[2]
TOY = ROOT / "training" / "recipes" / "toy.yaml"
Starter = Callable[..., "subprocess.Popen[bytes]"]


def toy_recipe(**changes: Any) -> Recipe:
    """Return the toy recipe with other values of some of its keys."""
    return Recipe.model_validate(load_recipe(TOY).model_dump() | changes)


def write_toy(folder: Path, **changes: Any) -> Path:
    """Write the toy recipe with other values of some of its keys, or keys that only a file has."""
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(load_recipe(TOY).model_dump(mode="json") | changes), "utf-8")
    return path


def prepared_text(folder: RunFolder, corpus: str) -> list[tuple[str, str]]:
    """Return the training pairs of a corpus as text."""
    pairs, tokenizer = EncodedPairs.load(folder.corpus(corpus)), folder.load_tokenizer()
    sources, targets = (
        [tokenizer.decode(side[i].tolist()) for i in range(len(pairs))] for side in (pairs.source, pairs.target)
    )
    return list(zip(sources, targets, strict=True))


def train_some(folder: RunFolder, *overrides: str) -> None:
    """Train the toy in this process, looking at a few development sentences every ten updates."""
    usual = ("validation.every_updates=10", "validation.sentences=5", "optimisation.cooldown_updates=0")
    train(load_recipe(TOY, [*usual, *overrides]), folder, progress=False)


def development_losses(run: Path) -> dict[int, float]:
    """Update → development loss, read from the log a user reads; the last entry of an update counts."""
    text = (run / "toy" / "train.log").read_text()
    return {int(update): float(loss) for update, loss in re.findall(r"update=(\d+) .*?dev_loss=(\S+)", text)}
