"""Downloads public files once; resumes interrupted downloads, and verifies checksums."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

from service.bundle.checksums import checksum_of
from training.data.corpora import Download
from training.data.errors import CorpusError

_HEADERS = {
    "User-Agent": "translucent (training data download)",  # manythings.org refuses the libraries' default user agents
    "Accept-Encoding": "identity",  # a range counts bytes of the file itself, not of its compressed form
}


class _RetryableError(Exception):
    """The attempt failed, and another one may succeed."""


@dataclass(frozen=True, slots=True)
class _Partial:
    """The part of a file that has arrived, and a note of the file's version next to it."""

    path: Path
    version: Path

    def request_headers(self) -> dict[str, str]:
        """Return the headers that request the rest if the file is still the same version (RFC 9110, section 13.1.5)."""
        if not self.path.exists() or not self.version.exists():
            return {}
        return {"Range": f"bytes={self.path.stat().st_size}-", "If-Range": self.version.read_text()}

    def discard(self) -> None:
        """Delete the partial file and its version."""
        self.path.unlink(missing_ok=True)
        self.version.unlink(missing_ok=True)


def fetch(download: Download, folder: Path, attempts: int = 5, pause: float = 1.0) -> Path:
    """Return the file's path below ``folder``; the file is downloaded if it is not there yet.

    A broken download is resumed where it stopped, after ``pause`` seconds, and after twice as long each further time;
    so is one that was killed, by the next call. The file gets its name only when it is complete.
    Raises CorpusError if the address does not answer or has no such file, or if the checksum differs.
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
    """Make one attempt: append to the partial file, or begin again if the server cannot resume it."""
    headers = _HEADERS | partial.request_headers()
    with httpx.stream("GET", address, headers=headers, follow_redirects=True, timeout=30) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            _, _, size = response.headers.get("Content-Range", "").rpartition("/")
            if size == str(partial.path.stat().st_size):
                return  # the file was complete: a kill came between the last byte and the renaming
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
        if version and not version.startswith("W/"):  # a weak entity tag does not promise the same bytes
            partial.version.write_text(version)
    length = response.headers.get("Content-Length")
    total = start + int(length) if length is not None else None
    name = partial.path.stem
    with (
        partial.path.open("ab") as file,
        tqdm(total=total, initial=start, desc=name, unit="B", unit_scale=True, disable=None) as bar,
    ):
        for chunk in response.iter_raw():  # bytes in a buffer would be lost with the connection
            file.write(chunk)
            bar.update(len(chunk))
    if total is not None and partial.path.stat().st_size != total:
        raise _RetryableError(f"{partial.path.stat().st_size} of {total} bytes arrived")


def _verify(download: Download, partial: _Partial) -> None:
    if download.checksum is None:
        return
    algorithm, _, expected = download.checksum.partition(":")
    found = checksum_of(partial.path, algorithm)
    if found != expected:
        partial.discard()
        raise CorpusError(f"{download.address}: {algorithm} is {found}, expected {expected}; the file was discarded")
