"""The files of an imported model: JSON objects, checksums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from service.bundle.checksums import checksum_of
from training.imports.errors import ImportRefused

_READ = (".json", ".spm", ".safetensors", ".bin", ".model", ".argosmodel", ".txt", ".md")


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; raises ImportRefused if there is no such file or object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ImportRefused(f"{path}: there is no such file; the folder of the model needs it") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path}: it is not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise ImportRefused(f"{path}: a JSON object is needed")
    return content


def read_optional_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, empty if there is no such file; raises ImportRefused as ``read_object``."""
    return read_object(path) if path.is_file() else {}


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a model's folder that an import may read, by name."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _READ]
    return {path.name: checksum_of(path) for path in files}
