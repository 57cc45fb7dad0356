"""The wheel: one top-level package, whose imports are renamed, beside other people's `service` and `training`."""

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deploy import wheel
from tests.support.paths import ROOT

BUNDLE = ROOT / "models/transformer-en-de"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contents of a built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_imports_are_renamed_and_nothing_else() -> None:
    source = (
        '"""About service.engine."""\nif True:\n    from  service.engine import (  # service\n        Token,\n    )\n'
        'x = "é"; '
    )
    renamed = wheel.rename_imports(f"{source}from training import x\n".encode(), "module.py").decode()
    assert renamed == source.replace("from  service.", "from  translucent_mt.service.") + (
        "from translucent_mt.training import x\n"
    )


def test_names_that_only_begin_alike_and_relative_imports_stay() -> None:
    source = b"from services import a\nfrom service_x.y import b\nfrom .service import c\nimport numpy\n"
    assert wheel.rename_imports(source, "module.py") == source


@pytest.mark.parametrize(
    "source", ["import service.engine\n", "import os, training\n", "from \\\n  service import x\n"]
)
def test_an_import_that_cannot_be_renamed_stops_the_build(source: str) -> None:
    with pytest.raises(wheel.RenameError, match=r"module\.py:\d+"):
        wheel.rename_imports(source.encode(), "module.py")


def test_a_wheel_installs_one_top_level_name(installed: Path) -> None:
    top = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"translucent_mt"}
    files = {path.name for path in installed.rglob("*") if path.is_file()}
    assert {"manifest.schema.json", "index.html", "py.typed", "METADATA", "LICENSE", "toy.yaml"} <= files


def test_no_module_of_a_wheel_names_one_by_its_name_in_the_checkout(installed: Path) -> None:
    """A string would not be renamed: modules are named by `__name__` and `__package__`."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in wheel.INNER
        for path in (ROOT / package).rglob("*.py")
    } - {"training"}  # the word is also used for other things
    wrong = []
    for path in (installed / "translucent_mt").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                assert node.module.partition(".")[0] not in wheel.INNER, path
            if isinstance(node, ast.Constant) and node.value in names - {"service"}:
                wrong.append((path.name, node.value))
    assert wrong == []


def test_it_works_in_a_process_that_uses_other_packages_of_the_same_names(installed: Path, tmp_path: Path) -> None:
    for name in wheel.INNER:
        (tmp_path / f"{name}.py").write_text("OWNER = 'somebody else'\n", "utf-8")
    program = (
        "import sys, service, training\n"
        "from translucent_mt import Translator\n"
        "with Translator.load(sys.argv[1]) as translator:\n"
        "    result = translator('A man is sleeping.')\n"
        "    assert result.text and result.attention.weights.shape[0] == len(result.tokens)\n"
        "    assert result.attention.plot().svg.startswith('<svg')\n"
        "assert service.OWNER == training.OWNER == 'somebody else'\n"
        "print(sys.modules['translucent_mt.service.engine'].__file__)\n"
        "print(*[name for name in sys.modules if name.startswith(('service.', 'training.'))])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(installed)])}
    command = [sys.executable, "-c", program, str(BUNDLE)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    file, others = done.stdout.splitlines()
    assert Path(file).is_relative_to(installed)
    assert others == ""
