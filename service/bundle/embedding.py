"""The bundle of a sentence-embedding model: `embedding.json`, the tokenizer, one graph and its weights.

It has no `manifest.json`, because it translates nothing: the folder of models may hold it beside the translation
models, and none of them lists it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from service.bundle.checksums import check_file, digest_of
from service.bundle.errors import BundleCorrupt, BundleIncompatible, BundleMissing

EMBEDDING_MANIFEST = "embedding.json"
EMBEDDING_TOKENIZER = "tokenizer.json"
EMBEDDING_GRAPH = "embedding.onnx"
EMBEDDING_WEIGHTS = "weights.bin"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class EmbeddingManifest:
    """The facts about the model that a program needs."""

    name: str
    width: int  # D: numbers of an embedding, which has length 1
    hops: int  # r: rows of the attention matrix
    vocabulary_size: int
    max_tokens: int  # of the longest sentence, </s> counted
    end: int  # the id of </s>
    languages: tuple[str, ...]  # the classes of the language classifier, in the order of its outputs
    domains: tuple[str, ...]  # the same of the domain classifier
    files: Mapping[str, str]  # SHA-256 of the other files, by name
    card: Mapping[str, Any] = field(default_factory=dict)  # for people: data, licences, credits, measured accuracy
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True)
class EmbeddingBundle:
    """A folder whose manifest is valid and whose files have their checksums."""

    folder: Path
    manifest: EmbeddingManifest
    digest: str  # "sha256:" and the hash of embedding.json, which pins every other file


def has_embedding_model(folder: Path) -> bool:
    """Return whether a folder holds a sentence-embedding model."""
    return (folder / EMBEDDING_MANIFEST).is_file()


def load_embedding_bundle(folder: Path) -> EmbeddingBundle:
    """Read a bundle and check its files; raise BundleMissing, BundleCorrupt or BundleIncompatible."""
    path = folder / EMBEDDING_MANIFEST
    if not path.is_file():
        raise BundleMissing(f"{folder}: there is no {EMBEDDING_MANIFEST}, so this is no sentence-embedding model.")
    try:
        content = path.read_bytes()
        document = json.loads(content)
        version = document["format_version"]
        if version != FORMAT_VERSION:
            raise BundleIncompatible(f"{path}: format_version is {version}; this program reads {FORMAT_VERSION}.")
        manifest = EmbeddingManifest(
            **{**document, "languages": tuple(document["languages"]), "domains": tuple(document["domains"])}
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BundleCorrupt(f"{path}: cannot be read as the manifest of an embedding model ({error}).") from error
    for name, checksum in manifest.files.items():
        check_file(folder / name, checksum, EMBEDDING_MANIFEST)
    return EmbeddingBundle(folder, manifest, digest_of(content))


def write_embedding_manifest(folder: Path, manifest: EmbeddingManifest) -> None:
    """Write embedding.json."""
    text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n"
    (folder / EMBEDDING_MANIFEST).write_text(text, encoding="utf-8")
