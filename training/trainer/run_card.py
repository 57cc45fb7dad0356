"""The model card of a run."""

import json

from training.export.card import CardScore, ModelCard
from training.export.card_inputs import data_credit
from training.files import git_revision
from training.recipe import Recipe
from training.runs.folder import RunFolder
from training.runs.stages import closed, load_stages
from training.trainer.checkpoints import newest_checkpoint


def model_card(recipe: Recipe, folder: RunFolder, scores: tuple[CardScore, ...], notes: str | None) -> ModelCard:
    """Return the model card of a run: data with credits, seed, revision of the code, scores."""
    statistics = json.loads(folder.statistics.read_text(encoding="utf-8"))
    stages, newest = load_stages(folder.stages), newest_checkpoint(folder)
    if stages and stages[-1]["to_update"] is None and newest is not None:  # killed, or still training
        stages = closed(stages, int(newest.stem))
    return ModelCard(
        data=tuple(data_credit(recipe, corpus, statistics[corpus.name]["pairs"]) for corpus in recipe.corpora),
        seed=recipe.seed,
        git_revision=stages[-1]["git_revision"] if stages else git_revision(),
        scores=scores,
        notes=notes,
        stages=stages,
        exported_with=git_revision(),
    )
