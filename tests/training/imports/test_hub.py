"""Models are fetched from a server that speaks the hub's protocol."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "Helsinki-NLP/opus-mt-en-fr"
FETCH = "import sys; from training.imports.hub import fetch_model; print(fetch_model(*sys.argv[1:]))"


class Hub(ThreadingHTTPServer):
    """Speaks as much of the hub's protocol as downloads of one model need, and remembers the requests."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.folder = folder
        self.requests: list[str] = []
        self.damaged = ""  # the file whose checksum does not fit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append(path)
        files = sorted(self.server.folder.iterdir())
        if path.startswith(f"/api/models/{NAME}/tree/"):
            return self._send(200, json.dumps([self._metadata(file) for file in files]).encode())
        if re.fullmatch(rf"/api/models/{NAME}(/revision/(main|{COMMIT}))?", path):
            siblings = [{"rfilename": file.name} for file in files]
            model = {"id": NAME, "modelId": NAME, "sha": COMMIT, "siblings": siblings}
            return self._send(200, json.dumps(model).encode())
        for file in files:
            if path in (f"/{NAME}/resolve/main/{file.name}", f"/{NAME}/resolve/{COMMIT}/{file.name}"):
                data = file.read_bytes()
                tag = f'"{hashlib.sha256(data).hexdigest()}"'
                return self._send(200, data, **{"ETag": tag, "X-Repo-Commit": COMMIT})
        code = "RevisionNotFound" if f"/{NAME}/" in path + "/" else "RepoNotFound"
        return self._send(404, b"{}", **{"X-Error-Code": code})

    def _metadata(self, file: Path) -> dict[str, object]:
        data = file.read_bytes() + b"." * (self.server.damaged == file.name)
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        entry: dict[str, object] = {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": blob}
        if file.suffix in (".safetensors", ".bin", ".spm"):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": entry["size"], "pointerSize": 130}
        return entry

    def _send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in ({"Content-Type": "application/json", "Content-Length": str(len(data))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Return a hub with one model, whose weights are available in two formats."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "source.spm", "README.md", "pytorch_model.bin", "model.safetensors"):
        (folder / name).write_text(name)
    with Hub(folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


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
        (("opus-mt-en-fr",), {}, "there is no such file or folder"),
        ((NAME,), {"HF_ENDPOINT": "http://127.0.0.1:9"}, "could not be fetched from http://127.0.0.1:9"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(
    hub: Hub, tmp_path: Path, arguments: tuple[str, ...], settings: dict[str, str], message: str
) -> None:
    found = fetched(hub, tmp_path / "cache", *arguments, **settings)
    assert found.returncode != 0
    assert message in found.stderr.splitlines()[-1]
