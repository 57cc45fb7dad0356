"""The commands ``grid``, ``report`` and ``progress``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from training.cli.options import BeamSize, RunPath, Target, Test
from training.cli.train import Overrides, RecipePath, Runs
from training.decoding.beam_search import SearchOptions
from training.evaluation.test_sets import load_test
from training.experiments.cells import Grid, Measured, export_again, finished_cells
from training.experiments.measure import sample_of
from training.experiments.progress import course_of, progress_figure, progress_table
from training.experiments.report import report as report_page
from training.experiments.summary import write_summary
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
    each: Annotated[bool, typer.Option("--each", help="Vary one key at a time instead of all combinations.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each variant, with the recipe's seed and the next ones.")
    ] = 1,
    runs: Runs = Path("runs"),
    mirror: Annotated[Path | None, typer.Option(help="Folder with local copies of the corpora.")] = None,
    overrides: Overrides = None,
    test: Test = None,
    target: Target = None,
    sentences: Annotated[
        int, typer.Option(min=1, help="Sentences of --test that are translated, spread evenly.")
    ] = 1000,
    edges: Annotated[str, typer.Option(help="Longest sentences of the length buckets, in words.")] = DEFAULT_EDGES,
    output: Annotated[
        Path | None,
        typer.Option(help="Write OUTPUT.md, OUTPUT.json, and the curves as OUTPUT-loss.svg and -lengths.svg."),
    ] = None,
    bundles: Annotated[
        Path | None, typer.Option(help="Also write the bundle of each variant's first seed here, e.g. models/gallery.")
    ] = None,
) -> None:
    """Train, export and measure variants of a recipe; finished cells are kept, and the table has all of them."""
    base = load_recipe(recipe, overrides)
    axes = [parse_axis(text) for text in vary or []]
    variants, refused = make_variants(recipe, overrides or [], combinations(axes, each), seeds)
    for line in refused:
        typer.echo(line, err=True)
    tested = None if test is None else sample_of(load_test(test, target), sentences)
    bounds = tuple(int(edge) for edge in edges.split(","))
    folder = runs / base.name
    cells = Grid(folder, Measured(tested, bounds, mirror))
    for number, (variant, result, kept) in enumerate(cells.run(variants), 1):
        done = "kept" if kept else f"{result['training_seconds']} s"
        line = f"{number}/{len(variants)} {variant.name} seed {variant.recipe.seed}: BLEU {result['bleu']}, {done}"
        typer.echo(line, err=True)
        sys.stderr.flush()
        if output is not None and not kept:
            write_summary(finished_cells(folder), folder, output)
        if bundles is not None and variant.recipe.seed == base.seed:
            typer.echo(f"wrote {export_again(cells.cell(variant), result, bundles)}", err=True)
    written = write_summary(finished_cells(folder), folder, output)
    typer.echo(written)


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


def progress(
    runs: Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Run folders.")],
    output: Annotated[
        Path | None, typer.Option(help="Write OUTPUT.md with the table and OUTPUT.svg with the curves.")
    ] = None,
) -> None:
    """Show what was trained when, for how many tokens, and draw development BLEU over the tokens."""
    courses = [course_of(RunFolder(run)) for run in runs]
    table = progress_table(courses)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.with_suffix(".md").write_text(table, encoding="utf-8")
        output.with_suffix(".svg").write_text(progress_figure(courses), encoding="utf-8")
    typer.echo(table, nl=False)
