"""Reads Argos Translate's packages (``.argosmodel``): LibreTranslate's own models.

A package is a zip archive with ``metadata.json``, a SentencePiece model and a CTranslate2 folder. Only
entries with those names are read, and they are unpacked only into a temporary folder of our own.
"""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from training.imports import ctranslate2
from training.imports.ctranslate2 import MODEL, read_ctranslate2
from training.imports.files import ImportRefused, read_object
from training.imports.source import ImportedModel, ReadOptions, bundle_name

METADATA, PIECES, BPE = "metadata.json", "sentencepiece.model", "bpe.model"
LANGUAGES = {"pb": "pt-BR", "zt": "zh-Hant"}
"""Codes of Argos' own."""
CREDIT = "Argos Open Technologies (Argos Translate)"
SEARCH = replace(ctranslate2.SEARCH, beam_size=4, length_penalty=0.2)
"""How Argos Translate searches (``argostranslate/translate.py``), in CTranslate2."""
_WANTED = {METADATA, PIECES, BPE, "README.md", "LICENSE", *(f"model/{name}" for name in (
    MODEL, "config.json", "shared_vocabulary.json", "shared_vocabulary.txt", "source_vocabulary.json",
    "source_vocabulary.txt", "target_vocabulary.json", "target_vocabulary.txt",
))}  # fmt: skip
_LARGEST = 2 << 30
"""Bytes of one entry, unpacked."""


def read_argos(path: Path, options: ReadOptions) -> ImportedModel:
    """Read a package, packed or as an installation has it; raises ImportRefused in one sentence."""
    with unpacked(path) as folder:
        try:
            return _read(folder, path, options)
        except ImportRefused as error:  # the user knows the package, not where it was unpacked
            raise ImportRefused(str(error).replace(f"{folder}/", f"{path}: ")) from error


def _read(folder: Path, path: Path, options: ReadOptions) -> ImportedModel:
    metadata = _metadata(folder, path)
    if (folder / BPE).is_file():
        raise ImportRefused(f"{path}: it has subwords of subword-nmt ({BPE}); SentencePiece can be imported")
    for file in ("README.md", "LICENSE"):  # the files that may state the licence
        if (folder / file).is_file() and not (folder / "model" / file).exists():
            shutil.copy(folder / file, folder / "model" / file)
    source, target = (LANGUAGES.get(code, code) for code in (str(metadata["from_code"]), str(metadata["to_code"])))
    known = ReadOptions(
        options.name or bundle_name("argos", source, target), (source,), (target,), folder / PIECES,
        licence=options.licence, credit=CREDIT, begin=str(metadata.get("target_prefix") or ""),
    )  # fmt: skip
    model = read_ctranslate2(folder / "model", known)
    version = metadata.get("package_version", "not stated")
    origin = replace(model.origin, format="argos", name=f"{path.name}, version {version}")
    return replace(model, decoding=SEARCH, origin=origin)


def installed_packages() -> list[Path]:
    """Return the folders of all packages that Argos Translate or LibreTranslate has installed for this user.

    ``ARGOS_PACKAGES_DIR`` may name another folder, as for Argos Translate.
    """
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    folder = Path(os.environ.get("ARGOS_PACKAGES_DIR") or Path(data) / "argos-translate" / "packages")
    if not folder.is_dir():
        raise ImportRefused(f"{folder}: there are no installed packages; set ARGOS_PACKAGES_DIR to where they are")
    folders = sorted(path for path in folder.iterdir() if (path / METADATA).is_file() and (path / "model").is_dir())
    if not folders:
        raise ImportRefused(f"{folder}: it holds no packages with a {METADATA} and a model; set ARGOS_PACKAGES_DIR")
    return folders


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Give a temporary folder with those files of a package that are read, packed or installed as it may be."""
    if not path.exists():
        raise ImportRefused(f"{path}: there is no such file; an .argosmodel or the folder of one is needed")
    with tempfile.TemporaryDirectory(prefix="argos-") as name:
        target = Path(name)
        if path.is_dir():
            for entry in _WANTED:
                if (path / entry).is_file():
                    (target / entry).parent.mkdir(exist_ok=True)
                    shutil.copy(path / entry, target / entry)
        else:
            _unpack(path, target)
        yield target


def _unpack(path: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                # A package has one folder at its top, whose name does not matter.
                inside = "/".join(PurePosixPath(entry.filename).parts[1:])
                if inside not in _WANTED or entry.is_dir() or ".." in PurePosixPath(entry.filename).parts:
                    continue
                if entry.file_size > _LARGEST:
                    raise ImportRefused(f"{path}: {entry.filename} has more than {_LARGEST >> 20} MB unpacked")
                (target / inside).parent.mkdir(exist_ok=True)
                with archive.open(entry) as packed, (target / inside).open("wb") as file:
                    shutil.copyfileobj(packed, file)  # never more than the header's size
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise ImportRefused(f"{path}: it is no zip archive that can be read, or it is cut off ({error})") from error


def _metadata(folder: Path, path: Path) -> dict[str, Any]:
    file = folder / METADATA
    if not file.is_file() or not (folder / "model" / MODEL).is_file():
        raise ImportRefused(f"{path}: it is no Argos package of a translator: {METADATA} or model/{MODEL} is missing")
    content = read_object(file)
    if not content.get("from_code") or not content.get("to_code"):
        raise ImportRefused(f"{path}: its {METADATA} does not say from_code and to_code")
    return content
