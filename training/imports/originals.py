"""Opens the original of an imported bundle again, to compare the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.bundle.manifest import Manifest
from training.imports.argos import PIECES, read_unpacked, unpacked
from training.imports.check import Original, towards
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.imports.ctranslate2_original import Ctranslate2Original
from training.imports.errors import ImportRefused
from training.imports.hub import fetch_model
from training.imports.marian import MarianOptions, read_marian
from training.imports.marian_original import MarianOriginal
from training.imports.source import ImportedModel

_DECISIVE = (".safetensors", ".bin", ".spm", ".model")
"""Endings of the files that make a model another one; cards and settings are edited now and then."""


@dataclass(frozen=True, slots=True)
class OriginalFiles:
    """Where the user says that the original is."""

    source: str
    """A folder, an ``.argosmodel``, or a name on the hub."""
    revision: str | None = None
    source_pieces: Path | None = None
    """The SentencePiece model of the source, for a CTranslate2 folder."""
    target_pieces: Path | None = None
    """That of the target; None: the same."""
    target: str | None = None
    """The target language to compare; None: the model's first."""


@contextmanager
def open_original(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    """Give the model as it was imported, and the original in its own implementation.

    Raises ImportRefused for files that cannot be read, and for others than those that the bundle was imported from.
    """
    imported = manifest.card["imported"]
    opened = {"opus-mt": _marian, "ctranslate2": _ctranslate2, "argos": _argos}[imported["format"]]
    with opened(manifest, files) as (model, original):
        _refuse_others(imported["files"], model.origin.files, files.source)
        yield towards(model, files.target), original


def _refuse_others(recorded: Mapping[str, str], found: Mapping[str, str], source: str) -> None:
    """Raise ImportRefused where weights or subwords are not those that were imported."""
    for name, checksum in recorded.items():
        if name.endswith(_DECISIVE) and found.get(name, checksum) != checksum:
            raise ImportRefused(f"{source}: its {name} is not the one that the bundle was imported from")


@contextmanager
def _marian(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    imported, folder = manifest.card["imported"], fetch_model(files.source, files.revision)
    options = MarianOptions(
        manifest.name,
        manifest.source_languages,
        tuple(target.language for target in manifest.targets),
        imported["positions"],
        imported["text_normalised"],
        manifest.card["data"][0]["licence"],
    )
    model = towards(read_marian(folder, options), files.target)
    yield model, MarianOriginal(folder, model)


@contextmanager
def _ctranslate2(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    if files.source_pieces is None:
        raise ImportRefused(f"{files.source}: its SentencePiece model is needed; give --spm, and --target-spm if any")
    folder = Path(files.source)
    options = Ctranslate2Options(
        manifest.name,
        manifest.source_languages,
        tuple(target.language for target in manifest.targets),
        files.source_pieces,
        files.target_pieces,
        manifest.card["data"][0]["licence"],
        decoding=manifest.decoding,
    )
    model = read_ctranslate2(folder, options)
    yield model, Ctranslate2Original(folder, model, files.source_pieces)


@contextmanager
def _argos(manifest: Manifest, files: OriginalFiles) -> Iterator[tuple[ImportedModel, Original]]:
    path = Path(files.source)
    with unpacked(path) as folder:
        model = read_unpacked(folder, path, manifest.name, manifest.card["data"][0]["licence"])
        yield model, Ctranslate2Original(folder / "model", model, folder / PIECES)
