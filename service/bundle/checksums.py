"""Checksums of files, and the check of the files of a bundle."""

import hashlib
from pathlib import Path

from service.bundle.errors import BundleCorrupt, BundleMissing


def checksum_of(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def digest_of(content: bytes) -> str:
    """Return ``sha256:`` and the SHA-256 of content, as it stands in answers and headers."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def check_file(path: Path, checksum: str, listed_in: str = "the manifest") -> None:
    """Raise BundleMissing or BundleCorrupt unless a file is there and has its SHA-256."""
    if not path.is_file():
        raise BundleMissing(f"{path}: {listed_in} lists this file, but it is not there.")
    try:
        actual = checksum_of(path)
    except OSError as error:
        raise BundleCorrupt(f"{path}: cannot be read ({error}).") from error
    if actual != checksum:
        raise BundleCorrupt(
            f"{path}: its SHA-256 is {actual}, but {listed_in} says {checksum}; the file is damaged or was replaced."
        )
