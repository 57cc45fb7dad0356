"""The command line as a user meets it: help, clear errors, exit codes."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli import translate as bulk
from service.cli.find_model import ModelQuery
from service.cli.main import cli
from service.cli.open_models import BulkOptions
from service.engine.errors import BundleMissing, InvalidOption, UnsupportedPair
from tests.support import log_state
from tests.support.manifests import write_bundle

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("TRANSLUCENT_")]:
        monkeypatch.delenv(name)
    with log_state.kept():
        yield


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"COLUMNS": "200", **environment}, prog_name="translucent")


def test_the_module_is_the_command() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "service", "serve", "--port", "99999"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.splitlines() == [
        "translucent: TRANSLUCENT_PORT='99999' is not accepted: "
        "it must be a whole number from 0 to 65535 (default: 8000)."
    ]


def test_help_names_the_commands_and_their_options() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
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
        (
            ["serve"],
            {"TRANSLUCENT_TRACING": "true", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf",
            2,
        ),
        (["models", "--models-dir", "/nowhere"], {}, "/nowhere: there is no such folder", 1),
        (["nonsense"], {}, "No such command", 2),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(
    arguments: list[str], environment: dict[str, str], message: str, code: int
) -> None:
    answer = run(*arguments, **environment)
    assert answer.exit_code == code, answer
    assert message in answer.stderr.replace("\n", " ")
    assert "Traceback" not in answer.stderr + answer.stdout
    assert answer.stdout == ""


def test_models_are_listed_and_broken_ones_named(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "notes").mkdir()
    answer = run("models", "--models-dir", str(tmp_path))
    assert answer.exit_code == 1
    assert "broken" in answer.stderr
    assert "notes" not in answer.stderr
    (tmp_path / "broken" / "manifest.json").unlink()
    assert "no model bundle in it" in run("models", "--models-dir", str(tmp_path)).stderr


def test_a_port_that_is_taken_is_said_in_one_line_before_models_are_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = ["serve", "--port", str(port), "--models-dir", str(tmp_path)]
        found = subprocess.run([sys.executable, "-m", "service", *command], capture_output=True, text=True)
    assert found.returncode == 1
    assert not found.stdout
    assert [line for line in found.stderr.splitlines() if line] == [
        f"translucent: Port {port} of 127.0.0.1 is in use; choose another one with --port or TRANSLUCENT_PORT."
    ]


def test_settings_are_printed_as_a_table() -> None:
    assert run("settings").stdout.startswith("| variable | default | accepted | meaning |")


def test_settings_can_be_read_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli(["settings"], prog_name="translucent")
    lines = capsys.readouterr().out.splitlines()
    assert "TRANSLUCENT_PORT=8000" in lines
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith("|") for line in lines)
    assert run("settings", "--markdown").stdout == run("settings").stdout


def test_shells_can_complete_commands() -> None:
    asked = {"_TRANSLUCENT_COMPLETE": "complete_bash", "COMP_WORDS": "translucent tra", "COMP_CWORD": "1"}
    assert run(**asked).stdout.split() == ["translate"]
    assert "--install-completion" in run("--help").stdout


def test_texts_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[BulkOptions] = []
    monkeypatch.setattr(bulk, "run", taken.append)
    assert run("translate", "Hello.", "Bye.", "--to", "fr", TRANSLUCENT_DEFAULT_MODELS="m").exit_code == 0
    assert taken[0].texts == ("Hello.", "Bye.")
    assert taken[0].wanted == ModelQuery(None, None, "fr", ("m",))
    assert taken[0].split_sentences


def test_models_are_listed_with_the_memory_that_they_need(tmp_path: Path) -> None:
    write_bundle(tmp_path / "transformer-en-fr")
    answer = run("models", "--models-dir", str(tmp_path))
    assert answer.exit_code == 0
    assert "memory" in answer.stdout
    assert " 16 MiB" in answer.stdout  # of a bundle whose files are nearly empty


def test_models_as_json_is_json(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    answer = run("models", "--json", "--models-dir", str(tmp_path))
    assert json.loads(answer.stdout) == []
    assert answer.exit_code == 1


def test_translate_hands_every_option_on(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[BulkOptions] = []
    monkeypatch.setattr(bulk, "run", taken.append)
    paths = [f"--{name}={name}.txt" for name in ("input", "output", "target-file", "alignments", "scores")]
    more = [
        "--model",
        "m",
        "--from",
        "en",
        "--to",
        "fr",
        "--beam-size",
        "2",
        "--no-split-sentences",
        "--device",
        "cpu",
        "--models-dir",
        "folder",
    ]
    assert run("translate", *paths, *more, TRANSLUCENT_INTRA_THREADS="2", TRANSLUCENT_PRECISION="fp16").exit_code == 0
    assert taken == [
        BulkOptions(
            wanted=ModelQuery("m", "en", "fr"),
            models_dir=Path("folder"),
            input=Path("input.txt"),
            output=Path("output.txt"),
            beam_size=2,
            split_sentences=False,
            target_file=Path("target-file.txt"),
            alignments=Path("alignments.txt"),
            scores=Path("scores.txt"),
            device="cpu",
            precision="fp16",
            intra_threads=2,
        )
    ]


def test_the_old_name_of_an_option_works_and_a_line_says_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[BulkOptions] = []
    monkeypatch.setattr(bulk, "run", taken.append)
    result = run("translate", "Hello.", "--threads", "3")
    assert (result.exit_code, taken[0].intra_threads) == (0, 3)
    assert "--threads is now --intra-threads" in result.stderr
    result = run("translate", "Hello.", TRANSLUCENT_THREADS="4")
    assert (result.exit_code, taken[1].intra_threads) == (0, 4)
    assert "TRANSLUCENT_THREADS is now TRANSLUCENT_INTRA_THREADS" in result.stderr
    result = run("translate", "Hello.", "--threads", "3", "--intra-threads", "4")
    assert (result.exit_code, len(taken)) == (2, 2)
    assert "--threads and --intra-threads are one option and differ" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidOption("no such option"), 2, "translucent: no such option\n"),
        (UnsupportedPair("no such pair"), 2, "translucent: no such pair\n"),
        (BundleMissing("no such model"), 1, "translucent: no such model\n"),
        (KeyboardInterrupt(), 130, "translucent: interrupted\n"),
    ],
)
def test_what_translate_cannot_do_is_said(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail(_options: BulkOptions) -> None:
        raise error

    monkeypatch.setattr(bulk, "run", fail)
    answer = run("translate", "--model", "m")
    assert (answer.exit_code, answer.stderr, answer.stdout) == (code, message, "")
