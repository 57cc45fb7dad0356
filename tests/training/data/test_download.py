"""The downloader against a real HTTP server on loopback that breaks, lies and refuses."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from training.data import corpora
from training.data.corpora import EN_FR, Corpus, Download
from training.data.download import fetch
from training.data.errors import CorpusError
from training.data.reading import read_corpus

CONTENT = bytes(range(256)) * 2000


@dataclass
class Server:
    """A test server with a record of its requests."""

    content: bytes = CONTENT
    break_after: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers breaks off."""
    statuses: list[int] = field(default_factory=list)
    """Status codes of the next answers, instead of the file."""
    requests: int = 0
    address: str = ""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests += 1
            if server.statuses:
                self.send_error(server.statuses.pop(0))
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(server.content)))
            self.end_headers()
            self.wfile.write(server.content[: server.break_after.pop(0)] if server.break_after else server.content)

        def log_message(self, *arguments: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.address = f"http://127.0.0.1:{listener.server_port}/corpus.bin"
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with running(Server()) as started:
        yield started


def checked(server: Server) -> Download:
    return Download(server.address, "sha256:" + hashlib.sha256(server.content).hexdigest())


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    path = fetch(checked(server), tmp_path)
    assert path == tmp_path / "corpus.bin"
    assert path.read_bytes() == CONTENT
    assert fetch(checked(server), tmp_path) == path
    assert server.requests == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_download_begins_again(server: Server, tmp_path: Path) -> None:
    server.break_after = [100_000, 50_000]
    assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT
    assert server.requests == 3


def test_a_download_that_gives_up_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.break_after = [70_000]
    with pytest.raises(CorpusError, match="gave up after 1 attempts"):
        fetch(checked(server), tmp_path, attempts=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_wrong_checksum_is_refused_and_nothing_is_left(server: Server, tmp_path: Path, algorithm: str) -> None:
    with pytest.raises(CorpusError, match=rf"{algorithm} is .*, expected 0000"):
        fetch(Download(server.address, f"{algorithm}:0000"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT


def test_a_missing_file_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [404]
    with pytest.raises(CorpusError, match="404 Not Found"):
        fetch(checked(server), tmp_path)
    assert server.requests == 1


def test_nobody_listening_is_an_error_to_act_on(tmp_path: Path) -> None:
    with running(Server()) as server:
        gone = server.address
    with pytest.raises(CorpusError, match="--mirror DIR"):
        fetch(Download(gone), tmp_path, attempts=2, pause=0)


def archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


def listed(monkeypatch: pytest.MonkeyPatch, server: Server, form: corpora.Format) -> None:
    """Put a corpus with this server's file on the list."""
    made = Corpus("local", form, "none", "nobody", {EN_FR: (Download(server.address),)}, "")
    monkeypatch.setattr(corpora, "CORPORA", {"local": made})


def test_a_moses_archive_becomes_pairs_in_either_direction(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content = archive(**{"X.en-fr.en": "Go.\nHi.\n", "X.en-fr.fr": "Va !\nSalut !\n", "README": "read me"})
    listed(monkeypatch, server, "moses")
    assert list(read_corpus("local", "en", "fr", None, tmp_path)) == [("Go.", "Va !"), ("Hi.", "Salut !")]
    assert next(read_corpus("local", "fr", "en", None, tmp_path)) == ("Va !", "Go.")
    assert server.requests == 1


def test_an_archive_of_columns_becomes_pairs(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content = archive(**{"fra-eng/fra.txt": "Go.\tVa !\tCC-BY 2.0 (France)\n", "fra-eng/_about.txt": "about"})
    listed(monkeypatch, server, "columns")
    assert list(read_corpus("local", "en", "fr", None, tmp_path)) == [("Go.", "Va !")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<html>sorry</html>", "not a zip archive: delete it"),
        (archive(readme="nothing"), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "b.en": "y\n", "a.fr": "z\n"}), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "a.fr": "z\nz\n"}), "unequal numbers of lines"),
    ],
)
def test_unexpected_archives_are_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, expected: str
) -> None:
    server.content = content
    listed(monkeypatch, server, "moses")
    with pytest.raises(CorpusError, match=expected):
        list(read_corpus("local", "en", "fr", None, tmp_path))
