"""Options that several commands share, and the output of their results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from training.evaluation.scores import Family
from training.files import write_json
from training.trainer.checkpoints import Weights

RunPath = Annotated[Path, typer.Argument(help="A run folder, e.g. runs/transformer-en-fr.")]
Test = Annotated[Path | None, typer.Option(help="TSV, or the source file; .gz too.")]
Target = Annotated[Path | None, typer.Option(help="The reference file, when --test is a source file.")]
BeamSize = Annotated[int, typer.Option(min=1, help="1 is greedy search.")]
Penalty = Annotated[float, typer.Option(help="Scores are divided by the length to the power of this number.")]
FamilyOption = Annotated[Family, typer.Option(help="cased: sacreBLEU. tokenised: lowercased, --tokenize none.")]
WeightsOption = Annotated[
    Weights,
    typer.Option(
        help="usual: the mean of the last checkpoints. best: the checkpoint with the highest development BLEU."
    ),
]
Edges = Annotated[str, typer.Option(help="Longest sentences of the length buckets, in words.")]
Output = Annotated[Path | None, typer.Option(help="Also write the results to this file, as JSON.")]


def show(content: Mapping[str, object], text: str, output: Path | None) -> None:
    """Print the text; also write the content to ``output`` as JSON, if given."""
    typer.echo(text)
    if output is not None:
        write_json(output, content)
