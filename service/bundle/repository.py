"""The folder of models: its bundles, and the changes in it since they were loaded."""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service.bundle.checksums import digest_of
from service.bundle.errors import BundleIncompatible, BundleMissing, EngineError
from service.bundle.load import Bundle, is_bundle, load_bundle
from service.bundle.manifest import MANIFEST_NAME

_LOG = logging.getLogger(__name__)

GALLERY = "gallery"
"""The subfolder of small models for teaching, which are served only if the operator wants them."""
CAPTIONS = "gallery-captions"
"""Graphs for the book, which read pictures and are never served."""


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """A bundle in the folder, unchecked: only its manifest was read."""

    path: Path
    name: str  # from its manifest; that of the folder if the manifest cannot be read
    digest: str


@dataclass(frozen=True, slots=True)
class Change:
    """The outcome for one bundle when the folder was scanned again; `error` is the reason of a refusal."""

    name: str
    outcome: Literal["added", "replaced", "unchanged", "refused", "missing"]
    digest: str  # of the bundle that is now served under this name; empty for none
    error: EngineError | None = None


def in_gallery(bundle: Bundle) -> bool:
    """Return whether a bundle is one of the small models for teaching."""
    return bundle.folder.parent.name == GALLERY


def no_models(what: str) -> BundleMissing:
    """Return the error of a place without models, which says where they come from."""
    return BundleMissing(
        f"{what} An installed package has no models: copy bundles from models/ of the project's repository, and name "
        "their folder with --models-dir, TRANSLUCENT_MODELS_DIR or models_dir=; or make some from downloaded models "
        "with `translucent models add`."
    )


def find_bundles(folder: Path, read: Callable[[Path], Bundle] = load_bundle, *, gallery: bool = False) -> list[Bundle]:
    """Read and check every bundle that `scan_bundles` finds, in the order of their names.

    `read` is load_bundle, or read_bundle to check only the manifests. Raise BundleError if there is none, if one cannot
    be served, or if two have the same name.
    """
    entries = scan_bundles(folder, gallery=gallery)
    for path in _subfolders(folder, gallery):
        if not (is_bundle(path) or path.name in (GALLERY, CAPTIONS)):
            _LOG.warning("%s is ignored: it has no manifest.json, so it is not a bundle", path)
    if not entries:
        raise no_models(f"{folder}: there is no model bundle in it, which is a folder with a manifest.json.")
    owners: dict[str, Path] = {}
    for entry in entries:
        owners.setdefault(entry.name, entry.path)
    return [load_entry(entry, owners, read) for entry in entries]


def _subfolders(folder: Path, gallery: bool) -> list[Path]:
    """Return the folders in a folder, and with `gallery` those in its subfolder of that name."""
    rooms = [folder, *([folder / GALLERY] if gallery and (folder / GALLERY).is_dir() else [])]
    return [path for room in rooms for path in sorted(room.iterdir()) if path.is_dir()]


def scan_bundles(folder: Path, *, gallery: bool = False) -> list[BundleEntry]:
    """Return every bundle of a folder by the bytes of its manifest alone, which pin its other files.

    With `gallery`, also those of its subfolder of that name. Raise BundleMissing when there is no folder.
    """
    if not folder.is_dir():
        raise no_models(f"{folder}: there is no such folder of models.")
    return [_entry_of(path) for path in _subfolders(folder, gallery) if is_bundle(path)]


def load_entry(entry: BundleEntry, others: Mapping[str, Path], read: Callable[[Path], Bundle] = load_bundle) -> Bundle:
    """Read and check a bundle that was found; `others` holds the folder of each name. Raise BundleError."""
    bundle = read(entry.path)
    owner = others.get(bundle.manifest.name, entry.path)
    if owner != entry.path:
        raise BundleIncompatible(f"{entry.path} and {owner} are both named {bundle.manifest.name}; remove one of them.")
    return bundle


def _entry_of(path: Path) -> BundleEntry:
    try:
        content = (path / MANIFEST_NAME).read_bytes()
        name = str(json.loads(content)["name"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        content, name = b"", path.name  # load_bundle reports the error
    return BundleEntry(path, name, digest_of(content))
