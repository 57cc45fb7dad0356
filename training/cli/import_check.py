"""The command that compares an imported bundle with its original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from service.bundle.load import load_bundle
from training.export.check_table import check_table
from training.imports.check import Checked, compare, write_verdict
from training.imports.errors import ImportRefused
from training.imports.originals import OriginalFiles, open_original


def check(
    bundle: Annotated[Path, typer.Argument(help="An imported bundle, e.g. models/opus-mt-en-fr.")],
    source: Annotated[
        str, typer.Argument(help="What it was imported from: the folder, the .argosmodel, or the name on the hub.")
    ],
    text: Annotated[Path, typer.Option(help="Sentences of the source language, one a line.", exists=True)],
    references: Annotated[
        Path | None, typer.Option(help="Their translations, one a line: adds BLEU of both.", exists=True)
    ] = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit on the hub.")] = None,
    spm: Annotated[
        Path | None, typer.Option(help="For a CTranslate2 folder: the SentencePiece model of the source.")
    ] = None,
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Target language to compare, if there are several. [default: the first]")
    ] = None,
) -> None:
    """Compare a bundle with the original in transformers or CTranslate2; writes the result into its card.

    Every precision of the bundle that runs on a CPU gets a column: int8, and fp32 of an import with --fp32.
    """
    manifest = load_bundle(bundle).manifest
    if "imported" not in manifest.card:
        raise ImportRefused(f"{bundle}: it was not made by `import`, so there is nothing to compare it with")
    texts = text.read_text(encoding="utf-8").splitlines()
    wanted = None if references is None else references.read_text(encoding="utf-8").splitlines()
    files = OriginalFiles(source, revision, spm, target_spm, target)
    with open_original(manifest, files) as (model, original):
        figures = compare(bundle, model, original, texts, wanted)
        write_verdict(bundle, original, figures, Checked(model.targets[0].language, len(texts)))
    typer.echo(check_table([figure.document() for figure in figures]))
    if "fp32" not in manifest.graphs:
        typer.echo(f"{bundle} has no float graphs: import it with --fp32 or --faithful to compare them, too")
    passed = all(figure.passed for figure in figures)
    typer.echo(f"{bundle} {'does' if passed else 'does NOT do'} what {original.name} does with {source}")
    if not passed:
        raise typer.Exit(1)
