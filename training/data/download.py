"""Public files, fetched once: interrupted downloads are resumed, and checksums are verified."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

from training.data.corpora import Download
from training.data.errors import CorpusError

_HEADERS = {
    "User-Agent": "translucent (training data download)",  # manythings.org turns the libraries' default names away
    "Accept-Encoding": "identity",  # ranges count bytes of the file itself
}


class _RetryableError(Exception):
    """The attempt failed in a way that another one may not."""


@dataclass(frozen=True, slots=True)
class _Partial:
    """What has arrived so far, next to a note that says which version of the file it is."""

    path: Path
    version: Path

    def request_headers(self) -> dict[str, str]:
        """Ask for the rest if the file is still the same one (RFC 9110, section 13.1.5)."""
        if not self.path.exists() or not self.version.exists():
            return {}
        return {"Range": f"bytes={self.path.stat().st_size}-", "If-Range": self.version.read_text()}

    def discard(self) -> None:
        """Delete the partial file and its version."""
        self.path.unlink(missing_ok=True)
        self.version.unlink(missing_ok=True)


def fetch(download: Download, folder: Path, attempts: int = 5, pause: float = 1.0) -> Path:
    """Return the file's path below ``folder``, downloading it if it is not there yet.

    A connection that breaks is tried again, ``pause`` seconds later and twice as long each time, from the byte
    it broke at; so is the next call after a kill. The file appears under its name only when it is complete.
    Raises CorpusError when the address does not answer, has no such file, or the checksum differs.
    """
    target = folder / PurePosixPath(urlsplit(download.address).path).name
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    partial = _Partial(target.with_name(target.name + ".part"), target.with_name(target.name + ".version"))
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _receive(download.address, partial)
            break
        except (httpx.TransportError, _RetryableError) as error:
            reason = str(error) or type(error).__name__
    else:
        raise CorpusError(
            f"{download.address}: gave up after {attempts} attempts ({reason}); "
            f"what arrived is kept in {partial.path}: run the command again, or give --mirror DIR"
        )
    _verify(download, partial)
    partial.path.replace(target)
    partial.discard()
    return target


def _receive(address: str, partial: _Partial) -> None:
    """One attempt: append to the partial file, or start it again when the server cannot continue it."""
    headers = _HEADERS | partial.request_headers()
    with httpx.stream("GET", address, headers=headers, follow_redirects=True, timeout=30) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            _, _, size = response.headers.get("Content-Range", "").rpartition("/")
            if size == str(partial.path.stat().st_size):
                return  # it was complete: killed between the last byte and the renaming
            partial.discard()
            raise _RetryableError("the partial file did not fit")
        if response.status_code >= 500 or response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise _RetryableError(f"the server answered {response.status_code}")
        if response.status_code not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            raise CorpusError(f"{address}: the server answered {response.status_code} {response.reason_phrase}")
        _store(response, partial)


def _store(response: httpx.Response, partial: _Partial) -> None:
    resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
    start = partial.path.stat().st_size if resumed else 0
    if not resumed:
        partial.discard()
        version = response.headers.get("ETag", "")
        if version and not version.startswith("W/"):  # a weak tag does not promise the same bytes
            partial.version.write_text(version)
    length = response.headers.get("Content-Length")
    total = start + int(length) if length is not None else None
    name = partial.path.stem
    with (
        partial.path.open("ab") as file,
        tqdm(total=total, initial=start, desc=name, unit="B", unit_scale=True, disable=None) as bar,
    ):
        for chunk in response.iter_raw():  # as they arrive: what is gathered first is lost when it breaks
            file.write(chunk)
            bar.update(len(chunk))
    if total is not None and partial.path.stat().st_size != total:
        raise _RetryableError(f"{partial.path.stat().st_size} of {total} bytes arrived")


def _verify(download: Download, partial: _Partial) -> None:
    if download.checksum is None:
        return
    algorithm, _, expected = download.checksum.partition(":")
    with partial.path.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected:
        partial.discard()
        raise CorpusError(f"{download.address}: {algorithm} is {found}, expected {expected}; the file was discarded")
