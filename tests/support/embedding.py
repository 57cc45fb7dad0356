"""A sentence-embedding model that is trained in a second, and its bundle."""

from pathlib import Path

from training.recipe import VocabularyConfig
from training.sentence.data import SentenceFolder, prepare
from training.sentence.export import export
from training.sentence.recipe import (
    PrunedHidden,
    SentenceCorpus,
    SentenceNetworkConfig,
    SentenceOptimisation,
    SentenceRecipe,
)
from training.sentence.trainer import train

SUBJECTS = (("I", "Je"), ("We", "Nous"), ("They", "Ils"), ("You", "Vous"))
VERBS = (("see", "vois"), ("eat", "mange"), ("hear", "entends"), ("want", "veux"), ("sell", "vends"))
OBJECTS = (
    ("the red house", "la maison rouge"), ("an old car", "une vieille voiture"), ("three apples", "trois pommes"),
    ("the sea", "la mer"), ("my brother", "mon frère"), ("a small dog", "un petit chien"), ("bread", "du pain"),
    ("the key of the door", "la clé de la porte"),
)  # fmt: skip


def write_text(path: Path) -> None:
    """Write 160 pairs of made-up sentences."""
    lines = [
        f"{subject} {verb} {thing}.\t{sujet} {verbe} {chose}."
        for subject, sujet in SUBJECTS
        for verb, verbe in VERBS
        for thing, chose in OBJECTS
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tiny_recipe(text: Path, **network: object) -> SentenceRecipe:
    """Return a recipe for the made-up sentences; keyword arguments are the network's."""
    sizes = {"embedding": 12, "hidden": 8, "attention_size": 6, "hops": 3, "width": 10, **network}
    sizes.setdefault("head", PrunedHidden(rows=4, columns=1))
    return SentenceRecipe(
        name="tiny",
        kind="sentence",
        max_tokens=24,
        corpora=(SentenceCorpus(corpus="made-up", languages=("en", "fr"), domain="home", path=text, held_out=20),),
        vocabulary=VocabularyConfig(size=400, lowercase=True),
        network=SentenceNetworkConfig.model_validate(sizes),
        optimisation=SentenceOptimisation(pairs=16, max_updates=30, warmup_updates=5, evaluate_every=15),
    )


def tiny_run(folder: Path) -> tuple[SentenceRecipe, SentenceFolder]:
    """Prepare and train a run below a folder."""
    write_text(folder / "text.tsv")
    recipe, run = tiny_recipe(folder / "text.tsv"), SentenceFolder(folder / "tiny")
    prepare(recipe, run, None, folder / "downloads")
    train(recipe, run, run)
    return recipe, run


def tiny_models(folder: Path) -> Path:
    """Return a folder of models whose only model is a sentence-embedding model."""
    _, run = tiny_run(folder)
    export(run, run, folder / "models" / "sentence", "int8")
    return folder / "models"
