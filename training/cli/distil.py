"""The commands that make text for distillation: ``unseen`` and ``distil``."""

from pathlib import Path
from typing import Annotated

import typer

from training.data import distillation as teachers_of
from training.data.reading import read_pairs
from training.files import write_lines


def unseen(
    candidates: Annotated[
        Path, typer.Argument(help="TSV with candidate source sentences, e.g. of another language pair.")
    ],
    seen: Annotated[
        list[Path], typer.Option(help="TSV whose source sentences are left out: the training text and every test set.")
    ],
    output: Annotated[Path, typer.Option(help="One sentence per line.")],
) -> None:
    """Write the source sentences of a corpus that other files do not contain, for `distil`."""
    sources = (source for path in seen for source, _ in read_pairs(path))
    fresh = teachers_of.unseen((source for source, _ in read_pairs(candidates)), sources)
    write_lines(output, fresh)
    typer.echo(f"{output}: {len(fresh)} sentences")


def distil(
    sentences: Annotated[Path, typer.Argument(help="Text to translate, one sentence per line.")],
    teacher: Annotated[list[Path], typer.Option(help="A bundle, e.g. models/opus-mt-en-fr.")],
    output: Annotated[Path, typer.Option(help="TSV, for `path` of a corpus in a recipe.")],
    to: Annotated[
        str | None, typer.Option(help="The target language, for teachers that have several, e.g. fr.")
    ] = None,
    keep: Annotated[
        float, typer.Option(min=0, max=1, help="Share of pairs to keep: those with the highest scores.")
    ] = 0.9,
) -> None:
    """Make training pairs: each teacher translates and scores all translations; the best mean score is kept."""
    pairs = teachers_of.most_confident(teachers_of.distil(sentences, teacher, to), keep)
    write_lines(output, [f"{pair.source}\t{pair.target}" for pair in pairs])
    typer.echo(f"{output}: {len(pairs)} pairs")
