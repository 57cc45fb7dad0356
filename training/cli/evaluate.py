"""The commands that measure translations: ``evaluate`` and ``domains``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from training.cli.options import (
    BeamSize,
    Edges,
    FamilyOption,
    Output,
    Penalty,
    RunPath,
    Target,
    Test,
    WeightsOption,
    show,
)
from training.decoding.beam_search import SearchOptions
from training.evaluation.domains import report as domain_report
from training.evaluation.evaluate import as_text, evaluate_teaching, report
from training.evaluation.evaluate import evaluate as evaluate_test
from training.evaluation.test_sets import load_development, load_test
from training.files import write_json, write_lines
from training.trainer.checkpoints import load_trained


def evaluate(
    run: RunPath,
    test: Test = None,
    target: Target = None,
    beam_size: BeamSize = 4,
    length_penalty: Penalty = 1.0,
    family: FamilyOption = "cased",
    translations: Annotated[Path | None, typer.Option(help="File for the translations.")] = None,
    output: Output = None,
    weights: WeightsOption = "usual",
    edges: Edges = "10,20,30",
) -> None:
    """Measure BLEU and chrF of a test set or the development data, by sentence length, and the teaching sentences."""
    bounds = tuple(int(edge) for edge in edges.split(","))
    trained = load_trained(run, weights)
    recipe = trained.recipe
    options = SearchOptions(beam_size, length_penalty, recipe.max_tokens, recipe.wrap_tokens)
    results = []
    lines: list[str] = []
    for test_set in load_development(run) if test is None else [load_test(test, target)]:
        result, translated = evaluate_test(trained, test_set, options, family, bounds)
        results.append(result)
        lines += translated
    if translations is not None:
        write_lines(translations, lines)
    teaching = evaluate_teaching(trained, options)
    show(report(run.name, trained.weights, results, teaching), as_text(results, teaching), output)


def domains(
    bundle: Annotated[Path, typer.Argument(help="A bundle's folder, e.g. models/transformer-en-fr.")],
    run: Annotated[Path, typer.Option(help="The run folder of the bundle.")],
    tests: Annotated[Path, typer.Option(help="Folder of test sets, with the layout of a mirror.")],
    output: Annotated[Path, typer.Option(help="File for the scores, for `export --scores`.")],
) -> None:
    """Measure a bundle on each kind of text: public test sets, held-out sentences of each corpus, and numbers."""
    scores = domain_report(bundle, run, tests)
    for figure in scores:
        typer.echo(f"{figure.test_set:32} {figure.metric:5} {figure.score:6.2f}")
    write_json(output, [asdict(figure) for figure in scores])
