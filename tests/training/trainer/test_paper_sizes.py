"""The recipes of the papers' sizes run: three updates of each, on the toy's text and with small batches."""

import math
from pathlib import Path

import pytest
import torch

from tests.support.toy_runs import ROOT
from training.data.prepare import prepare
from training.recipe import load_recipe
from training.runs.folder import RunFolder
from training.trainer.checkpoints import newest_checkpoint
from training.trainer.run import train

OVERRIDES = (
    f"corpora=[{{name: toy, path: {ROOT / 'training' / 'recipes' / 'toy.tsv'}, development: 5}}]",
    "vocabulary.size=420",
    "optimisation.batch_tokens=60",
    "optimisation.max_updates=3",
    "optimisation.warmup_updates=1",
    "validation.every_updates=3",
    "validation.sentences=1",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Lightning's own
@pytest.mark.parametrize("name", ["transformer-base", "bahdanau-base"])
def test_a_recipe_of_the_papers_size_makes_updates(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(ROOT / "training" / "recipes" / f"{name}.yaml", list(OVERRIDES))
    assert recipe.optimisation.precision == "bf16"
    folder = RunFolder(tmp_path / name)
    prepare(recipe, folder, None, tmp_path)

    train(recipe, folder, progress=False)

    newest = newest_checkpoint(folder)
    assert newest == folder.checkpoints / "00000003.ckpt"
    parameters = torch.load(newest, weights_only=False)["state_dict"]
    assert sum(value.numel() for value in parameters.values()) > 20_000_000
    assert all(value.isfinite().all() for value in parameters.values())
    loss = float(folder.log.read_text().split("dev_loss=")[1].split()[0])
    assert loss < 2 * math.log(420)
