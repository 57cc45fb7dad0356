"""The command line: `translucent serve`, `models`, `translate`, `settings`; `python -m service` is the same.

Exit codes: 0 done, 1 it failed, 2 the command or the configuration is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from service import __version__, catalogue
from service.engine.errors import EngineError
from service.settings import Settings, SettingsError, load_settings, settings_table

FAILED, WRONG = 1, 2

cli = typer.Typer(
    name="translucent",
    help="Translation models that show their attention: serve them, list them, translate files.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would take "[env: …]" for markup
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelsDir = Annotated[
    Path | None, typer.Option("--models-dir", help="Folder of the model bundles. [env: TRANSLUCENT_MODELS_DIR]")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"] | None, typer.Option(help="Where models run. [env: TRANSLUCENT_DEVICE]")
]
Threads = Annotated[int | None, typer.Option(help="ONNX Runtime threads of each model. [env: TRANSLUCENT_THREADS]")]


def fail(message: str, code: int) -> NoReturn:
    """Say on standard error what is wrong, and exit."""
    for line in message.splitlines():
        typer.echo(f"translucent: {line}", err=True)
    raise typer.Exit(code)


def read_settings(**overrides: object) -> Settings:
    """The settings, or a clear exit."""
    try:
        return load_settings(**overrides)
    except SettingsError as error:
        fail(str(error), WRONG)


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
    """Translation models that show their attention: serve them, list them, translate files."""


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [env: TRANSLUCENT_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [env: TRANSLUCENT_PORT]")] = None,
    models_dir: ModelsDir = None,
    device: Device = None,
    threads: Threads = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="Least severe log lines to write. [env: TRANSLUCENT_LOG_LEVEL]"),
    ] = None,
) -> None:
    """Serve all models of a folder over HTTP until SIGTERM or Ctrl-C.

    Every setting is an environment variable that begins with TRANSLUCENT_; `translucent settings` lists them all.
    The options here win over the environment.
    """
    settings = read_settings(
        host=host, port=port, models_dir=models_dir, device=device, threads=threads, log_level=log_level
    )
    # Only serving needs the HTTP libraries; the other commands start faster without them.
    from service.api.server import serve_models

    try:
        code = serve_models(settings)
    except EngineError as error:
        fail(error.message, FAILED)
    raise typer.Exit(code)


@cli.command()
def models(
    models_dir: ModelsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifests as a JSON list.")] = False,
) -> None:
    """List the models of a folder, after checking every file of theirs."""
    folder = read_settings(models_dir=models_dir).models_dir
    try:
        found, refused = catalogue.read_bundles(folder)
    except EngineError as error:
        fail(error.message, FAILED)
    if found or as_json:
        typer.echo(catalogue.as_json(found) if as_json else catalogue.as_table(found))
    if refused:
        fail("\n".join(error.message for error in refused), FAILED)


@cli.command()
def settings() -> None:
    """Print every setting as a Markdown table."""
    typer.echo(settings_table(), nl=False)


def main() -> None:
    """The console script."""
    cli(prog_name="translucent")


if __name__ == "__main__":
    main()
