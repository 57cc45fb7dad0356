"""Public files, fetched once: interrupted downloads go on where they stopped, and checksums are verified."""

from __future__ import annotations

from pathlib import Path

from training.data.corpora import Download
from training.data.errors import CorpusError


def fetch(download: Download, folder: Path) -> Path:
    """Return the file's path below ``folder``."""
    raise CorpusError(f"cannot download {download.address} yet: give --mirror DIR")
