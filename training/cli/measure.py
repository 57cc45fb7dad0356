"""The commands that measure: ``evaluate``, ``align``, ``links``, ``silver``, ``rival`` and ``lengths``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from training.alignment.word_alignment import (
    Gold,
    Reading,
    Step,
    alignment_error_rate,
    pharaoh,
    rank_readings,
    read_gold,
    read_pharaoh,
)
from training.data.reading import read_lines
from training.decoding.beam_search import SearchOptions
from training.decoding.wrapping import WRAP_TOKENS
from training.evaluation.by_length import plot, table
from training.evaluation.domains import report as domain_report
from training.evaluation.eflomal import align_both_ways, compare, development_text, gold_line, training_text
from training.evaluation.eflomal import silver as make_silver
from training.evaluation.evaluate import (
    Result,
    Trained,
    Weights,
    as_text,
    evaluate_lines,
    evaluate_teaching,
    load_development,
    load_test,
    load_trained,
    report,
    translate_all,
    write_json,
    write_lines,
)
from training.evaluation.evaluate import evaluate as evaluate_test
from training.evaluation.scores import Family, score_by_length
from training.evaluation.scoring import samples, score_pairs
from training.guided_links import make_links

RunPath = Annotated[Path, typer.Argument(help="A run folder, e.g. runs/transformer-en-fr.")]
Test = Annotated[Path | None, typer.Option(help="TSV, or the source file; .gz too.")]
Target = Annotated[Path | None, typer.Option(help="The reference file, when --test is a source file.")]
BeamSize = Annotated[int, typer.Option(min=1, help="1 is greedy.")]
Penalty = Annotated[float, typer.Option(help="Scores are divided by length to this power.")]
FamilyOption = Annotated[Family, typer.Option(help="cased: sacreBLEU. tokenised: lowercased, --tokenize none.")]
Output = Annotated[Path | None, typer.Option(help="Also write the figures here, as JSON.")]


def evaluate(
    run: RunPath,
    test: Test = None,
    target: Target = None,
    hypotheses: Annotated[
        Path | None, typer.Option(help="Score these translations, e.g. of the served bundle.")
    ] = None,
    beam_size: BeamSize = 4,
    length_penalty: Penalty = 1.0,
    family: FamilyOption = "cased",
    precision: Annotated[str, typer.Option(help="What the report calls --hypotheses, e.g. int8.")] = "int8",
    translations: Annotated[Path | None, typer.Option(help="Write the translations here.")] = None,
    output: Output = None,
    weights: Annotated[
        Weights, typer.Option(help="usual: the mean of the last checkpoints. best: the best by development BLEU.")
    ] = "usual",
    wrap_tokens: Annotated[
        int, typer.Option(min=8, help="Translate sentences of more source tokens in parts; give `export` the same.")
    ] = WRAP_TOKENS,
) -> None:
    """BLEU and chrF of a test set, or of the run's development data; by sentence length; the teaching sentences."""
    if hypotheses is not None:
        if test is None:
            raise ValueError("--hypotheses needs --test: the sentences they translate, with their references")
        options = SearchOptions(beam_size, length_penalty)
        results = [evaluate_lines(load_test(test, target), read_lines(hypotheses), family, options)]
        _show(report(run.name, precision, None, results, []), as_text(results, []), output)
        return
    trained = load_trained(run, weights)
    options = SearchOptions(beam_size, length_penalty, trained.recipe.max_tokens, wrap_tokens)
    results, lines = _evaluate_all(trained, run, (test, target), options, family)
    if translations is not None:
        write_lines(translations, lines)
    teaching = evaluate_teaching(trained, options)
    _show(report(run.name, "pytorch", trained.weights, results, teaching), as_text(results, teaching), output)


