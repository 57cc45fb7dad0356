"""`translucent translate FILE …`: documents in, documents out, with the engine of the server."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from service.cli.lines import STANDARD
from service.cli.open_models import BulkOptions, OpenedModels, open_models
from service.documents.errors import DocumentError
from service.documents.format import (
    Limits,
    ReadOptions,
    check_file_size,
    check_segments,
    extension_of,
    format_of,
    known_extensions,
)
from service.documents.translating import Translated, translate_segments
from service.engine import InvalidInput, InvalidOption

_PATH = re.compile(r"\.{0,2}[/\\]|~[/\\]|[A-Za-z]:[/\\]")
_FILE_NAME = re.compile(r"[^\s@:]{0,250}\w\.(?:[A-Za-z][A-Za-z0-9]{1,4}|markdown)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Options of documents only."""

    limits: Limits
    columns: tuple[str, ...] = ()


def are_documents(arguments: Sequence[str]) -> bool:
    """Return whether arguments are names of documents.

    Raise InvalidOption if only some of them are, if a document is missing, or if a file is of an unknown type.
    """
    found = [extension_of(each) in known_extensions() and Path(each).is_file() for each in arguments]
    for name, is_document in zip(arguments, found, strict=True):
        if not is_document and Path(name).is_file() and "." in name[1:-1]:
            format_of(name)
        if not is_document and _names_a_file(name) and not Path(name).is_file():
            raise InvalidOption(f"There is no file {name}. A text that looks like a file's name is read from --input.")
    if any(found) and not all(found):
        raise InvalidOption("Give documents or texts, not both.")
    return bool(found) and all(found)


def _names_a_file(text: str) -> bool:
    """Return whether an argument can only be meant as a file: a word with an extension, or a path of a folder."""
    folder = Path(text).expanduser().parent
    if _PATH.match(text):
        return "." in Path(text).name[1:-1] or (" " not in text and folder.is_dir())
    return _FILE_NAME.fullmatch(text) is not None or ("/" in text and " " not in text and folder.is_dir())


def run(options: BulkOptions, own: DocumentOptions) -> None:
    """Translate documents; raise InvalidInput, DocumentError, BundleError or DeviceUnavailable."""
    files = (options.input, options.target_file, options.alignments, options.scores, options.quality, options.signals)
    if any(files) or options.min_quality is not None:
        raise InvalidOption("Documents take --output and --columns, not the options for files of lines.")
    paths = [Path(each) for each in options.texts]
    for path in paths:
        format_of(path.name)  # refused before the model is loaded
    if len(paths) > 1 and options.output is not None and not options.output.is_dir():
        raise InvalidOption("--output must be a folder for several documents.")
    opened = open_models(options)
    targets = [output_of(path, options.output, opened.legs[-1].info.target_language) for path in paths]
    asyncio.run(_run([*zip(paths, targets, strict=True)], opened, own))


def output_of(path: Path, output: Path | None, language: str) -> Path:
    """Return where the translation of a document goes: beside it by default, and never over another file."""
    name = f"{path.stem}.{language}{path.suffix}"
    if output is not None:
        chosen = output / name if output.is_dir() else output
        if chosen != STANDARD and chosen.resolve() == path.resolve():
            raise InvalidInput(f"{chosen} is named twice; every input and output needs its own file.")
        return chosen
    beside = path.with_name(name)
    if beside.exists():
        raise InvalidInput(f"{beside} exists; name another file with --output.")
    return beside


async def _run(files: Sequence[tuple[Path, Path]], opened: OpenedModels, own: DocumentOptions) -> None:
    try:
        await opened.start()
        for source, target in files:
            data = await _translated(source, opened, own)
            _write(target, data)
    finally:
        await opened.stop()


async def _translated(path: Path, opened: OpenedModels, own: DocumentOptions) -> bytes:
    data = _read(path)
    try:
        check_file_size(len(data), own.limits)
        document = format_of(path.name).read(
            data, ReadOptions(opened.legs[-1].info.target_language, own.limits, own.columns)
        )
        check_segments(document.segments, own.limits)
    except DocumentError as error:
        raise type(error)(f"{path}: {error.message}") from None
    with _progress(path, len({*document.segments})) as bar:

        async def on_window(new: dict[str, Translated]) -> None:
            bar.update(len(new))

        translations = await translate_segments(opened.legs, document.segments, opened.search, on_window=on_window)
    return document.write([each.text for each in translations])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error


def _write(path: Path, data: bytes) -> None:
    if path == STANDARD:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    print(path)  # noqa: T201 - the result of the command


def _progress(path: Path, count: int) -> tqdm[NoReturn]:
    return tqdm(total=count, unit=" segments", desc=path.name, disable=not sys.stderr.isatty())
