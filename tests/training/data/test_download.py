"""The downloader against a real HTTP server on loopback that breaks, lies and refuses."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable, Iterator
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


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()

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
    yield server
    listener.shutdown()
    thread.join()
    listener.server_close()


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    listed = Download(server.address, "sha256:" + hashlib.sha256(CONTENT).hexdigest())
    path = fetch(listed, tmp_path)
    assert path == tmp_path / "corpus.bin"
    assert path.read_bytes() == CONTENT
    assert fetch(listed, tmp_path) == path
    assert server.requests == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("statuses", "break_after"), [([503, 429], []), ([], [100_000, 50_000])])
def test_a_busy_or_broken_server_is_asked_again(
    server: Server, tmp_path: Path, statuses: list[int], break_after: list[int]
) -> None:
    server.statuses, server.break_after = list(statuses), list(break_after)
    assert fetch(Download(server.address), tmp_path, pause=0).read_bytes() == CONTENT
    assert server.requests == 3


@pytest.mark.parametrize(
    ("statuses", "break_after", "checksum", "expected"),
    [
        ([], [70_000, 70_000], None, "gave up after 2 attempts .*--mirror DIR"),
        ([404], [], None, "404 Not Found"),
        ([], [], "sha1:0000", "sha1 is .*, expected 0000"),
        ([], [], "sha256:0000", "sha256 is .*, expected 0000"),
    ],
)
def test_a_download_that_fails_says_why_and_leaves_nothing(
    server: Server, tmp_path: Path, statuses: list[int], break_after: list[int], checksum: str | None, expected: str
) -> None:
    server.statuses, server.break_after = list(statuses), list(break_after)
    with pytest.raises(CorpusError, match=expected):
        fetch(Download(server.address, checksum), tmp_path, attempts=2, pause=0)
    assert list(tmp_path.iterdir()) == []
    assert server.requests == (2 if break_after else 1)


def archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


Listed = Callable[[corpora.Format, bytes], None]


@pytest.fixture
def listed(server: Server, monkeypatch: pytest.MonkeyPatch) -> Listed:
    """Put a corpus with this server's file on the list."""

    def put(form: corpora.Format, content: bytes) -> None:
        server.content = content
        made = Corpus("local", form, "none", "nobody", {EN_FR: (Download(server.address),)}, "")
        monkeypatch.setattr(corpora, "CORPORA", {"local": made})

    return put


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("moses", archive(**{"X.en-fr.en": "Go.\nHi.\n", "X.en-fr.fr": "Va !\nSalut !\n", "README": "read me"})),
        ("columns", archive(**{"f/fra.txt": "Go.\tVa !\tCC-BY 2.0\nHi.\tSalut !\tx\n", "f/_about.txt": "about"})),
    ],
)
def test_an_archive_becomes_pairs_in_either_direction(
    listed: Listed, tmp_path: Path, form: corpora.Format, content: bytes
) -> None:
    listed(form, content)
    assert list(read_corpus("local", "en", "fr", None, tmp_path)) == [("Go.", "Va !"), ("Hi.", "Salut !")]
    assert next(read_corpus("local", "fr", "en", None, tmp_path)) == ("Va !", "Go.")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<html>sorry</html>", "not a zip archive: delete it"),
        (archive(readme="nothing"), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "b.en": "y\n", "a.fr": "z\n"}), r"should hold one file ending in \.en"),
        (archive(**{"a.en": "x\n", "a.fr": "z\nz\n"}), "unequal numbers of lines"),
    ],
)
def test_unexpected_archives_are_named(listed: Listed, tmp_path: Path, content: bytes, expected: str) -> None:
    listed("moses", content)
    with pytest.raises(CorpusError, match=expected):
        list(read_corpus("local", "en", "fr", None, tmp_path))
