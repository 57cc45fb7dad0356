"""Chooses the files of one pair by a downloaded list of Firefox's models; nothing is fetched.

Two lists are known: the registry (``models.json``: pairs with their files) and the records of Remote Settings, which
Firefox itself reads (``{"data": […]}``, a record for each file).
"""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from training.imports.files import ImportRefused, read_object
from training.imports.firefox_file import read_content

PACKED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of a model, as the list names it."""

    name: str
    """Unpacked."""
    where: str
    """Its path on the server of the list."""
    sha256: str | None
    """Of the unpacked file."""


@contextmanager
def indexed_folder(folder: Path, index: Path, source: str | None, target: str | None) -> Iterator[Path]:
    """Give a temporary folder with links to the files of a pair, which lie somewhere in ``folder``.

    Raises ImportRefused if the list has no such pair, and for files that are missing or are others.
    """
    if source is None or target is None:
        raise ImportRefused(f"{index}: name the pair, with the languages of source and target")
    files = indexed_files(index, source, target)
    with tempfile.TemporaryDirectory(prefix="firefox-") as name:
        for file in files:
            found = _found(folder, file)
            (Path(name) / found.name).symlink_to(found.resolve())
        yield Path(name)


def indexed_files(index: Path, source: str, target: str) -> list[IndexedFile]:
    """Return the files of a pair's model that is released; raises ImportRefused if there is none."""
    content = read_object(index)
    if isinstance(content.get("models"), dict):
        pairs = {pair: _of_registry(models) for pair, models in content["models"].items()}
    elif isinstance(content.get("data"), list):
        pairs = _of_records(content["data"])
    else:
        raise ImportRefused(f'{index}: it is no list of Firefox\'s models: "models" or "data" is needed')
    pair = f"{source}-{target}"
    if not pairs.get(pair):
        known = ", ".join(sorted(name for name, files in pairs.items() if files))
        raise ImportRefused(f"{index}: it has no model for {pair}; it has {known or 'none'}")
    return pairs[pair]


def _of_registry(models: Any) -> list[IndexedFile]:
    """Return the files of the first released model of a pair, else of its first one."""
    known = [model for model in models if isinstance(model, dict) and isinstance(model.get("files"), dict)]
    ranked = sorted(known, key=lambda model: not str(model.get("releaseStatus")).startswith("Release"))
    wanted = ("model", "lexicalShortlist", "vocab", "srcVocab", "trgVocab")
    files = ranked[0]["files"] if ranked else {}
    return [_file(files[kind].get("path"), files[kind].get("uncompressedHash")) for kind in wanted if files.get(kind)]


def _of_records(records: list[Any]) -> dict[str, list[IndexedFile]]:
    """Return the newest files of each pair that Firefox offers to everybody."""
    newest: dict[tuple[str, str], tuple[tuple[int, ...], Mapping[str, Any]]] = {}
    for record in records:
        if not isinstance(record, dict) or record.get("filter_expression"):
            continue
        languages = [record.get(key) or record.get(old) for key, old in _LANGUAGES]
        version = tuple(int(part) for part in str(record.get("version", "0")).split(".") if part.isdecimal())
        key = "-".join(map(str, languages)), str(record.get("fileType"))
        if key not in newest or newest[key][0] < version:
            newest[key] = version, record
    pairs: dict[str, list[IndexedFile]] = {}
    for (pair, kind), (_, record) in newest.items():
        if kind in ("model", "lex", "vocab", "srcvocab", "trgvocab") and isinstance(record.get("attachment"), dict):
            attachment = record["attachment"]
            file = _file(attachment.get("filename"), record.get("decompressedHash"), attachment.get("location"))
            pairs.setdefault(pair, []).append(file)
    return pairs


_LANGUAGES = (("sourceLanguage", "fromLang"), ("targetLanguage", "toLang"))
"""As the second and the first version of the records call them."""


def _file(path: Any, sha256: Any, where: Any = None) -> IndexedFile:
    name = PurePosixPath(str(path)).name  # never a path out of the folder
    for ending in PACKED:
        name = name.removesuffix(ending)
    return IndexedFile(name, str(where or path), str(sha256) if sha256 else None)


def _found(folder: Path, file: IndexedFile) -> Path:
    for name in (file.name, f"{file.name}.gz"):
        for path in sorted(folder.rglob(name)):
            if file.sha256 is None or hashlib.sha256(read_content(path)).hexdigest() == file.sha256:
                return path
    some = next(folder.rglob(f"{file.name}*"), None)
    if some is None:
        raise ImportRefused(f"{folder}: {file.name} is missing; the list has it at {file.where}")
    if some.suffix == ".zst":
        raise ImportRefused(f"{some}: it is packed by zstd; unpack it first: zstd -d {some}")
    raise ImportRefused(f"{some}: its SHA-256 is not the one of the list; download {file.where} again")
