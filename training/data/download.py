"""Downloads public files once, and verifies checksums."""

import time
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

from service.bundle.checksums import checksum_of
from training.data.corpora import Download
from training.data.errors import CorpusError

_HEADERS = {"User-Agent": "translucent (training data download)"}  # manythings.org refuses the libraries' default ones


class _RetryableError(Exception):
    """The attempt failed, and another one may succeed."""


def fetch(download: Download, folder: Path, attempts: int = 5, pause: float = 1.0) -> Path:
    """Return the file's path below ``folder``; the file is downloaded if it is not there yet.

    A broken download begins again after ``pause`` seconds, and after twice as long each further time. The file gets its
    name only when it is complete.
    Raises CorpusError if the address does not answer or has no such file, or if the checksum differs.
    """
    target = folder / PurePosixPath(urlsplit(download.address).path).name
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    partial, reason = target.with_name(target.name + ".part"), ""
    try:
        for attempt in range(attempts):
            try:
                _receive(download.address, partial)
                _verify(download, partial)
                return partial.replace(target)
            except (httpx.TransportError, _RetryableError) as error:
                reason = str(error) or type(error).__name__
                time.sleep(pause * 2**attempt if attempt + 1 < attempts else 0)
    finally:
        partial.unlink(missing_ok=True)
    raise CorpusError(
        f"{download.address}: gave up after {attempts} attempts ({reason}): run the command again, or give --mirror DIR"
    )


def _receive(address: str, partial: Path) -> None:
    with httpx.stream("GET", address, headers=_HEADERS, follow_redirects=True, timeout=30) as response:
        if response.status_code >= 500 or response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise _RetryableError(f"the server answered {response.status_code}")
        if response.status_code != httpx.codes.OK:
            raise CorpusError(f"{address}: the server answered {response.status_code} {response.reason_phrase}")
        total = int(response.headers.get("Content-Length", 0)) or None
        with (
            partial.open("wb") as file,
            tqdm(total=total, desc=partial.stem, unit="B", unit_scale=True, disable=None) as bar,
        ):
            for chunk in response.iter_bytes():
                file.write(chunk)
                bar.update(response.num_bytes_downloaded - bar.n)


def _verify(download: Download, partial: Path) -> None:
    if download.checksum is None:
        return
    algorithm, _, expected = download.checksum.partition(":")
    actual = checksum_of(partial, algorithm)
    if actual != expected:
        raise CorpusError(f"{download.address}: {algorithm} is {actual}, expected {expected}; the file was discarded")
