"""The command line: `translucent serve`, `models`, `translate`, `settings`, `keys`.

Exit codes: 0 success, 1 failure, 2 wrong command or configuration, 130 interrupted.
"""

import shutil
import sys
from typing import Annotated

import typer

from service import __version__
from service.cli import models as catalogue
from service.cli.detect import detect
from service.cli.keys import keys
from service.cli.options import FAILED, ModelsDir, fail, read_settings
from service.cli.serve import serve
from service.cli.translate_command import translate
from service.engine import EngineError
from service.settings import settings_rows, settings_table

cli = typer.Typer(
    name="translucent",
    help="Translation models that show their attention: serve them, list them, translate files.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would take "[env: …]" for markup
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(value: bool) -> None:
    """Print the version and exit."""
    if value:
        typer.echo(f"translucent {__version__}")
        raise typer.Exit


@cli.callback()
def translucent(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Handle the options that come before a command."""


cli.command()(serve)


models_commands = typer.Typer(invoke_without_command=True)


@models_commands.callback()
def models(
    context: typer.Context,
    models_dir: ModelsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifests as a JSON list.")] = False,
) -> None:
    """List the models of a folder, after checking every file of theirs; or add one."""
    if context.invoked_subcommand is not None:
        return
    folder = read_settings(models_dir=models_dir).models_dir
    try:
        found, refused = catalogue.read_bundles(folder)
    except EngineError as error:
        fail(error.message, FAILED)
    if found or as_json:
        typer.echo(catalogue.as_json(found) if as_json else catalogue.as_table(found))
    if refused:
        fail("\n".join(error.message for error in refused), FAILED)


cli.add_typer(models_commands, name="models")
cli.command()(translate)
cli.command()(detect)


@cli.command()
def settings() -> None:
    """Print every setting: its variable, default, accepted values and meaning; into a pipe as a Markdown table."""
    if not sys.stdout.isatty():
        typer.echo(settings_table(), nl=False)
    else:
        typer.echo(catalogue.as_text(settings_rows(), shutil.get_terminal_size().columns))


cli.add_typer(keys, name="keys")


def main() -> None:
    """Run the command line."""
    cli(prog_name="translucent")
