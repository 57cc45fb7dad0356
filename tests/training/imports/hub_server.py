"""A server on this machine that speaks as much of the Hugging Face hub's protocol as downloads need."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves one folder as a model, and remembers the requests."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.name, self.folder = name, folder
        self.requests: list[str] = []
        self.damaged = ""
        """The file whose checksum does not fit."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append(path)
        name, files = self.server.name, sorted(self.server.folder.iterdir())
        if path.startswith(f"/api/models/{name}/tree/"):
            return self._send(200, json.dumps([self._metadata(file) for file in files]).encode())
        if re.fullmatch(rf"/api/models/{name}(/revision/(main|{COMMIT}))?", path):
            siblings = [{"rfilename": file.name} for file in files]
            model = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings}
            return self._send(200, json.dumps(model).encode())
        for file in files:
            if path in (f"/{name}/resolve/main/{file.name}", f"/{name}/resolve/{COMMIT}/{file.name}"):
                data = file.read_bytes()
                tag = f'"{hashlib.sha256(data).hexdigest()}"'
                return self._send(200, data, **{"ETag": tag, "X-Repo-Commit": COMMIT})
        code = "RevisionNotFound" if f"/{name}/" in path + "/" else "RepoNotFound"
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
