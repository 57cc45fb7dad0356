"""The commands ``grid`` and ``report``."""

from pathlib import Path
from typing import Annotated

import typer

from training.cli.options import BeamSize, Edges, RunPath, Target, Test
from training.cli.train import Mirror, Overrides, RecipePath, Runs
from training.decoding.beam_search import SearchOptions
from training.evaluation.test_sets import load_test
from training.experiments.grid import Grid, export_cell, joined_of, sample_of, summary
from training.experiments.report import report as report_page
from training.experiments.variants import combinations, make_variants, parse_axis
from training.recipe import load_recipe
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_trained

DEFAULT_EDGES = "4,6,9"


def grid(
    recipe: RecipePath,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="A key with its values: --vary network.score=additive,dot; may be repeated."),
    ] = None,
    singly: Annotated[bool, typer.Option("--each", help="Vary one key at a time instead of all combinations.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each variant, with the recipe's seed and the next ones.")
    ] = 1,
    runs: Runs = Path("runs"),
    mirror: Mirror = None,
    overrides: Overrides = None,
    test: Test = None,
    target: Target = None,
    sentences: Annotated[
        int, typer.Option(min=1, help="Sentences of --test that are translated, spread evenly.")
    ] = 1000,
    join: Annotated[
        int,
        typer.Option(min=1, help="Sentences of --test in a row that are joined at most; then each length has as many."),
    ] = 1,
    edges: Edges = DEFAULT_EDGES,
    output: Annotated[
        Path | None,
        typer.Option(help="Write OUTPUT.md and OUTPUT.json."),
    ] = None,
    bundles: Annotated[
        Path | None, typer.Option(help="Also write the bundle of each variant's first seed here, e.g. models/gallery.")
    ] = None,
) -> None:
    """Train, export and measure variants of a recipe; finished cells are kept, and the table has all of them."""
    base = load_recipe(recipe, overrides)
    axes = [parse_axis(text) for text in vary or []]
    variants, refused = make_variants(recipe, overrides or [], combinations(axes, singly), seeds)
    for line in refused:
        typer.echo(line, err=True)
    bounds = tuple(int(edge) for edge in edges.split(","))
    if join > 1 and (test is None or sentences <= len(bounds)):
        raise ValueError(f"--join needs --test, and at least {len(bounds) + 1} --sentences: one of each length")
    tested = None if test is None else load_test(test, target)
    if tested is not None:
        tested = joined_of(tested, join, bounds, sentences) if join > 1 else sample_of(tested, sentences)
    cells = Grid(runs / base.name, tested, bounds, mirror)
    for number, (variant, result, kept) in enumerate(cells.run(variants), 1):
        done = "kept" if kept else f"{result['training_seconds']} s"
        line = f"{number}/{len(variants)} {variant.name} seed {variant.recipe.seed}: BLEU {result['bleu']}, {done}"
        typer.echo(line, err=True)
        if output is not None and not kept:
            summary(cells.finished(), output)
        if bundles is not None and variant.recipe.seed == base.seed:
            export_cell(cells.cell(variant), result, bundles / variant.recipe.name)
    typer.echo(summary(cells.finished(), output))


def report(
    run: RunPath,
    output: Annotated[
        Path | None, typer.Option(help="File of the page. Default: report.html in the run folder.")
    ] = None,
    beam_size: BeamSize = 1,
) -> None:
    """Write one self-contained page of a run: curves, scores, the teaching sentences, attention, the recipe."""
    trained = load_trained(run)
    page = report_page(trained, RunFolder(run), SearchOptions(beam_size, max_length=trained.recipe.max_tokens))
    written = output or run / "report.html"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(page, encoding="utf-8")
    typer.echo(written)
