"""Every command and all Python in the docs does what its page says; not_run.yaml lists what cannot be run."""

import ast
import asyncio
import functools
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main
import yaml

from tests.docs.commands import Command, blocks, commands
from tests.support.paths import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "models/README.md"]
    if path.name != "CHANGELOG.md"
)
NOT_RUN: list[dict[str, str]] = yaml.safe_load((Path(__file__).parent / "not_run.yaml").read_text("utf-8"))
ALL = [command for page in PAGES for command in commands(page)]
SAMPLES = ROOT / "docs/samples"
SERVER = re.compile(r"(?:localhost|127\.0\.0\.1):8000")


def reason(command: Command) -> str | None:
    """Return why a command is not run; None if it is."""
    return next((entry["reason"] for entry in NOT_RUN if re.match(entry["command"], command.text)), None)


RUN = [command for command in ALL if reason(command) is None]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give a function that makes a folder for each page, with the files that the docs name."""

    @functools.cache
    def folder_of(page: str) -> Path:
        folder = tmp_path_factory.mktemp("docs")
        (folder / ".venv").mkdir()
        (folder / ".venv/bin").symlink_to(Path(sys.executable).parent)
        (folder / "table.csv").write_text("id,title,text\n1,The house,I lost.\n")
        (folder / "notes.md").write_text("# The house\n\nI lost.\n")
        (folder / "docs/guide").mkdir(parents=True)
        (folder / "docs/index.md").write_text("# The house\n\nI lost.\n")
        (folder / "docs/guide/start.md").write_text("# Start\n\nI lost my keys.\n")
        shutil.copy(SAMPLES / "report.docx", folder)
        if page == "README.md":
            shutil.copytree(SAMPLES, folder / "docs/samples")
        return folder

    return folder_of


@pytest.mark.parametrize("command", RUN, ids=lambda command: f"{command.page}: {command.text[:60]}")
def test_a_command_works_and_prints_what_its_page_says(
    command: Command, address: str, folder_of: Callable[[str], Path]
) -> None:
    folder = folder_of(command.page)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TRANSLUCENT_")}
    variables["PATH"] = f"{Path(sys.executable).parent}:{variables['PATH']}"
    variables["TRANSLUCENT_API_KEYS_FILE"] = str(folder / "keys.json")
    text = SERVER.sub(address, command.text).replace("curl ", "curl --fail-with-body ")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if command.output:
        assert command.printed.fullmatch(done.stdout.replace(address, "localhost:8000").strip()), done.stdout


def test_the_samples_that_pages_name_are_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"docs/samples/[\w.-]*\w", (ROOT / page).read_text("utf-8"))}
    made = {"docs/samples/report.fr.docx"}
    assert named >= {f"docs/samples/{path.name}" for path in SAMPLES.iterdir() if path.name != "pairs.en-fr.tsv"}
    assert [name for name in named - made if not (ROOT / name).is_file()] == []


def test_every_reason_not_to_run_a_command_is_still_needed() -> None:
    unused = [one["command"] for one in NOT_RUN if not any(re.match(one["command"], each.text) for each in ALL)]
    assert unused == []
    assert len(RUN) >= 25


def spoken(command: Command) -> list[tuple[str, list[str]]]:
    """Return the programs of ours in a command, with their arguments."""
    found = []
    for line in re.split(r"&&|;|\||\n(?! )", command.text.replace("\\\n", " ")):
        match = re.search(r"(?:^|\s|/)(python -m training|translucent) (.*)", line.strip())
        if match and not line.strip().startswith(("pip", "docker", "kubectl", "systemctl", "cp")):
            found.append((match[1], shlex.split(match[2].replace("…", ""), comments=True)))
    return found


@pytest.mark.parametrize(
    "command", [each for each in ALL if spoken(each)], ids=lambda each: f"{each.page}: {each.text[:60]}"
)
def test_the_options_of_our_commands_exist(command: Command) -> None:
    from training.__main__ import app as training_cli
    from translucent_mt.command_line import cli as service_cli

    for program, arguments in spoken(command):
        current: Any = typer.main.get_command(training_cli if program.endswith("training") else service_cli)
        context = click.Context(current)
        while (
            arguments and hasattr(current, "get_command") and not arguments[0].startswith("-")
        ):  # a group has options, too
            name = arguments.pop(0)
            current = current.get_command(context, name)
            assert current is not None, f"{program} has no command {name}"
        known = {option for parameter in current.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = {argument.partition("=")[0] for argument in arguments if re.match(r"--?[a-z]", argument)}
        assert given <= known | {"--help", "-h"}, f"{program}: {given - known}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python") and "/learn/" not in page])
def test_the_python_of_a_page_runs(page: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"sources": ["I lost."], "targets": ["J'ai perdu."]}
    for number, block in enumerate(blocks(page, "python"), 1):
        code = compile(SERVER.sub(address, block), f"{page}, block {number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, names)
        if inspect.iscoroutine(result):
            asyncio.run(result)
