"""A release agrees with the project, the resolver sees every extra, and `make audit` says when it could not ask."""

import json
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import release_check, resolve
from service import __version__
from service.engine import own_cores
from tests.support.paths import ROOT

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
    assert own_cores(Path("no such file")) == 12


KNOWN = {"name": "numpy", "version": "2.4.6", "vulns": []}
SKIPPED = {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited: numpy (2.4.6)"}
VULNERABLE = {"name": "numpy", "version": "2.4.6", "vulns": [{"id": "CVE-1", "fix_versions": ["2.4.7"]}]}


def audit(tmp_path: Path, dependencies: list[dict[str, Any]] | None, *options: str) -> tuple[int, str]:
    """Run the command with a pip-audit that reports this, or fails; exit code and output."""
    program = tmp_path / "pip-audit"
    report = json.dumps({"dependencies": dependencies})
    write = f"pathlib.Path(sys.argv[sys.argv.index('--output') + 1]).write_text({report!r})"
    action = "sys.exit('ConnectionError: no route to the service')" if dependencies is None else write
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{action}\n", "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, str(ROOT / "deploy/audit.py"), "--pip-audit", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


TOLERANT = ("--tolerate-no-service",)  # as in CI, which says it aloud


@pytest.mark.parametrize(
    ("dependencies", "options", "code", "words"),
    [
        ([KNOWN], (), 0, "1 packages audited"),
        ([KNOWN, VULNERABLE], (), 1, "CVE-1, fixed in 2.4.7"),
        ([SKIPPED, VULNERABLE], (), 1, "VULNERABLE"),
        ([SKIPPED], (), 3, "NOT AUDITED"),
        ([KNOWN, SKIPPED], (), 3, "does not know numpy"),
        ([], (), 3, "NOT AUDITED"),
        (None, (), 3, "no route to the service"),
        (None, TOLERANT, 0, "NOT AUDITED"),
        ([SKIPPED], TOLERANT, 0, "NOT AUDITED"),
        ([VULNERABLE], TOLERANT, 1, "VULNERABLE"),
    ],
)
def test_only_a_full_and_clean_answer_is_a_success(
    tmp_path: Path, dependencies: list[dict[str, Any]] | None, options: tuple[str, ...], code: int, words: str
) -> None:
    found, output = audit(tmp_path, dependencies, *options)
    assert found == code, output
    assert words in output
