"""Writes the manifest of a bundle, as the last of its files."""

import json
from pathlib import Path
from typing import Any

from service.bundle.checksums import checksum_of
from service.bundle.manifest import MANIFEST_NAME
from service.bundle.manifest_checks import check_manifest


def write_manifest(folder: Path, document: dict[str, Any]) -> None:
    """Add the checksum of every file in the folder to the manifest, check it and write it.

    Raise BundleCorrupt or BundleIncompatible, and write nothing, when the manifest is not valid.
    """
    document["files"] = {
        path.name: checksum_of(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST_NAME
    }
    check_manifest(document)
    content = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (folder / MANIFEST_NAME).write_text(content, encoding="utf-8")
