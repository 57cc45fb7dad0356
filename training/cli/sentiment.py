"""The command ``sentiment``, which compares encoders of sentences on reviews."""

from pathlib import Path
from typing import Annotated

import typer

from training.files import write_json
from training.sentence.sentiment import Data, Options, compare, read_reviews, report, summary

SHOWN = (
    "an intelligent and moving film , but far too long .",
    "it is not good , and it is never funny .",
)


def sentiment(
    reviews: Annotated[Path, typer.Argument(help="A folder with *.train.tsv, *.dev.tsv and *.test.tsv, or aclImdb.")],
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each encoder.")] = 1,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training reviews.")] = Options().epochs,
    output: Annotated[Path | None, typer.Option(help="Also write all figures to this JSON file.")] = None,
    shown: Annotated[list[str] | None, typer.Option(help="Sentences whose words are weighed.")] = None,
) -> None:
    """Compare encoders of one size on reviews: average, CNN, GRU, tree, three kinds of self-attention."""
    options = Options(epochs=epochs)
    data = Data(read_reviews(reviews, options.max_words))
    results = []
    for result in compare(data, shown or SHOWN, seeds, options):
        results.append(result)
        typer.echo(f"{result.encoder}, seed {result.seed}: {result.accuracy:.1%}", err=True)
        if output is not None:
            write_json(output, report(results, data, options))
    typer.echo(summary(results))
