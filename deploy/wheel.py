"""Builds the wheel: one package, `translucent_mt`, with `service` and `training` inside it (ADR 23).

Their imports are renamed with them. Nothing else of a file changes, so lines keep their numbers, and strings are left
alone: the code never names its own modules in a string. hatchling calls this file for a wheel, and not for an editable
installation.
"""

import ast
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "translucent_mt"
INNER = ("service", "training")
_ROOT = re.compile(rb"from\s+(?=service\b|training\b)")


class RenameError(ValueError):
    """An import that cannot be renamed without changing the code around it."""


def renamed(module: str) -> str:
    """Return the name that a module has in the wheel."""
    return f"{PACKAGE}.{module}" if module.partition(".")[0] in INNER else module


def rename_imports(source: bytes, name: str) -> bytes:
    """Return a module's source with the names of its imports as in the wheel; raise RenameError."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree := ast.parse(source, name)):
        if isinstance(node, ast.Import) and any(renamed(each.name) != each.name for each in node.names):
            raise RenameError(f"{name}:{node.lineno}: write `from … import …`; `import service` binds a name.")
        if isinstance(node, ast.ImportFrom) and not node.level and node.module and renamed(node.module) != node.module:
            line = lines[node.lineno - 1]
            found = _ROOT.match(line, node.col_offset)
            if found is None:
                raise RenameError(f"{name}:{node.lineno}: write `from` and the module on one line.")
            lines[node.lineno - 1] = line[: found.end()] + f"{PACKAGE}.".encode() + line[found.end() :]
    result = b"".join(lines)
    _check(tree, result, name)
    return result


def _check(before: ast.AST, after: bytes, name: str) -> None:
    """Raise RenameError unless the renamed source is the same program with other names of modules."""
    for node in ast.walk(before):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            node.module = renamed(node.module)
    if ast.dump(before) != ast.dump(ast.parse(after, name)):
        raise RenameError(f"{name}: renaming its imports would change the program.")


def copy_renamed(root: Path, target: Path) -> None:
    """Copy the packages of a checkout to a new folder as one, with the imports of the wheel."""
    ignored = shutil.ignore_patterns("__pycache__", "*.py[cod]")
    shutil.copytree(root / PACKAGE, target, ignore=ignored)
    for package in INNER:
        shutil.copytree(root / package, target / package, ignore=ignored)
    for file in target.rglob("*.py"):
        file.write_bytes(rename_imports(file.read_bytes(), str(file.relative_to(target))))


class WheelHook(BuildHookInterface[Any]):
    """Adds the renamed packages to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the copies; an editable installation uses the checkout itself."""
        self._folder: Path | None = None
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="translucent-wheel-"))
        copy_renamed(Path(self.root), self._folder / PACKAGE)
        build_data["force_include"][str(self._folder / PACKAGE)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        if self._folder is not None:
            shutil.rmtree(self._folder)
