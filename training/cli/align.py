"""The commands for word alignments: ``align``, ``silver`` and ``links``."""

import re
from pathlib import Path
from typing import Annotated

import typer

from service.bundle.alignment import pharaoh
from service.bundle.manifest import AlignmentHead, Step
from training.alignment.eflomal import align_both_ways, development_text, gold_line, training_text
from training.alignment.eflomal import silver as make_silver
from training.alignment.gold import read_gold
from training.alignment.guided_links import make_links
from training.alignment.head_search import describe, rank_heads
from training.cli.options import Output, RunPath, show
from training.data.reading import read_lines
from training.evaluation.scored_pairs import samples, score_pairs
from training.files import write_lines
from training.trainer.checkpoints import load_trained

REPORTED = ("layer", "head", "step", "threshold", "aer")
"""The keys of each head in a report."""


def align(
    run: RunPath,
    source: Annotated[Path, typer.Option(help="Source sentences, one per line, words separated by spaces.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    gold: Annotated[
        Path | None,
        typer.Option(
            help="Gold alignments, to search for the best layer and head: i-j or ipj (possible) from 1. The links of a "
            ".silver file are an aligner's, all others those of people."
        ),
    ] = None,
    reading: Annotated[
        str | None, typer.Option(help="Measure only this alignment head: layer,head,produce|consume[,threshold].")
    ] = None,
    alignments: Annotated[Path | None, typer.Option(help="Write alignments here (Pharaoh, 0-based).")] = None,
    measured_on: Annotated[
        str | None, typer.Option(help="Name of the gold alignments in the report. Default: their file name.")
    ] = None,
    output: Output = None,
) -> None:
    """Align words by forced decoding: find the alignment head closest to gold, or write the links of one head."""
    pairs = score_pairs(load_trained(run), read_lines(source), read_lines(target))
    given = _parse_reading(reading) if reading else None
    truth = read_gold(gold) if gold else None
    if truth is not None:
        ranked = rank_heads(samples(pairs, truth), only=given)
    elif given is not None:
        ranked = [given]
    else:
        raise ValueError("align needs --gold, to search for the best alignment head, or --reading")
    if alignments is not None:
        write_lines(alignments, [pharaoh(pair.links(ranked[0])) for pair in pairs])
    text = "\n".join(describe(head) for head in ranked[:5])
    name = measured_on or (gold.name if gold else None)
    against = None if gold is None else "silver" if gold.suffix == ".silver" else "gold"
    content = {"run": run.name, "measured_on": name, "against": against}
    show(content | {"readings": [{key: getattr(head, key) for key in REPORTED} for head in ranked]}, text, output)


def _parse_reading(text: str) -> AlignmentHead:
    match = re.fullmatch(r"(\d+),(\d+),(produce|consume)(?:,(0?\.\d+|0|1))?", text)
    if match is None:
        raise ValueError(f"--reading {text!r} must look like 1,0,consume or 1,0,consume,0.2")
    layer, head, step, threshold = match.groups()
    steps: dict[str, Step] = {"produce": "produce", "consume": "consume"}
    return AlignmentHead(int(layer), int(head), steps[step], float(threshold) if threshold else None)


def silver(
    run: RunPath,
    output: Annotated[Path, typer.Option(help="Folder for development.source, .target and .silver.")],
    pairs: Annotated[
        int, typer.Option(help="Number of training pairs of the run that eflomal also learns from.")
    ] = 100_000,
) -> None:
    """Align a run's development data with eflomal, for `align --gold` where no gold exists."""
    measured = development_text(run)
    links = align_both_ways(measured, training_text(run, pairs))
    links_ = [gold_line(make_silver(forward, reverse)) for forward, reverse in links]
    for name, lines in zip(("source", "target", "silver"), (*measured, links_), strict=True):
        write_lines(output / f"development.{name}", lines)
    typer.echo(f"{output}: {len(links_)} pairs")


def links(run: RunPath) -> None:
    """Align the subwords of a run's training pairs with eflomal; `guided_alignment` in a recipe needs these links."""
    for name, share in make_links(run).items():
        typer.echo(f"{name}: {share:.1%} of the target tokens have a link")
