"""Names are nouns: the words that name nothing may only become fewer as identifiers."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

WORDS = {"each", "found", "own", "known", "wanted", "other"}
MOST = 843  # lower it when there are fewer


def identifiers(path: Path) -> Iterator[str | None]:
    """Yield every name that a file defines or uses: variables, parameters, attributes, keywords, functions, classes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def test_words_that_name_nothing_become_fewer() -> None:
    files = (path for folder in ("service", "training", "translucent_mt") for path in (ROOT / folder).rglob("*.py"))
    assert sum(name in WORDS for path in files for name in identifiers(path)) <= MOST