def _evaluate_all(
    trained: Trained, run: Path, test: tuple[Path | None, Path | None], options: SearchOptions, family: Family
) -> tuple[list[Result], list[str]]:
    sets = load_development(run) if test[0] is None else [load_test(test[0], test[1])]
    results, lines = [], []
    for each in sets:
        result, translated = evaluate_test(trained, each, options, family)
        results.append(result)
        lines += translated
    return results, lines


def domains(
    bundle: Annotated[Path, typer.Argument(help="A bundle's folder, e.g. models/transformer-en-fr.")],
    run: Annotated[Path, typer.Option(help="The run folder that it was exported from.")],
    tests: Annotated[Path, typer.Option(help="Folder with test sets, laid out as a mirror.")],
    output: Annotated[Path, typer.Option(help="Where the scores go, for `export --scores`.")],
) -> None:
    """Measure a bundle on every kind of text: public test sets, a slice of each corpus, numbers kept."""
    scores = domain_report(bundle, run, tests)
    for figure in scores:
        typer.echo(f"{figure.test_set:32} {figure.metric:5} {figure.score:6.2f}")
    output.write_text(json.dumps([asdict(figure) for figure in scores], indent=1) + "\n", encoding="utf-8")


def align(
    run: RunPath,
    source: Annotated[Path, typer.Option(help="Source sentences, one a line, words set apart by spaces.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    gold: Annotated[Path | None, typer.Option(help="Gold alignments: searches the best layer and head.")] = None,
    gold_format: Annotated[
        Literal["naacl", "pharaoh"], typer.Option(help="naacl: 1-based, p for possible. pharaoh: 0-based, all sure.")
    ] = "naacl",
    reading: Annotated[
        str | None, typer.Option(help="Measure this reading only: layer,head,produce|consume[,threshold].")
    ] = None,
    alignments: Annotated[Path | None, typer.Option(help="Write alignments here (Pharaoh, 0-based).")] = None,
    scores: Annotated[Path | None, typer.Option(help="Write each pair's mean log-probability here.")] = None,
    measured_on: Annotated[str | None, typer.Option(help="How the report calls the gold; its file name.")] = None,
    against: Annotated[
        Literal["silver", "gold"] | None,
        typer.Option(help="Whose links --gold has: an aligner's or people's. Default: silver for a .silver file."),
    ] = None,
    output: Output = None,
) -> None:
    """Word alignments by forced decoding: the best reading of attention against gold, or the links of one reading."""
    pairs = score_pairs(load_trained(run), read_lines(source), read_lines(target))
    if scores is not None:
        write_lines(scores, [f"{pair.score():.6f}" for pair in pairs])
    given = _parse_reading(reading) if reading else None
    truth = _read_gold(gold, gold_format) if gold else None
    if truth is None and (alignments is not None and given is None):
        raise ValueError("--alignments needs --gold, to search the best reading, or --reading")
    ranked = [given] if given else []
    if truth is not None:
        ranked = rank_readings(samples(pairs, truth), only=given)
    if alignments is not None:
        write_lines(alignments, [pharaoh(pair.links(ranked[0])) for pair in pairs])
    text = "\n".join(str(each) for each in ranked[:5])
    name = measured_on or (gold.name if gold else None)
    content = {"run": run.name, "measured_on": name, "against": None if gold is None else against or _kind(gold)}
    _show(content | {"readings": [asdict(r) for r in ranked]}, text, output)


def _kind(links: Path) -> Literal["silver", "gold"]:
    """Whose links a file has, by its name: `silver` writes ``.silver``, and once wrote ``development.gold``."""
    return "silver" if links.suffix == ".silver" or links.name == "development.gold" else "gold"


def _parse_reading(text: str) -> Reading:
    match = re.fullmatch(r"(\d+),(\d+),(produce|consume)(?:,(0?\.\d+|0|1))?", text)
    if match is None:
        raise ValueError(f"--reading {text!r} must look like 1,0,consume or 1,0,consume,0.2")
    layer, head, step, threshold = match.groups()
    steps: dict[str, Step] = {"produce": "produce", "consume": "consume"}
    return Reading(int(layer), int(head), steps[step], float(threshold) if threshold else None)


def _read_gold(path: Path, form: Literal["naacl", "pharaoh"]) -> list[Gold]:
    return read_gold(path) if form == "naacl" else [Gold(links, links) for links in read_pharaoh(path)]


Pairs = Annotated[int, typer.Option(help="How many of the run's training pairs eflomal learns from as well.")]


def silver(
    run: RunPath,
    output: Annotated[Path, typer.Option(help="Folder for development.source, .target and .silver.")],
    pairs: Pairs = 100_000,
) -> None:
    """Align a run's development data with eflomal, in place of gold for choosing a head: `align --gold`."""
    measured = development_text(run)
    found = align_both_ways(measured, training_text(run, pairs))
    links_ = [gold_line(make_silver(forward, reverse)) for forward, reverse in found]
    for name, lines in zip(("source", "target", "silver"), (*measured, links_), strict=True):
        write_lines(output / f"development.{name}", lines)
    typer.echo(f"{output}: {len(links_)} pairs")


def links(run: RunPath) -> None:
    """Align a run's training pairs with eflomal, subword by subword: what `guided_alignment` in a recipe needs."""
    for name, share in make_links(run).items():
        typer.echo(f"{name}: {share:.1%} of the target tokens have a link")


def rival(
    run: RunPath,
    source: Annotated[Path, typer.Option(help="Source sentences, one a line, words set apart by spaces.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    gold: Annotated[Path, typer.Option(help="Gold alignments: 1-based, p for possible.")],
    pairs: Pairs = 1_000_000,
    output: Output = None,
) -> None:
    """The alignment error rate of eflomal, trained on the text that the run was trained on."""
    found = align_both_ways((read_lines(source), read_lines(target)), training_text(run, pairs))
    truth = read_gold(gold)
    rates = {name: alignment_error_rate(links, truth) for name, links in compare(found).items()}
    text = "\n".join(f"{name}: AER {rate:.1f}" for name, rate in rates.items())
    _show({"aligner": "eflomal", "measured_on": gold.name, "aer": rates}, text, output)


def lengths(
    systems: Annotated[list[str], typer.Argument(help="NAME=RUN_FOLDER or NAME=FILE_OF_TRANSLATIONS, at least one.")],
    test: Annotated[Path, typer.Option(help="TSV, or the source file; .gz too.")],
    target: Target = None,
    stem: Annotated[Path, typer.Option(help="Plots are written to STEM.png and STEM.svg.")] = Path("bleu-by-length"),
    edges: Annotated[str, typer.Option(help="Longest length of each bucket but the last.")] = "10,20,30",
    beam_size: BeamSize = 4,
    family: FamilyOption = "cased",
    output: Output = None,
) -> None:
    """BLEU by sentence length of several systems on the same test set: a table and a plot."""
    loaded = load_test(test, target)
    bounds = [int(edge) for edge in edges.split(",")]
    curves = {}
    for system in systems:
        name, separator, path = system.partition("=")
        if not separator:
            raise ValueError(f"{system!r} must look like NAME=RUN_FOLDER or NAME=FILE_OF_TRANSLATIONS")
        if Path(path).is_dir():
            trained = load_trained(Path(path))
            options = SearchOptions(beam_size, max_length=trained.recipe.max_tokens)
            translated = translate_all(trained, loaded.sources, options)
        else:
            translated = read_lines(Path(path))
        curves[name] = score_by_length(loaded.sources, translated, loaded.references, bounds, family)
    for written in plot(curves, stem):
        typer.echo(f"wrote {written}", err=True)
    content = {"test_set": loaded.name, "systems": {name: [asdict(b) for b in own] for name, own in curves.items()}}
    _show(content, table(curves), output)


def _show(content: Mapping[str, object], text: str, output: Path | None) -> None:
    typer.echo(text)
    if output is not None:
        write_json(output, content)
