"""The command that attributes a translation to its source by gradients."""

from __future__ import annotations

from typing import Annotated

import typer

from service.bundle.vocabulary import EOS, SPECIAL_TOKENS
from training.cli.options import Output, RunPath, show
from training.evaluation.attribution import gradient_times_input
from training.trainer.checkpoints import load_trained


def attribution(
    run: RunPath,
    source: Annotated[str, typer.Option(help="A sentence.")],
    target: Annotated[str, typer.Option(help="Its translation.")],
    output: Output = None,
) -> None:
    """Show gradient × input: how much each source token adds to the log-probability of each target token."""
    trained = load_trained(run)
    sides = [trained.tokenizer.encode(text) for text in (source, target)]
    scores = gradient_times_input(trained.network, *([*side.ids, EOS] for side in sides)).tolist()
    columns, rows = ([*side.tokens, SPECIAL_TOKENS[EOS]] for side in sides)
    lines = ["\t".join(["", *columns])]
    for row, values in zip(rows, scores, strict=True):
        lines.append("\t".join([row, *(f"{value:.3f}" for value in values)]))
    show({"source": columns, "target": rows, "gradient_times_input": scores}, "\n".join(lines), output)
