"""The downloader against a real HTTP server on loopback that breaks, lies and refuses."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from training.data import corpora
from training.data.corpora import EN_FR, Corpus, Download
from training.data.download import fetch
from training.data.errors import CorpusError
from training.data.reading import read_corpus

CONTENT = bytes(range(256)) * 2000


class Server(ThreadingHTTPServer):
    """A test server that counts its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/corpus.bin"
        self.requests = 0
        self.break_after: list[int] = []  # bytes after which each of the next answers breaks off
        self.statuses: list[int] = []  # of the next answers, instead of the file


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        if self.server.statuses:
            self.send_error(self.server.statuses.pop(0))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: self.server.break_after.pop(0)] if self.server.break_after else CONTENT)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    listed = Download(server.address, "sha256:" + hashlib.sha256(CONTENT).hexdigest())
    path = fetch(listed, tmp_path)
    assert path == tmp_path / "corpus.bin"
    assert path.read_bytes() == CONTENT
    assert fetch(listed, tmp_path) == path
    assert server.requests == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("answers", "checksum", "requests", "expected"),
    [
        ({"statuses": (503, 429)}, None, 3, None),
        ({"break_after": (100_000, 50_000)}, None, 3, None),
        ({"break_after": (70_000, 70_000, 70_000)}, None, 3, "gave up after 3 attempts .*--mirror DIR"),
        ({"statuses": (404,)}, None, 1, "404 Not Found"),
        ({}, "sha1:0000", 1, "sha1 is .*, expected 0000"),
        ({}, "sha256:0000", 1, "sha256 is .*, expected 0000"),
    ],
)
def test_a_bad_server_is_asked_again_and_a_download_that_fails_says_why_and_leaves_nothing(
    server: Server,
    tmp_path: Path,
    answers: dict[str, tuple[int, ...]],
    checksum: str | None,
    requests: int,
    expected: str | None,
) -> None:
    for name, values in answers.items():
        setattr(server, name, list(values))
    download = Download(server.address, checksum)
    if expected is None:
        assert fetch(download, tmp_path, attempts=3, pause=0).read_bytes() == CONTENT
    else:
        with pytest.raises(CorpusError, match=expected):
            fetch(download, tmp_path, attempts=3, pause=0)
        assert list(tmp_path.iterdir()) == []
    assert server.requests == requests


def archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture
def local(form: corpora.Format, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a corpus on the list whose file is in the folder of downloads already; return that folder."""
    made = Corpus("local", form, "none", "nobody", {EN_FR: (Download("https://example.org/corpus.zip"),)}, "")
    monkeypatch.setattr(corpora, "CORPORA", {"local": made})
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "corpus.zip").write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("moses", archive(**{"X.en-fr.en": "Go.\nHi.\n", "X.en-fr.fr": "Va !\nSalut !\n", "README": "read me"})),
        ("columns", archive(**{"f/fra.txt": "Go.\tVa !\tCC-BY 2.0\nHi.\tSalut !\tx\n", "f/_about.txt": "about"})),
    ],
)
def test_an_archive_becomes_pairs_in_either_direction(local: Path) -> None:
    assert list(read_corpus("local", "en", "fr", None, local)) == [("Go.", "Va !"), ("Hi.", "Salut !")]
    assert next(read_corpus("local", "fr", "en", None, local)) == ("Va !", "Go.")


@pytest.mark.parametrize("form", ["moses"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<html>sorry</html>", "not a zip archive: delete it"),
        (archive(readme="nothing"), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "b.en": "y\n", "a.fr": "z\n"}), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "a.fr": "z\nz\n"}), "unequal numbers of lines"),
    ],
)
def test_unexpected_archives_are_named(local: Path, expected: str) -> None:
    with pytest.raises(CorpusError, match=expected):
        list(read_corpus("local", "en", "fr", None, local))
