"""Imports that import-linter cannot check: an allow-list, and what is loaded at run time."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MAY_IMPORT = {
    "service/engine": {"annotated_types", "numpy", "onnxruntime", "sentencex", "service", "tokenizers"},
    "service/bundle": {"jsonschema", "numpy", "service", "tokenizers"},
    "service/languages": {"service"},
}
HEAVY = ("fastapi", "prometheus_client", "pydantic", "starlette", "torch", "uvicorn")


def imported_modules(file: Path) -> set[str]:
    """Return the modules that a file imports anywhere, inside functions too."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


def test_test_modules_import_no_other_test_module() -> None:
    """Helpers that two of them need are in `tests/support`."""
    borrowed = {
        str(file.relative_to(ROOT)): module
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for module in imported_modules(file)
        if re.search(r"^tests\.(.*\.)?(test_\w+|conftest)\b", module)
    }
    assert borrowed == {}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_engine_and_bundle_import_their_few_libraries_and_nothing_else(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    known = MAY_IMPORT[package] | sys.stdlib_module_names
    strangers = {
        file.name: foreign
        for file in files
        if (foreign := {each.partition(".")[0] for each in imported_modules(file)} - known)
    }
    assert strangers == {}


@pytest.mark.parametrize(("package", "more"), [("engine", ()), ("bundle", ("onnxruntime",))])
def test_importing_engine_or_bundle_loads_neither_http_nor_metrics_nor_torch(
    package: str, more: tuple[str, ...]
) -> None:
    modules = sorted(f"service.{package}.{file.stem}" for file in (ROOT / "service" / package).glob("[!_]*.py"))
    program = f"import sys, {', '.join(modules)}\nprint(*sorted(set({(*HEAVY, *more)}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_every_public_name_of_the_engine_can_be_imported_without_onnx_runtime_and_schema_checks() -> None:
    program = (
        "import ast, sys, service.engine as engine\n"
        "assert not {'jsonschema', 'onnxruntime'} & set(sys.modules), 'importing the engine is slow'\n"
        "tree = ast.parse(open(engine.__file__).read())\n"
        "imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != 'typing']\n"
        "assert len([getattr(engine, name.name) for node in imports for name in node.names]) > 50\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
