"""The command line as a user meets it: help, clear errors, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TRANSLUCENT_")}
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        cwd=ROOT,
        env={**variables, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_names_the_commands_and_their_options() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    for command in ("serve", "models", "translate", "settings"):
        assert command in answer.stdout
    assert "TRANSLUCENT_PORT" in run("serve", "-h").stdout


def test_the_version_is_shown() -> None:
    assert run("--version").stdout.startswith("translucent 0.")


@pytest.mark.parametrize(
    ("arguments", "environment", "message", "code"),
    [
        (["serve", "--port", "99999"], {}, "TRANSLUCENT_PORT='99999' is not accepted", 2),
        (["serve", "--port", "abc"], {}, "Invalid value for '--port'", 2),
        (["serve"], {"TRANSLUCENT_PORT": "abc"}, "TRANSLUCENT_PORT='abc' is not accepted: it must be a whole", 2),
        (["serve"], {"TRANSLUCENT_PROT": "1"}, "did you mean TRANSLUCENT_PORT?", 2),
        (["serve", "--models-dir", "/nowhere"], {}, "/nowhere", 1),
        (["models", "--models-dir", "/nowhere"], {}, "/nowhere: there is no such folder", 1),
        (["nonsense"], {}, "No such command", 2),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(
    arguments: list[str], environment: dict[str, str], message: str, code: int
) -> None:
    answer = run(*arguments, **environment)
    assert answer.returncode == code, answer
    assert message in answer.stderr.replace("\n", " ")
    assert "Traceback" not in answer.stderr + answer.stdout
    assert answer.stdout == ""


def test_models_are_listed_and_broken_ones_named(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "notes").mkdir()
    answer = run("models", "--models-dir", str(tmp_path))
    assert answer.returncode == 1
    assert "broken" in answer.stderr
    assert "notes" not in answer.stderr
    (tmp_path / "broken" / "manifest.json").unlink()
    assert "no model bundle in it" in run("models", "--models-dir", str(tmp_path)).stderr


def test_settings_are_printed_as_a_table() -> None:
    assert run("settings").stdout.startswith("| variable | default | accepted | meaning |")


def test_models_as_json_is_json(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    answer = run("models", "--json", "--models-dir", str(tmp_path))
    assert json.loads(answer.stdout) == []
    assert answer.returncode == 1
