"""The command line as a user meets it: help, clear errors, exit codes."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli import translate as bulk
from service.cli.find_model import ModelQuery
from service.cli.main import cli
from service.cli.open_models import BulkOptions
from service.engine.errors import BundleMissing, InvalidOption
from tests.support.manifests import write_bundle


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TRANSLUCENT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[BulkOptions]:
    """Return the list of what `translate` is called with, in the place of a translation."""
    options: list[BulkOptions] = []
    monkeypatch.setattr(bulk, "run", options.append)
    return options


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"COLUMNS": "200", **environment}, prog_name="translucent")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["serve", "models", "translate", "settings", "--install-completion"]),
        (["serve", "-h"], ["TRANSLUCENT_PORT"]),
        (["--version"], ["translucent 0."]),
        (["settings"], ["| variable | default | accepted | meaning |"]),
    ],
)
def test_commands_options_and_settings_are_shown(arguments: list[str], words: list[str]) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 0
    assert [word for word in words if word not in answer.stdout] == []


@pytest.mark.parametrize(
    ("arguments", "environment", "message", "code"),
    [
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
        (["keys", "list", "--file", "/nowhere"], {}, "translucent keys add", 2),
        (["keys", "add", "a b", "--file", "/nowhere"], {}, "letters, digits", 2),
        (["keys", "list"], {}, "--file", 2),
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


def test_a_port_that_cannot_be_had_is_said_in_one_line_before_models_are_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        not_accepted = "is not accepted: it must be a whole number from 0 to 65535 (default: 8000)."
        for given, code, line in (
            (port, 1, f"Port {port} of 127.0.0.1 is in use; choose another one with --port or TRANSLUCENT_PORT."),
            (99999, 2, f"TRANSLUCENT_PORT='99999' {not_accepted}"),
        ):
            command = [sys.executable, "-m", "service", "serve", "--port", str(given), "--models-dir", str(tmp_path)]
            found = subprocess.run(command, capture_output=True, text=True)
            assert (found.returncode, found.stdout) == (code, "")
            assert [line for line in found.stderr.splitlines() if line] == [f"translucent: {line}"]


@pytest.mark.parametrize("manifest", ["{", "{}"])
def test_models_are_listed_with_their_memory_and_broken_ones_named(tmp_path: Path, manifest: str) -> None:
    listing = ["models", "--models-dir", str(tmp_path)]
    for name in ("broken", "notes"):
        (tmp_path / name).mkdir()
    assert "no model bundle in it" in run(*listing).stderr
    (tmp_path / "broken" / "manifest.json").write_text(manifest)
    assert json.loads(run(*listing, "--json").stdout) == []
    write_bundle(tmp_path / "transformer-en-fr")
    answer = run(*listing)
    assert (answer.exit_code, "broken" in answer.stderr, "notes" in answer.stderr) == (1, True, False)
    assert " 16 MiB" in answer.stdout  # of a bundle whose files are nearly empty


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


def test_translate_hands_texts_and_every_option_on(taken: list[BulkOptions]) -> None:
    assert run("translate", "Hello.", "Bye.", "--to", "fr", TRANSLUCENT_DEFAULT_MODELS="m").exit_code == 0
    files = [f"--{name}={name}.txt" for name in ("input", "output", "target-file", "alignments", "words", "scores")]
    more = [
        "--model=m",
        "-f",
        "en",
        "-t",
        "fr",
        "--beam-size=2",
        "--alternatives=3",
        "--json",
        "--no-split-sentences",
        "--device=cpu",
    ]
    more += ["--models-dir=folder", "--pivot=off"]
    assert run("translate", *files, *more, TRANSLUCENT_INTRA_THREADS="2", TRANSLUCENT_PRECISION="fp16").exit_code == 0
    assert (taken[0].texts, taken[0].wanted) == (("Hello.", "Bye."), ModelQuery(None, None, "fr", ("m",), "en"))
    assert taken[0].split_sentences
    assert taken[1:] == [
        BulkOptions(
            wanted=ModelQuery("m", "en", "fr"),
            models_dir=Path("folder"),
            input=Path("input.txt"),
            output=Path("output.txt"),
            beam_size=2,
            alternatives=3,
            as_json=True,
            split_sentences=False,
            target_file=Path("target-file.txt"),
            alignments=Path("alignments.txt"),
            words=Path("words.txt"),
            scores=Path("scores.txt"),
            device="cpu",
            precision="fp16",
            intra_threads=2,
        )
    ]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidOption("no such option"), 2, "translucent: no such option\n"),
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
