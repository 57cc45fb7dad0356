"""``python -m training``: prepare, train, evaluate and export."""

import os
import sys

import typer

from service.bundle.errors import BundleError

try:
    from training.cli import align, confidence, distil, evaluate, experiments, imports
    from training.cli.captions import captions
    from training.cli.ensemble import ensemble
    from training.cli.export import export
    from training.cli.gpu import gpu
    from training.cli.sentiment import sentiment
    from training.cli.text import text
    from training.cli.train import prepare, stages, train
except ModuleNotFoundError as error:  # what `make serve` installs has no libraries for training
    sys.exit(
        f"error: training needs {error.name}, which is not installed. In the checkout: "
        f"{sys.executable} -m pip install -c constraints.txt -e '.[training]'"
    )

app = typer.Typer(help="Train translators and export them as bundles.", no_args_is_help=True, add_completion=False)
for command in (
    prepare, train, stages, evaluate.evaluate, evaluate.domains, align.align, align.links, distil.unseen, distil.distil,
    align.silver, export, ensemble, gpu, text, captions, sentiment,
    experiments.grid, experiments.report, confidence.confidence, confidence.reliability,
):  # fmt: skip
    app.command()(command)
app.command("import")(imports.import_models)


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
