"""`translucent models add` where PyTorch cannot be imported, and the walk of docs/imported-models.md."""

import errno
import json
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from service.bundle.load import load_bundle
from tests.docs.commands import commands
from tests.support.polling import wait_until
from tests.support.server import free_port, running
from tests.training.imports.firefox_models import student_folder
from tests.training.imports.serving_environment import TRAINING_ALONE, done, variables
from tests.training.imports.toy_text import ENGLISH
from training.imports.add import AddOptions, ReadOptions, add_model, format_of
from training.imports.files import ImportRefused

pytestmark = pytest.mark.slow

WALK = "translucent models add enfr"


def add(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return done(folder, variables(folder), "translucent", "models", "add", "enfr", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walk")
    student_folder(folder / "enfr", soft=True)
    return folder


def test_the_walk_of_the_docs_leads_from_a_download_to_a_translation_a_picture_and_a_document(folder: Path) -> None:
    page = [command.text for command in commands("docs/imported-models.md")]
    begin = next(number for number, text in enumerate(page) if text.startswith(WALK)) - 1
    end = next(number for number, text in enumerate(page) if "attention.svg" in text)
    walk = page[begin : end + 1]
    assert len(walk) <= 10
    port = str(free_port())
    typed = "\n".join(walk).replace("localhost:8000", f"localhost:{port}").replace("curl -s", "curl -s --fail")
    typed = typed.replace("--retry 60", "--retry 600")  # a busy machine takes longer to start a server
    script = f"set -e\ntrap 'jobs -p | xargs -r kill' EXIT\n{typed}"
    walked = done(folder, variables(folder, TRANSLUCENT_PORT=port), "bash", "-c", script)
    assert walked.returncode == 0, walked.stdout + walked.stderr
    assert '"translatedText":"' in walked.stdout
    assert (folder / "notes.fr.md").read_text("utf-8").strip()
    assert "</svg>" in (folder / "attention.svg").read_text("utf-8")
    manifest = load_bundle(folder / "models/firefox-en-fr").manifest
    assert manifest.card["imported"]["stated"]
    compared = {entry["what"] for entry in manifest.raw["parity"]["compared"]}
    assert "greedy tokens as the float graph chooses" in compared


def test_a_running_server_serves_what_is_added(folder: Path) -> None:
    models = folder / "served"
    first = add(folder, "--models-dir", str(models))
    assert first.returncode == 0, first.stderr
    with running("-m", "service", "serve", "--models-dir", str(models), "--device", "cpu") as server:
        more = add(folder, "--models-dir", str(models), "--name", "other", "--to", "de")
        assert more.returncode == 0, more.stderr
        assert "en → de, MPL-2.0" in more.stdout
        server.signal(signal.SIGHUP)
        wait_until(lambda: "de" in _targets(server.url), 60)
        asked = {"q": ENGLISH[0], "source": "en", "target": "de"}
        answer = httpx.post(f"{server.url}/translate", json=asked)
        assert answer.json()["translatedText"]


def _targets(url: str) -> list[str]:
    listed = httpx.get(f"{url}/languages").json()
    return [target for language in listed if language["code"] == "en" for target in language["targets"]]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"config.json": "{}", "pytorch_model.bin": ""}, "training environment: python -m training import"),
        ({"config.json": "{}", "model.safetensors": ""}, "training environment: python -m training import"),
        ({"model.enfr.intgemm.alphas.bin": "version https://git-lfs.github.com/spec/v1"}, "a pointer of Git LFS"),
        ({"model.enfr.intgemm.alphas.bin.gz": "<!DOCTYPE html>"}, "a web page in the place of the file"),
        ({"model.bin": ""}, "it is no CTranslate2 model, or it is cut off"),
        ({"opus.npz": "", "source.spm": ""}, "ct2-opus-mt-converter"),
        ({"notes.txt": ""}, "no model that can be added"),
    ],
)
def test_what_cannot_be_added_is_refused_with_what_to_do(files: dict[str, str], said: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ImportRefused, match=said):
        add_model(tmp_path, tmp_path / "models", AddOptions())
    assert not (tmp_path / "models").exists()
    with pytest.raises(ImportRefused, match="no such file or folder"):
        format_of(tmp_path / "elsewhere")


def test_a_disk_without_room_is_said_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.imports.files.shutil.disk_usage", lambda _folder: SimpleNamespace(free=1000))
    with pytest.raises(ImportRefused, match=r"writes up to .* MB there, and 0 MB are free; make room, or .* TMPDIR"):
        add_model(folder / "enfr", tmp_path / "models", AddOptions())
    assert not (tmp_path / "models").exists()


def test_a_disk_that_fills_up_is_said_with_the_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("training.imports.add.write_import", full)
    with pytest.raises(ImportRefused, match=r".* or .*models: no space is left; make room, or name .* TMPDIR"):
        add_model(folder / "enfr", tmp_path / "models", AddOptions())


@pytest.mark.parametrize("name", ["../evil", "a/b", "UPPER case", "x*", ".hidden", "x" * 65])
def test_a_name_that_no_bundle_can_have_is_refused_before_anything_is_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="cannot be a bundle's name"):
        add_model(tmp_path / "nothing", tmp_path, AddOptions(ReadOptions(name)))


def test_files_of_two_models_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "enfr", tmp_path / "enfr")
    metadata = tmp_path / "enfr/metadata.json"
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"hash": "0" * 64}))
    with pytest.raises(ImportRefused, match=r"its SHA-256 is not the one of metadata.json"):
        add_model(tmp_path / "enfr", tmp_path / "models", AddOptions())


def test_the_command_says_which_extra_is_missing(folder: Path) -> None:
    environment = variables(folder, (*TRAINING_ALONE, "onnx"))
    said = done(folder, environment, "translucent", "models", "add", "enfr")
    assert said.returncode == 1
    assert "pip install '.[import]'" in said.stderr
    assert said.stdout == ""
