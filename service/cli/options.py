"""Shared by the commands: options, exit codes, and how a command reports an error."""

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, get_type_hints

import typer
from typer.models import OptionInfo

from service.engine import About, limits_of
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
Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="File with one segment per line; - is standard input, the default."),
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


def with_fields(kind: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a data class as options, before those after its `*`; it gets them as keywords.

    What a class itself declares comes before what it inherits.
    """
    types = get_type_hints(kind, include_extras=True)
    hints = {name: types[name] for owner in kind.__mro__ for name in getattr(owner, "__annotations__", ())}
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(kind, name), annotation=_option(hint))
        for name, hint in hints.items()
    ]

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        declared = signature(command, eval_str=True)
        named = [parameter for parameter in declared.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
        first = sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in named)
        ordered = [*named[:first], *more, *named[first:]]
        command.__signature__ = declared.replace(parameters=ordered)  # type: ignore[attr-defined]
        return command

    return extended


def _option(hint: Any) -> Any:
    """Return the type of a field with what the command line says of it."""
    if any(isinstance(part, OptionInfo) for part in hint.__metadata__):
        return hint
    lowest, highest = limits_of(hint.__metadata__)
    [about] = [part.text for part in hint.__metadata__ if isinstance(part, About)]
    return Annotated[hint.__origin__, typer.Option(min=lowest, max=highest, help=about.replace("`", ""))]
