"""`translucent keys`: add, list and remove API keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from service.access.keys import KeyFileError, add_key, read_keys, remove_key
from service.cli.options import WRONG, fail, read_settings

keys = typer.Typer(help="Add, list and remove API keys.", no_args_is_help=True)

File = Annotated[
    Path | None, typer.Option("--file", help="The file of API keys. [env: TRANSLUCENT_API_KEYS_FILE]", dir_okay=False)
]
Name = Annotated[str, typer.Argument(help="Name of the key's owner; it appears in the log.")]


@contextmanager
def key_file(given: Path | None) -> Iterator[Path]:
    """Give the key file; exit with a message if there is none, or if it cannot be used."""
    path = given or read_settings().api_keys_file
    if path is None:
        fail("set the file of API keys with --file or TRANSLUCENT_API_KEYS_FILE.", WRONG)
    try:
        yield path
    except KeyFileError as error:
        fail(str(error), WRONG)


@keys.command("add")
def add(name: Name, file: File = None) -> None:
    """Make a key and print it once: only its hash is kept."""
    with key_file(file) as path:
        typer.echo(add_key(path, name))


@keys.command("list")
def list_names(file: File = None) -> None:
    """Print the name and the date of every key."""
    with key_file(file) as path:
        for key in read_keys(path):
            typer.echo(f"{key.created}  {key.name}")


@keys.command("remove")
def remove(name: Name, file: File = None) -> None:
    """Revoke a key; running servers notice within a second or two."""
    with key_file(file) as path:
        remove_key(path, name)
