"""The engine has no word of a language in its code: what a language knows stands in its folder."""

import ast
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

FILES = sorted((ROOT / "service/engine").rglob("*.py"))
ROOMS = ("text", "values")  # where texts are read; elsewhere attention is no French word
GRAMMARS = ("de", "en", "fr")
# Scripts without blanks, as ranges of letters.
NO_WORDS = {"service/engine/attention/words.py"}
LEAST = 3  # letters of a word that is looked for
NOTATIONS = frozenset(("bar", "eur", "gib", "min"))  # units and currencies, whatever they mean elsewhere


def strings_of(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that are no docstrings, each with its line."""
    tree = ast.parse(file.read_text("utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def texts_of(table: Any) -> Iterator[str]:
    """Yield the texts of a table, with the keys of tables of words."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, list):
        for each in table:
            yield from texts_of(each)
    elif isinstance(table, dict):
        for each in table.values():
            yield from texts_of(each)


def words_of(tag: str) -> set[str]:
    """Return the words of a language's file that are no English ones, in small letters."""
    tables = {
        name: tomllib.loads((ROOT / f"service/languages/{name}/language.toml").read_text("utf-8"))
        for name in (tag, "en")
    }
    words = {
        name: {word.lower() for text in texts_of(table) for word in re.findall(rf"[^\W\d_]{{{LEAST},}}", text)}
        for name, table in tables.items()
    }
    return words[tag] - words["en"] - NOTATIONS


def places(found: Iterator[tuple[Path, int, str]]) -> list[str]:
    return [f"{file.relative_to(ROOT)}:{line}: {text!r}" for file, line, text in found]


def test_no_string_of_the_engine_has_letters_of_some_languages_alone() -> None:
    odd = (
        (file, line, text)
        for file in FILES
        if str(file.relative_to(ROOT)) not in NO_WORDS
        for line, text in strings_of(file)
        if any(unicodedata.category(letter)[0] == "L" and not letter.isascii() for letter in text)
    )
    assert places(odd) == []


def test_the_engine_asks_for_no_language_by_its_tag() -> None:
    asked = ((file, line, text) for file in FILES for line, text in strings_of(file) if text in GRAMMARS)
    assert places(asked) == []


@pytest.mark.parametrize("tag", ["de", "fr"])
def test_no_word_of_a_language_stands_in_the_code_of_the_engine(tag: str) -> None:
    words = words_of(tag)
    assert len(words) > 100
    known = (
        (file, line, text)
        for file in FILES
        if file.parent.name in ROOMS
        for line, text in strings_of(file)
        if not words.isdisjoint(re.findall(r"[^\W\d_]+", text.lower()))
    )
    assert places(known) == []
