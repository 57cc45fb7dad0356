"""Reads the folders of languages: `language.toml`, whose keys are the fields of `Language`, and lists beside it."""

import dataclasses
import functools
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.languages.language import Language

FOLDERS: tuple[Path, ...] = (Path(__file__).parent,)
"""Where folders of languages are; the first that has a language has all that is known of it."""


@functools.lru_cache(maxsize=4096)  # some 15 times for each text
def language_of(tag: str) -> Language:
    """Return the language of a tag, that of en for en-GB; without a folder it knows nothing but its tag."""
    return _language(re.split("[-_]", tag.lower())[0])


def known_languages() -> tuple[Language, ...]:
    """Return the languages that have a folder, in the order of their tags."""
    tags = {file.parent.name for folder in FOLDERS for file in folder.glob("*/language.toml")}
    return tuple(map(language_of, sorted(tags)))


@functools.cache
def _language(tag: str) -> Language:
    candidates = (folder / tag for folder in FOLDERS if tag.isalpha() and (folder / tag / "language.toml").exists())
    folder = next(candidates, None)
    return Language(tag) if folder is None else read_language(folder)


def forget() -> None:
    """Read the folders again at the next use."""
    language_of.cache_clear()
    _language.cache_clear()


def read_language(folder: Path) -> Language:
    """Return the language of a folder, which has its tag as a name; raise ValueError for a key that is not known."""
    file = folder / "language.toml"
    table = {"tag": folder.name, "folder": folder, **tomllib.loads(file.read_text("utf-8"))}
    language: Language = _made(Language, table, str(file))
    return language


def _made(kind: Any, value: Any, where: str) -> Any:
    """Return what a value of a file is as a type: a dataclass of a table, a pattern or text of a string, and so on."""
    if isinstance(kind, types.UnionType):  # X | None
        kind = typing.get_args(kind)[0]
    if dataclasses.is_dataclass(kind):
        return _of_table(kind, value, where)
    origin, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is re.Pattern:
        return re.compile("|".join(value) if isinstance(value, list) else value)
    if origin is tuple and isinstance(value, list):
        return tuple(_made(arguments[0], part, where) for part in value)
    if origin is Mapping and isinstance(value, dict):
        return {key: _made(arguments[1], part, f"{where}: {key}") for key, part in value.items()}
    if origin in (str, bool, int, Path) and isinstance(value, origin):
        return value
    raise ValueError(f"{where} is {value!r}, which is no {kind}.")


def _of_table(kind: Any, table: Any, where: str) -> Any:
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(table) - set(hints))
    if unknown:
        raise ValueError(f"{where} has {unknown[0]!r}; known are {', '.join(sorted(hints))}.")
    return kind(**{key: _made(hints[key], value, f"{where}: {key}") for key, value in table.items()})
