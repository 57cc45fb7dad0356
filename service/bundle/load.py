"""Reads a bundle: a folder with a manifest, and the files that the manifest lists with their SHA-256.

This module opens no graph; the model does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from service.bundle.checksums import check_file, digest_of
from service.bundle.ensemble import parse_ensemble
from service.bundle.errors import BundleCorrupt, BundleIncompatible, BundleMissing
from service.bundle.manifest import MANIFEST_NAME, TOKENIZER_NAME, Manifest, parse_manifest
from service.bundle.manifest_checks import check_manifest


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model folder whose manifest is valid and whose files have their checksums."""

    folder: Path
    manifest: Manifest
    digest: str  # "sha256:" and the hash of manifest.json, which pins every other file
    members: tuple[Bundle, ...] = ()  # of an ensemble

    def path(self, file_name: str) -> Path:
        """Return the path of one of the bundle's files; of an ensemble, but for graphs, of its first member's."""
        return self.members[0].path(file_name) if self.members else self.folder / file_name

    @property
    def tokenizer_path(self) -> Path:
        """Return the path of tokenizer.json."""
        return self.path(TOKENIZER_NAME)


def is_bundle(folder: Path) -> bool:
    """Return whether a folder is meant as a bundle, that is, whether it has a manifest with any content.

    Hidden folders do not count: an export that is in progress or was interrupted has one.
    """
    return not folder.name.startswith(".") and (folder / MANIFEST_NAME).is_file()


def load_bundle(folder: Path) -> Bundle:
    """Read a bundle and check every file of it; raise the errors of `read_bundle` and `check_files`."""
    bundle = read_bundle(folder)
    check_files(bundle)
    return bundle


def read_bundle(folder: Path) -> Bundle:
    """Read and check the manifest of a bundle; its other files are not looked at.

    Raise BundleMissing (there is no folder or manifest), BundleCorrupt (unreadable, or against the schema) or
    BundleIncompatible (another format_version, or members of an ensemble that do not fit).
    """
    if not folder.is_dir():
        raise BundleMissing(f"{folder}: there is no such folder.")
    manifest_path = folder / MANIFEST_NAME
    if not manifest_path.is_file():
        raise BundleMissing(f"{folder}: there is no {MANIFEST_NAME}, so this is not a bundle.")
    try:
        content = manifest_path.read_bytes()
        document = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise BundleCorrupt(f"{manifest_path}: cannot be read as JSON ({error}).") from error
    check_manifest(document, str(manifest_path))
    if "members" not in document:
        return Bundle(folder, parse_manifest(document), digest_of(content))
    members = tuple(
        _read_member(folder, named["name"], named["version"], named["digest"]) for named in document["members"]
    )
    try:
        manifest = parse_ensemble(document, [member.manifest for member in members])
    except BundleIncompatible as error:
        raise BundleIncompatible(f"{folder}: {error.message}.") from error
    return Bundle(folder, manifest, digest_of(content), members)


def _read_member(ensemble: Path, name: str, version: str, digest: str) -> Bundle:
    """Read a bundle that an ensemble names; raise BundleMissing, or BundleIncompatible for another version."""
    folder = ensemble.parent / name
    if not is_bundle(folder):
        raise BundleMissing(
            f"{ensemble}: its member {name} (version {version}) is missing; put its bundle into {folder}, "
            f"or remove {ensemble.name}."
        )
    bundle = read_bundle(folder)
    if bundle.digest != digest:
        raise BundleIncompatible(
            f"{ensemble}: it was made of {name} version {version} ({digest[:19]}…), but {folder} has version "
            f"{bundle.manifest.version} ({bundle.digest[:19]}…); make it again with `python -m training ensemble`, "
            "or put that version back."
        )
    return bundle


def check_files(bundle: Bundle) -> None:
    """Raise BundleMissing or BundleCorrupt unless the folder holds the files that the manifest lists."""
    for name, checksum in bundle.manifest.files.items():
        check_file(bundle.folder / name, checksum)
    for member in bundle.members:
        check_files(member)


def check_unchanged(bundle: Bundle) -> None:
    """Raise BundleError unless the folder still holds exactly the files that the bundle was loaded from."""
    if load_bundle(bundle.folder).digest != bundle.digest:
        raise BundleCorrupt(
            f"{bundle.folder}: the bundle was replaced after it was loaded; load it again to serve the new one."
        )
