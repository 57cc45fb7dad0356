"""The downloader against a real HTTP server on loopback that breaks, resumes, lies and refuses."""

from __future__ import annotations

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
    etag: str | None = '"one"'
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers breaks off."""
    statuses: list[int] = field(default_factory=list)
    """Status codes of the next answers, instead of the file."""
    seen: list[str | None] = field(default_factory=list)
    """The Range header of every request."""
    address: str = ""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.seen.append(self.headers["Range"])
            if server.statuses:
                self.send_error(server.statuses.pop(0))
                return
            start = 0
            wanted, same = self.headers["Range"], self.headers["If-Range"] == server.etag
            if wanted and server.ranges and same:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(server.content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(server.content)}")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
            else:
                self.send_response(200)
            body = server.content[start:]
            self.send_header("Content-Length", str(len(body)))
            if server.etag:
                self.send_header("ETag", server.etag)
            self.end_headers()
            self.wfile.write(body[: server.break_after.pop(0)] if server.break_after else body)

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
    assert server.seen == [None]
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_download_goes_on_at_the_byte_it_broke_at(server: Server, tmp_path: Path) -> None:
    server.break_after = [100_000, 50_000]
    assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT
    assert server.seen == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(server: Server, tmp_path: Path) -> None:
    server.break_after = [70_000]
    with pytest.raises(CorpusError, match=r"gave up after 1 attempts.*what arrived is kept"):
        fetch(checked(server), tmp_path, attempts=1)
    assert not (tmp_path / "corpus.bin").exists()
    assert fetch(checked(server), tmp_path).read_bytes() == CONTENT
    assert server.seen[-1] == "bytes=70000-"


def test_a_changed_file_is_not_glued_to_the_old_one(server: Server, tmp_path: Path) -> None:
    server.break_after = [70_000]
    with pytest.raises(CorpusError):
        fetch(Download(server.address), tmp_path, attempts=1)
    server.content, server.etag = b"new" * 50_000, '"two"'
    assert fetch(Download(server.address), tmp_path).read_bytes() == b"new" * 50_000


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_tag_it_starts_again(etag: str | None, tmp_path: Path) -> None:
    with running(Server(etag=etag, break_after=[1000])) as server:
        assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT
        assert server.seen == [None, None]


def test_a_server_without_ranges_starts_again(tmp_path: Path) -> None:
    with running(Server(ranges=False, break_after=[1000])) as server:
        assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT


def test_a_complete_partial_file_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT)
    (tmp_path / "corpus.bin.version").write_text('"one"')
    assert fetch(checked(server), tmp_path).read_bytes() == CONTENT
    assert server.seen == [f"bytes={len(CONTENT)}-"]


def test_a_partial_file_that_is_too_long_is_dropped(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT + b"more")
    (tmp_path / "corpus.bin.version").write_text('"one"')
    assert fetch(checked(server), tmp_path, pause=0).read_bytes() == CONTENT


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
    assert len(server.seen) == 1


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
    assert len(server.seen) == 1


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
