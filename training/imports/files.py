"""Checksums of the files that a model was imported from."""

from __future__ import annotations

import hashlib
from pathlib import Path

_READ = (".json", ".spm", ".safetensors", ".bin", ".model", ".argosmodel", ".txt", ".md")


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a model's folder that an import may read, by name."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _READ]
    return {path.name: checksum(path) for path in files}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
