"""A server on this machine that speaks as much of the Hugging Face hub's protocol as downloads need."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves one folder as the model ``NAME``; counts the bytes of files that it sent."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.name, self.folder = name, folder
        self.requests: list[tuple[str, str, str]] = []
        """Method, path and the Range header."""
        self.damaged = ""
        """The file whose checksum does not fit."""
        self.breaks_off_after: int | None = None
        """Bytes of a file after which the next connection is cut."""

    @property
    def url(self) -> str:
        """Return the server's address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append((self.command, path, self.headers.get("Range", "")))
        name = self.server.name
        if path in (f"/api/models/{name}", *(f"/api/models/{name}/revision/{r}" for r in ("main", COMMIT))):
            files = [self._metadata(file) for file in sorted(self.server.folder.iterdir())]
            return self._json(200, {"id": name, "modelId": name, "sha": COMMIT, "siblings": files}, body)
        if path.startswith(f"/api/models/{name}/tree/"):
            tree = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": COMMIT}
                for file in sorted(self.server.folder.iterdir())
            ]
            return self._json(200, tree, body)
        for revision in ("main", COMMIT):
            begin = f"/{name}/resolve/{revision}/"
            if path.startswith(begin) and (self.server.folder / path.removeprefix(begin)).is_file():
                return self._file(self.server.folder / path.removeprefix(begin), body)
        code = "RevisionNotFound" if f"/{name}/" in path + "/" else "RepoNotFound"
        return self._json(404, {"error": "not found"}, body, {"X-Error-Code": code})

    def _metadata(self, file: Path) -> dict[str, object]:
        data = file.read_bytes()
        if self.server.damaged == file.name:
            data += b"."
        sha256, size = hashlib.sha256(data).hexdigest(), file.stat().st_size
        if file.suffix in (".safetensors", ".bin", ".spm"):
            return {"rfilename": file.name, "size": size, "lfs": {"sha256": sha256, "size": size, "pointerSize": 130}}
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        return {"rfilename": file.name, "size": size, "blobId": blob}

    def _json(self, status: int, content: object, body: bool, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _file(self, file: Path, body: bool) -> None:
        data = file.read_bytes()
        first = 0
        if asked := self.headers.get("Range"):
            first = int(asked.removeprefix("bytes=").split("-")[0])
        self.send_response(206 if first else 200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Accept-Ranges", "bytes")
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        if not body:
            return
        limit = self.server.breaks_off_after
        if limit is not None and len(data) > limit:
            self.server.breaks_off_after = None
            self.wfile.write(data[first : first + limit])
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(data[first:])


@contextmanager
def hub_with(name: str, folder: Path) -> Iterator[Hub]:
    """Serve a folder as a model of the hub."""
    server = Hub(name, folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
