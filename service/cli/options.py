"""Shared by the commands: options, exit codes, and how a command reports an error."""

from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from service.settings import Settings, SettingsError, load_settings

FAILED, WRONG, INTERRUPTED = 1, 2, 130

ModelsDir = Annotated[
    Path | None, typer.Option("--models-dir", help="Folder of the model bundles. [env: TRANSLUCENT_MODELS_DIR]")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"] | None, typer.Option(help="Where models run. [env: TRANSLUCENT_DEVICE]")
]
Precision = Annotated[
    Literal["auto", "int8", "fp16", "fp32"] | None,
    typer.Option(help="Which graphs of the bundle run; auto is the fastest. [env: TRANSLUCENT_PRECISION]"),
]
IntraThreads = Annotated[
    int | None,
    typer.Option(help="Threads that ONNX Runtime uses inside one run of a model. [env: TRANSLUCENT_INTRA_THREADS]"),
]


def say(message: str) -> None:
    """Write a message to standard error."""
    for line in message.splitlines():
        typer.echo(f"translucent: {line}", err=True)


def fail(message: str, code: int) -> NoReturn:
    """Write a message to standard error and exit."""
    say(message)
    raise typer.Exit(code)


def read_settings(**overrides: object) -> Settings:
    """Return the settings; exit with a message if they cannot be used."""
    try:
        return load_settings(**overrides)
    except SettingsError as error:
        fail(str(error), WRONG)
