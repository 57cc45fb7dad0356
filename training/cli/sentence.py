"""The commands ``sentence prepare``, ``sentence train``, …: structured self-attentive sentence embeddings."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from training.cli.options import RunPath
from training.cli.train import Overrides, RecipePath, Runs
from training.files import write_json
from training.sentence.data import SentenceFolder
from training.sentence.data import prepare as prepare_text
from training.sentence.export import export as export_bundle
from training.sentence.graph import Precision
from training.sentence.recipe import load_sentence_recipe
from training.sentence.sentiment import Data, Options, compare, read_reviews, report, summary
from training.sentence.trainer import train as train_network

app = typer.Typer(help="Sentence embeddings: structured self-attention (1703.03130).", no_args_is_help=True)


@app.command()
def prepare(
    recipe: RecipePath,
    runs: Runs = Path("runs"),
    mirror: Annotated[Path | None, typer.Option(help="Folder with local copies of the corpora.")] = None,
    overrides: Overrides = None,
) -> None:
    """Read, clean and split the corpora, learn the vocabulary, encode everything."""
    loaded = load_sentence_recipe(recipe, overrides)
    folder = SentenceFolder(runs / loaded.name)
    for name, value in prepare_text(loaded, folder, mirror, runs / "downloads").items():
        typer.echo(f"{name}: {value}")


@app.command()
def train(
    recipe: RecipePath,
    runs: Runs = Path("runs"),
    overrides: Overrides = None,
    text: Annotated[Path | None, typer.Option(help="A prepared run folder to read the text from.")] = None,
) -> None:
    """Train, or resume from the last checkpoint."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s  %(message)s")
    loaded = load_sentence_recipe(recipe, overrides)
    folder = SentenceFolder(runs / loaded.name)
    prepared = SentenceFolder(text) if text is not None else folder
    if not prepared.tokenizer.exists():
        raise FileNotFoundError(f"{prepared.path} is not prepared: run `python -m training sentence prepare` first")
    train_network(loaded, folder, prepared)


@app.command()
def export(
    run: RunPath,
    output: Annotated[Path, typer.Option(help="Folder of the bundle, e.g. models/sentence.")],
    text: Annotated[Path | None, typer.Option(help="The prepared run folder, if it is another one.")] = None,
    precision: Annotated[Precision, typer.Option(help="Of the stored weights.")] = "int8",
) -> None:
    """Write the bundle that the service answers /embed with."""
    folder = SentenceFolder(run)
    differences = export_bundle(folder, SentenceFolder(text) if text is not None else folder, output, precision)
    for name, value in differences.items():
        typer.echo(f"{name}: differs from PyTorch by at most {value:.2g}")


SHOWN = (
    "an intelligent and moving film , but far too long .",
    "it is not good , and it is never funny .",
)


@app.command()
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
