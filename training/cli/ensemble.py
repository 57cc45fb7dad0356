"""The command ``ensemble``: bundles that decide together."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from training.evaluation.domains import pair_report
from training.export.ensemble import write_ensemble


def ensemble(
    members: Annotated[
        list[Path], typer.Argument(help="Bundles of one vocabulary and language pair, the one that aligns best first.")
    ],
    output: Annotated[Path, typer.Option(help="Its folder, beside its members, e.g. models/ensemble-en-fr.")],
    version: Annotated[str | None, typer.Option(help="Default: one more than that of the one it replaces.")] = None,
    tests: Annotated[
        Path | None, typer.Option(help="Folder with test sets, with the layout of a mirror, to measure it.")
    ] = None,
    weights: Annotated[
        str, typer.Option(help="Of the members in the mean, with commas between them, e.g. 2,1. Default: equal ones.")
    ] = "",
    default: Annotated[bool, typer.Option(help="Let it be the default of its pair if it has the best scores.")] = False,
) -> None:
    """Write a bundle that names others, which then translate together by the mean of their log-probabilities."""
    shares = [float(weight) for weight in weights.split(",")] if weights else []
    made = write_ensemble(members, output, version, weights=shares, default=default)
    if tests is not None:
        pair = made.manifest.source_language, made.manifest.target_language
        scores = [asdict(score) for score in pair_report(output, pair, tests)]
        made = write_ensemble(members, output, made.manifest.version, scores, shares, default=default)
    typer.echo(
        f"{output}: version {made.manifest.version} of {', '.join(member.name for member in made.manifest.members)}"
    )
