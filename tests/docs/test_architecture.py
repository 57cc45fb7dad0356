"""Every file and every name on the page of the architecture is there."""

import ast
import re
from pathlib import Path

from tests.support.paths import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
PATHS = sorted({path for path in re.findall(r"`([a-z_]+/[\w./-]+)`", PAGE) if not path.endswith("/")})
NAMES = sorted(
    {
        (name, path)
        for names, path in re.findall(r"((?:`[\w.]+`(?:, | and )?)+) in (?:\n *)?`([\w/]+\.py)`", PAGE)
        for name in re.findall(r"`([\w.]+)`", names)
    }
)


def names_of(path: Path) -> set[str]:
    """Return what a module defines, methods with their class."""
    found: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


def test_the_page_names_files_and_functions() -> None:
    assert len(PATHS) >= 60
    assert len(NAMES) >= 40


def test_every_file_of_the_page_is_there() -> None:
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


def test_every_name_of_the_page_is_defined_where_it_says() -> None:
    assert [(name, path) for name, path in NAMES if name not in names_of(ROOT / path)] == []
