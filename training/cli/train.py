"""The commands ``prepare`` and ``train``, and ``stages``, which runs them for a recipe in stages."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from training.alignment.eflomal import word_links
from training.alignment.guided_links import prepare_with_links
from training.data.prepare import prepare as prepare_run
from training.recipe import Recipe, load_recipe
from training.recipe_stages import load_recipes
from training.runs.folder import RunFolder
from training.trainer.log import quiet_libraries
from training.trainer.run import train as train_run

RecipePath = Annotated[Path, typer.Argument(help="A YAML recipe, e.g. training/recipes/toy.yaml.")]
Runs = Annotated[Path, typer.Option("--runs", envvar="RUNS_DIR", help="Folder of the run folders.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="Change a key: --set optimisation.max_updates=1000")]
Mirror = Annotated[Path | None, typer.Option(help="Folder with local copies of the corpora.")]


def _open(recipe_path: Path, runs: Path, overrides: list[str] | None) -> tuple[Recipe, RunFolder]:
    recipe = load_recipe(recipe_path, overrides)
    return recipe, RunFolder(runs / recipe.run)


def prepare(
    recipe: RecipePath,
    runs: Runs = Path("runs"),
    mirror: Mirror = None,
    overrides: Overrides = None,
) -> None:
    """Read, clean and split the corpora, learn the vocabulary, encode everything."""
    loaded, folder = _open(recipe, runs, overrides)
    for name, value in prepare_run(loaded, folder, mirror, runs / "downloads", word_links).items():
        typer.echo(f"{name}: {value}")


def train(
    recipe: RecipePath,
    runs: Runs = Path("runs"),
    overrides: Overrides = None,
    processes: Annotated[int, typer.Option(help="Processes on this machine, with DDP.")] = 1,
    nodes: Annotated[int, typer.Option(help="Machines, under torchrun.")] = 1,
) -> None:
    """Train, or resume from the newest checkpoint."""
    loaded, folder = _open(recipe, runs, overrides)
    if not folder.tokenizer.exists():
        raise FileNotFoundError(f"{folder.path} is not prepared: run `python -m training prepare {recipe}` first")
    missing = [corpus.name for corpus in loaded.corpora if not folder.corpus(corpus.name).exists()]
    if missing:  # before a recipe that does not fit replaces the run's own
        raise FileNotFoundError(
            f"{folder.path} was prepared without {', '.join(missing)}: give the recipe another name and run "
            "`python -m training prepare` for it (`start_from` reuses these parameters), or remove the corpus"
        )
    quiet_libraries()
    train_run(loaded, folder, processes, nodes, progress=sys.stderr.isatty())


def stages(
    recipe: RecipePath,
    runs: Runs = Path("runs"),
    mirror: Mirror = None,
    overrides: Overrides = None,
) -> None:
    """Prepare, link and train each stage of a recipe in order; one that has ended is left as it is."""
    quiet_libraries()
    for stage in load_recipes(recipe, runs, overrides):
        folder = RunFolder(runs / stage.run)
        if folder.averaged.exists() and folder.load_recipe() == stage:
            typer.echo(f"{stage.run}: has ended")
        else:
            typer.echo(f"{stage.run}: begins, or resumes")
            prepare_with_links(stage, folder, mirror)
            train_run(stage, folder, progress=sys.stderr.isatty())
