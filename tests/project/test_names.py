"""Names are nouns: the words that name nothing may only become fewer as identifiers."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

WORDS = {"each", "found", "own", "known", "wanted", "other"}
MOST = 843  # lower it when there are fewer

# Classes that stand for the same thing on two sides: the service and training, the service and the Python face.
SAME = {
    *("AttentionOptions", "Encoded", "Hypothesis", "RecurrentAttention", "SearchOptions", "Shortlist", "Ssru"),
    *("TranslateRequest", "Translation", "TranslationOptions", "Translator", "_Tensors"),
}
TWO_MEANINGS = {"Engine", "Limits", "Model", "ReadOptions"}  # may only become fewer


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


def test_a_class_name_has_one_meaning() -> None:
    files: dict[str, set[Path]] = defaultdict(set)
    for folder in ("service", "training", "translucent_mt", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    files[node.name].add(path)
    assert {name for name, paths in files.items() if len(paths) > 1} <= SAME | TWO_MEANINGS
