"""Downloads files: with progress, resumed after an interruption, no larger than stated, compared with a SHA-256.

Who runs the command trusts the address that they name, not what stands in a list or a redirect: those may lead to
other public addresses by HTTPS, but never to one of the local network.
"""

import contextlib
import hashlib
import ipaddress
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import httpx2
from tqdm import tqdm

from service.bundle.checksums import checksum_of
from training.imports.files import ImportRefused
from training.imports.firefox_file import read_content
from training.imports.published import ListedFile

LARGEST = 2 << 30
"""Bytes of one file."""
MOST_REDIRECTS = 5
FAILURES = 5
"""Connections in a row that bring less than PROGRESS bytes each."""
PROGRESS = 1 << 20
SLOWEST, PATIENCE = 1000, 60.0
"""Bytes a second, after so many seconds: a slower connection is given up for a new one."""
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class TransferInterrupted(Exception):
    """A transfer has ended too early; another connection may continue it."""


class Downloader:
    """Fetches what an address has, and what it leads to."""

    def __init__(self, address: str, sleep: Callable[[float], None] = time.sleep) -> None:
        """Trust the server of this address, wherever it is."""
        self._trusted = _origin(httpx2.URL(address))
        self._sleep = sleep
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(30, connect=10),
            headers={"User-Agent": "translucent", "Accept-Encoding": "identity"},
        )

    def content(self, url: str, most: int) -> bytes:
        """Return a small file; raises ImportRefused."""
        try:
            with self._response(url) as response:
                _refuse_status(response)
                content = b""
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > most:
                        raise ImportRefused(f"{url}: it has more than {most >> 20} MB")
                return content
        except (httpx2.HTTPError, httpx2.InvalidURL, TransferInterrupted) as error:
            raise ImportRefused(f"{url}: it cannot be reached ({_reason(error)})") from error

    def size(self, url: str) -> int | None:
        """Return the bytes that a server says a file has; None if it does not say."""
        with contextlib.suppress(httpx2.HTTPError, httpx2.InvalidURL), self._response(url, "HEAD") as response:
            stated = response.headers.get("content-length", "")
            return int(stated) if response.is_success and stated.isdecimal() else None
        return None

    def fetch(self, file: ListedFile, path: Path) -> None:
        """Fetch a file to a path, where it appears only when it is whole and is the list's; raises ImportRefused."""
        url, part = file.base + file.path, path.with_name(f"{path.name}.part")
        if (file.size or 0) > LARGEST:
            raise ImportRefused(
                f"{url}: the list says {(file.size or 0) / 1e9:.1f} GB; at most {LARGEST / 1e9:.1f} fit"
            )
        if file.sha256 is None:  # what an earlier run has left may be of another version
            part.unlink(missing_ok=True)
        continued = part.is_file()
        self._fetch(url, file, part)
        if not is_listed(part, file):
            part.unlink()
            if not continued:
                raise ImportRefused(f"{url}: its SHA-256 or size is not the one of the list; nothing was installed")
            self.fetch(file, path)
            return
        part.rename(path)

    def _fetch(self, url: str, file: ListedFile, part: Path) -> None:
        failures = 0
        part.touch()
        with part.open("r+b") as output, _bar(part.stem, file.size, output.seek(0, os.SEEK_END)) as bar:
            transfer = _Transfer(url, file, output, bar)
            while output.tell() != file.size:
                before = output.tell()
                try:
                    self._continue(transfer)
                    return
                except (httpx2.TransportError, TransferInterrupted) as error:
                    failures = 0 if output.tell() - before >= PROGRESS else failures + 1
                    if failures == FAILURES:
                        raise ImportRefused(
                            f"{url}: it could not be fetched ({_reason(error)}); run the command again, which goes on "
                            "where it stopped"
                        ) from error
                    self._sleep(2.0**failures)

    def _continue(self, transfer: "_Transfer") -> None:
        """Append what is missing of a file; raises Interrupted if the server ends before the file does."""
        url, size, output, tag = transfer.url, transfer.file.size, transfer.output, transfer.tag
        offset = output.tell() if tag or transfer.file.sha256 else 0
        headers = {"Range": f"bytes={offset}-"} | ({"If-Range": tag} if tag else {}) if offset else {}
        limit, began = LARGEST if size is None else size, time.monotonic()
        with self._response(url, headers=headers) as response:
            _refuse_status(response)
            if not response.headers.get("content-range", "").startswith(f"bytes {offset}-"):
                offset = output.seek(0)  # the whole file comes, or another part than was asked for
                output.truncate()
                if response.status_code != 200:
                    raise TransferInterrupted(f"the server answers {response.status_code}")
            transfer.tag = response.headers.get("etag")
            for chunk in response.iter_raw():
                output.write(chunk)
                transfer.bar.update(output.tell() - transfer.bar.n)
                received, seconds = output.tell() - offset, time.monotonic() - began
                if output.tell() > limit:
                    raise ImportRefused(f"{url}: the server sends more than the {limit} bytes that fit")
                if seconds > PATIENCE and received < SLOWEST * seconds:
                    raise TransferInterrupted(f"{received} bytes in {seconds:.0f} seconds")
        if size is not None and output.tell() < size:
            raise TransferInterrupted(f"{output.tell()} of {size} bytes")

    @contextlib.contextmanager
    def _response(
        self, url: str, method: str = "GET", headers: dict[str, str] | None = None
    ) -> Iterator[httpx2.Response]:
        """Give the answer to a request, at the end of its redirects; raises ImportRefused for a forbidden address."""
        request = self._client.build_request(method, url, headers=headers)
        for _ in range(MOST_REDIRECTS + 1):
            self._require_allowed(request.url)
            response = self._client.send(request, stream=True)
            try:
                if response.next_request is None:
                    yield response
                    return
                request = response.next_request
            finally:
                response.close()
        raise ImportRefused(f"{url}: it redirects more than {MOST_REDIRECTS} times")

    def _require_allowed(self, url: httpx2.URL) -> None:
        if _origin(url) == self._trusted:
            return
        if url.scheme != "https":
            raise ImportRefused(f"{url}: it is not fetched, because it is no HTTPS and not the server of the list")
        try:
            addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(url.host, url.port or 443)}
        except OSError:
            return  # behind a proxy names may be unknown here; without one, the request fails
        if not all(ipaddress.ip_address(address.partition("%")[0]).is_global for address in addresses):
            raise ImportRefused(f"{url}: it is not fetched, because it is an address of the local network")


@dataclass(slots=True)
class _Transfer:
    """A file on its way."""

    url: str
    file: ListedFile
    output: BinaryIO
    bar: "tqdm[NoReturn]"
    tag: str | None = None
    """The ETag of what has come so far."""


def _bar(name: str, total: int | None, initial: int) -> "tqdm[NoReturn]":
    return tqdm(total=total, initial=initial, desc=name, unit="B", unit_scale=True, disable=None, leave=False)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def is_listed(path: Path, file: ListedFile) -> bool:
    """Return whether a file has the SHA-256 of the list, packed or unpacked, or where it has none the size."""
    if file.sha256 is not None and checksum_of(path) == file.sha256.lower():
        return True
    if file.unpacked_sha256 is not None:
        with contextlib.suppress(ImportRefused):
            return hashlib.sha256(read_content(path)).hexdigest() == file.unpacked_sha256.lower()
        return False
    return file.sha256 is None and file.size in (None, path.stat().st_size)


def _refuse_status(response: httpx2.Response) -> None:
    if response.status_code in _PASSING:
        raise TransferInterrupted(f"the server answers {response.status_code}")
    if not response.is_success and response.status_code != 416:
        raise ImportRefused(f"{response.url}: the server answers {response.status_code} {response.reason_phrase}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
