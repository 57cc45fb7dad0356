"""A server on loopback with published lists and their files, in the shape of Mozilla's and Argos', or with faults."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from backports import zstd

RECORDS = "/v1/buckets/main/collections/translations-models-v2/records"
KINDS = {"model": "model.", "lex": "lex.", "vocab": "vocab.", "srcvocab": "srcvocab.", "trgvocab": "trgvocab."}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Answer:
    """What the server sends for a path."""

    content: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    """After so many bytes the connection ends, once each."""


class Mirror:
    """The content of the server, by path, and the requests that it got."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str]] = []
        """Path and Range of each request."""
        self.url = ""

    def add_firefox(self, folder: Path, pair: tuple[str, str] = ("en", "fr"), **more: Any) -> list[dict[str, Any]]:
        """Serve the files of a model's folder, packed by zstd, and return their records."""
        made = []
        for kind, prefix in KINDS.items():
            for path in folder.glob(f"{prefix}*"):
                content = path.read_bytes()
                location = f"main-workspace/translations-models-v2/{sha256(content)[:8]}-{kind}.zst"
                made.append(record(kind, path.name, content, location, pair) | more)
                self.answers[f"/attachments/{location}"] = Answer(zstd.compress(content))
        self.answers["/v1/"] = Answer(json.dumps(
            {"capabilities": {"attachments": {"base_url": f"{self.url}/attachments/"}}}).encode())  # fmt: skip
        return made

    def list(self, content: Any, path: str = RECORDS) -> str:
        """Serve a list and return its address."""
        self.answers[path] = Answer(json.dumps(content).encode())
        return self.url + path


def record(kind: str, name: str, content: bytes, location: str, pair: tuple[str, str]) -> dict[str, Any]:
    """Return a record of Remote Settings with all keys that the real ones have."""
    packed = zstd.compress(content)
    return {
        "name": name,
        "schema": 1749570042331,
        "version": "3.0",
        "fileType": kind,
        "sourceLanguage": pair[0],
        "targetLanguage": pair[1],
        "architecture": "tiny",
        "filter_expression": "",
        "decompressedHash": sha256(content),
        "decompressedSize": len(content),
        "id": "9d3fa8f8-50fc-4465-8191-a2a63fc4c40b",
        "last_modified": 1749570511392,
        "attachment": {
            "filename": f"{name}.zst",
            "location": location,
            "hash": sha256(packed),
            "mimetype": "application/zstd",
            "size": len(packed),
        },
    }


@contextmanager
def mirror() -> Iterator[Mirror]:
    """Run the server."""
    served = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, self.headers.get("Range", "")))
            answer = served.answers.get(self.path, Answer(status=404))
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
            body = answer.content[start:]
            self.send_response(206 if start and answer.status == 200 else answer.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(answer.content) - 1}/{len(answer.content)}")
            for name, value in ({"Content-Length": str(len(body))} | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: answer.cuts.pop(0)] if answer.cuts else body)

        do_HEAD = do_GET

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
