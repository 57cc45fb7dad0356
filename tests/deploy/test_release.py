"""A release agrees with the project: Pythons, workflows, versions; the resolver sees every extra."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import release_check, resolve
from service import __version__
from service.engine import loader

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_every_place_names_the_same_pythons() -> None:
    versions = resolve.pythons(PROJECT)
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    assert tuple(versions) == release_check.VERSIONS
    assert tests["jobs"]["tests"]["strategy"]["matrix"]["python"] == versions
    assert versions[-1] in (ROOT / "README.md").read_text("utf-8")
    assert f"<3.{int(versions[-1].split('.')[1]) + 1}" in PROJECT["requires-python"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert all(f"python{version}" in makefile for version in versions)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_what_they_use_and_call_targets_that_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    assert all(re.search(r"@[0-9a-f]{40} # v\d", line) for line in text.splitlines() if "uses:" in line)
    assert yaml.safe_load(text)["permissions"] == {}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"run: make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_resolver_is_asked_for_every_extra_and_one_runtime() -> None:
    cpu, gpu = (resolve.requirements(PROJECT, gpu=gpu) for gpu in (False, True))
    extras = PROJECT["optional-dependencies"]
    assert set(cpu) ^ set(gpu) == {*extras["cpu"], *extras["gpu"]}
    every = {line for lines in extras.values() for line in lines} | set(PROJECT["dependencies"])
    left_out = every - set(cpu) - set(gpu)
    assert {re.split(r"[\[>=]", line)[0] for line in left_out} == set(resolve.SOURCE_ONLY)


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == __version__


def test_a_system_that_cannot_tell_the_cores_of_a_process_counts_those_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 12)
    assert loader.own_cores(Path("no such file")) == 12
