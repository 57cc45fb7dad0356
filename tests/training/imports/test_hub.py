"""Models are fetched from a server that speaks the hub's protocol."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.imports.hub_server import Hub, hub_with

NAME = "Helsinki-NLP/opus-mt-en-fr"
FETCH = "import sys; from training.imports.hub import fetch_model; print(fetch_model(*sys.argv[1:]))"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Return a hub with one model, whose weights are available in two formats."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "source.spm", "README.md", "pytorch_model.bin", "model.safetensors"):
        (folder / name).write_text(name)
    with hub_with(NAME, folder) as server:
        yield server


def fetched(hub: Hub, cache: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Fetch in a process of its own: the library reads its settings when it is imported."""
    settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(cache), "HF_HUB_DISABLE_XET": "1", **environment}
    command = [sys.executable, "-c", FETCH, *(arguments or (NAME,))]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)


def test_one_checkpoint_and_the_small_files_arrive_and_stay(hub: Hub, tmp_path: Path) -> None:
    found = fetched(hub, tmp_path / "cache")
    folder, names = Path(found.stdout.strip()), ["README.md", "config.json", "model.safetensors", "source.spm"]
    assert sorted(path.name for path in folder.iterdir()) == names, found.stderr
    assert (folder / "model.safetensors").read_text() == "model.safetensors"
    hub.requests.clear()
    assert Path(fetched(hub, tmp_path / "cache").stdout.strip()) == folder
    assert not [path for path in hub.requests if "/resolve/" in path]
    hub.requests.clear()
    assert Path(fetched(hub, tmp_path / "cache", HF_HUB_OFFLINE="1").stdout.strip()) == folder
    assert not hub.requests


def test_a_damaged_file_is_deleted_and_named(hub: Hub, tmp_path: Path) -> None:
    hub.damaged = "model.safetensors"
    assert "model.safetensors arrived damaged" in fetched(hub, tmp_path / "cache").stderr
    hub.damaged = ""
    assert fetched(hub, tmp_path / "cache").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("nobody/nothing",), {}, "there is no such model"),
        ((NAME, "v9"), {}, "it has no revision 'v9'"),
        (("opus-mt-en-fr",), {}, "there is no such folder"),
        ((NAME,), {"HF_ENDPOINT": "http://127.0.0.1:9"}, "could not be fetched from http://127.0.0.1:9"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(
    hub: Hub, tmp_path: Path, arguments: tuple[str, ...], settings: dict[str, str], message: str
) -> None:
    found = fetched(hub, tmp_path / "cache", *arguments, **settings)
    assert found.returncode != 0
    assert message in found.stderr.splitlines()[-1]
