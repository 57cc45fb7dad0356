"""``python -m training``: prepare, train, evaluate and export."""

from __future__ import annotations

import os

import typer

from service.bundle.errors import BundleError
from training.cli import align, confidence, distil, evaluate, experiments, imports, sentence
from training.cli.attribution import attribution
from training.cli.export import export
from training.cli.pooling import pooling
from training.cli.text import text
from training.cli.train import prepare, train

app = typer.Typer(help="Train translators and export them as bundles.", no_args_is_help=True, add_completion=False)

app.command()(prepare)
app.command()(train)
app.command()(evaluate.evaluate)
app.command()(evaluate.domains)
app.command()(align.align)
app.command()(align.links)
app.command()(distil.unseen)
app.command()(distil.distil)
app.command()(align.silver)
app.command()(align.eflomal)
app.command()(evaluate.lengths)
app.command()(export)
app.command()(text)
app.command()(pooling)
app.command()(attribution)
app.command()(experiments.grid)
app.command()(experiments.report)
app.command()(confidence.confidence)
app.command()(confidence.reliability)
app.add_typer(imports.app, name="import")
app.add_typer(sentence.app, name="sentence")


def main() -> None:
    """Run the command line; expected errors are printed in one line, without a traceback."""
    try:
        app()
    except (ValueError, OSError, BundleError) as error:
        if os.environ.get("TRANSLUCENT_DEBUG"):
            raise
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(2) from error


if __name__ == "__main__":
    main()
