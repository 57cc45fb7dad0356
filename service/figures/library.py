"""The browser's drawing libraries: the installed package bundles them once per version, then a cache keeps them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

from service.figures.renderer_process import VEGA_LITE


def cache_file() -> Path:
    """Return the cache file for the bundle of the installed version, which takes some seconds to make."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "translucent" / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"


def read_cached() -> bytes | None:
    """Return the bundle if it was made before."""
    with contextlib.suppress(OSError, RuntimeError):  # no such file, no home
        return cache_file().read_bytes() or None
    return None


def write_cached(script: bytes) -> None:
    """Write the bundle for the next start; an unwritable folder is not an error."""
    with contextlib.suppress(OSError, RuntimeError):
        path = cache_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(script)
        Path(file.name).replace(path)
