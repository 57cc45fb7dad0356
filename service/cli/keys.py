"""`translucent keys`: add, list and remove API keys."""

from pathlib import Path
from typing import Annotated

import typer

from service.access.keys import KeyFileError, add_key, read_keys, remove_key
from service.settings import SettingsError, load_settings

WRONG = 2

keys = typer.Typer(help="Add, list and remove API keys.", no_args_is_help=True)

File = Annotated[
    Path | None, typer.Option("--file", help="The file of API keys. [env: TRANSLUCENT_API_KEYS_FILE]", dir_okay=False)
]
Name = Annotated[str, typer.Argument(help="Name of the key's owner; it appears in the log.")]


def fail(message: str) -> typer.Exit:
    """Write a message to standard error and return the exit to raise."""
    for line in message.splitlines():
        typer.echo(f"translucent: {line}", err=True)
    return typer.Exit(WRONG)


def key_file(given: Path | None) -> Path:
    """Return the key file; raise an exit with a message if there is none."""
    try:
        found = given or load_settings().api_keys_file
    except SettingsError as error:
        raise fail(str(error)) from None
    if found is None:
        raise fail("set the file of API keys with --file or TRANSLUCENT_API_KEYS_FILE.")
    return found


@keys.command("add")
def add(name: Name, file: File = None) -> None:
    """Make a key and print it once: only its hash is kept."""
    try:
        typer.echo(add_key(key_file(file), name))
    except KeyFileError as error:
        raise fail(str(error)) from None


@keys.command("list")
def list_names(file: File = None) -> None:
    """Print the name and the date of every key."""
    try:
        for key in read_keys(key_file(file)):
            typer.echo(f"{key.created}  {key.name}")
    except KeyFileError as error:
        raise fail(str(error)) from None


@keys.command("remove")
def remove(name: Name, file: File = None) -> None:
    """Revoke a key; running servers notice within a second or two."""
    try:
        remove_key(key_file(file), name)
    except KeyFileError as error:
        raise fail(str(error)) from None
