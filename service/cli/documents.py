"""`translucent translate FILE …`, or a folder: documents in, documents out, with the engine of the server."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from service.cli.folders import count_table, counts, documents_in, targets_in
from service.cli.lines import STANDARD
from service.cli.open_models import BulkOptions, OpenedModels, open_models
from service.cli.options import say
from service.cli.source_language import with_source
from service.documents.errors import DocumentError
from service.documents.format import (
    Document,
    Limits,
    ReadOptions,
    check_file_size,
    check_segments,
    extension_of,
    format_of,
    known_extensions,
    translated_name,
)
from service.documents.translating import TranslatedSegment, note_of, sample, translate_segments
from service.engine import InvalidInput, InvalidOption
from service.whole_file import write_whole

Read = dict[tuple[Path, str], Document]  # documents that have been read for a target language
LONGEST_NAME = 255  # of a file
_PATH = re.compile(r"\.{0,2}[/\\]|~[/\\]|[A-Za-z]:[/\\]")
_FILE_NAME = re.compile(r"[^\s@:]{0,250}\w\.(?:[A-Za-z][A-Za-z0-9]{1,4}|markdown)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Options of documents only."""

    limits: Limits
    columns: tuple[str, ...] = ()
    header: bool = False
    metadata: bool = True
    dry_run: bool = False


def are_documents(arguments: Sequence[str]) -> bool:
    """Return whether arguments are names of documents or folders.

    Raise InvalidOption if only some of them are, if a document is missing, or if a file is of an unknown type.
    """
    found = [
        (extension_of(each) in known_extensions() and _is(each, Path.is_file)) or _is(each, Path.is_dir)
        for each in arguments
    ]
    for name, is_document in zip(arguments, found, strict=True):
        if not is_document and _is(name, Path.is_file) and "." in name[1:-1]:
            format_of(name)
        if not is_document and _names_a_file(name) and not _is(name, Path.is_file):
            raise InvalidOption(f"There is no file {name}. A text that looks like a file's name is read from --input.")
    if any(found) and not all(found):
        raise InvalidOption("Give documents or texts, not both.")
    return bool(found) and all(found)


def _is(text: str, kind: Callable[[Path], bool]) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a text may be too long for a name
        return bool(text) and kind(Path(text))
    return False


def _names_a_file(text: str) -> bool:
    """Return whether an argument can only be meant as a file: a word with an extension, or a path of a folder."""
    if len(text) > LONGEST_NAME:
        return False
    folder = Path(text).expanduser().parent
    if _PATH.match(text):
        return "." in Path(text).name[1:-1] or (" " not in text and folder.is_dir())
    return _FILE_NAME.fullmatch(text) is not None or ("/" in text and " " not in text and folder.is_dir())


def run(options: BulkOptions, own: DocumentOptions) -> None:
    """Translate documents; raise InvalidInput, DocumentError, BundleError or DeviceUnavailable."""
    scoring = (options.alignments, options.words, options.scores, options.quality, options.signals)
    files = (options.input, options.target_file, *scoring)
    if any(files) or options.alternatives or options.as_json or options.min_quality is not None:
        raise InvalidOption("Documents take --output and --columns, not the options for files of lines.")
    paths = [Path(each) for each in options.texts]
    several = len(paths) > 1
    folder = paths[0] if not several and paths[0].is_dir() else None
    if folder is not None:
        paths = _found_in(folder)
    for path in paths:
        if path.is_dir():
            raise InvalidOption("Give one folder, or documents, not both.")
        format_of(path.name)  # refused before the model is loaded
    readable = _readable(paths, options.wanted.target or "", own)
    if own.dry_run:
        _count(paths, readable)
        return
    if several and options.output is not None and not options.output.is_dir():
        raise InvalidOption("--output must be a folder for several documents.")
    read: Read = {}
    wanted = with_source(
        options.wanted, options.models_dir, lambda: _looked_into(readable, read, options.wanted.target)
    )
    options = replace(options, wanted=wanted)
    opened = open_models(options)
    language = opened.legs[-1].info.target_language
    if folder is not None:
        outputs = [*targets_in(folder, paths, options.output, language)]
    else:
        outputs = [(path, output_of(path, options.output, language)) for path in paths]
    asyncio.run(_run(outputs, opened, own, read))


def _looked_into(documents: Iterable[tuple[Path, Document | DocumentError]], read: Read, language: str | None) -> str:
    """Return the beginning of the first document that can be read, and keep it in `read`."""
    for path, document in documents:
        if not isinstance(document, DocumentError):
            read[path, language or ""] = document
            return sample(document.segments)
    return ""


def _readable(
    paths: Sequence[Path], language: str, own: DocumentOptions
) -> Iterator[tuple[Path, Document | DocumentError]]:
    """Yield each document, or the error of one that cannot be read."""
    for path in paths:
        try:
            yield path, _document(path, language, own)
        except DocumentError as error:
            yield path, error


def _count(paths: Sequence[Path], documents: Iterable[tuple[Path, Document | DocumentError]]) -> None:
    """Print the words and characters of documents; raise InvalidInput if some cannot be read."""
    rows = []
    for path, document in documents:
        if isinstance(document, DocumentError):
            say(document.message)
        else:
            rows.append((str(path), *counts(document)))
    print(count_table(rows))  # noqa: T201 - the result of the command
    if len(rows) < len(paths):
        raise InvalidInput(f"{len(paths) - len(rows)} of {len(paths)} documents cannot be read.")


def _found_in(folder: Path) -> list[Path]:
    paths, others = documents_in(folder)
    if others:
        kinds = ", ".join(f"{count} {kind}" for kind, count in others.most_common(5))
        say(f"{others.total()} files are no documents and are left out ({kinds}).")
    return paths


def output_of(path: Path, output: Path | None, language: str) -> Path:
    """Return where the translation of a document goes: beside it by default, and never over another file."""
    name = translated_name(path.name, language)
    if output is not None:
        chosen = output / name if output.is_dir() else output
        if chosen != STANDARD and chosen.resolve() == path.resolve():
            raise InvalidInput(f"{chosen} is named twice; every input and output needs its own file.")
        return chosen
    beside = path.with_name(name)
    if beside.exists():
        raise InvalidInput(f"{beside} exists; name another file with --output.")
    return beside


async def _run(files: Sequence[tuple[Path, Path]], opened: OpenedModels, own: DocumentOptions, read: Read) -> None:
    failed = 0
    language = opened.legs[-1].info.target_language
    try:
        await opened.start()
        for number, (source, target) in enumerate(files, start=1):
            label = f"{number}/{len(files)} {source.name}" if len(files) > 1 else source.name
            try:
                document = read.pop((source, language), None) or _document(source, language, own)
                if format_of(source.name).name == "csv" and not own.header:
                    say(f"the first row of {source} stays as it is; --header translates it, too.")
                _write(target, await _translated(document, opened, label))
                if kept := getattr(document, "kept", ()):
                    say(f"cells that stay, as something finds them by their words: {', '.join(kept)}")
            except DocumentError as error:
                if len(files) == 1:
                    raise
                failed += 1
                say(error.message)
    finally:
        await opened.stop()
    if failed:
        raise InvalidInput(f"{failed} of {len(files)} documents were not translated.")


def _document(path: Path, language: str, own: DocumentOptions) -> Document:
    """Return a document that was read; raise DocumentError with its name."""
    data = _read(path)
    try:
        check_file_size(len(data), own.limits)
        options = ReadOptions(language, own.limits, own.columns, own.header, own.metadata)
        document = format_of(path.name).read(data, options)
        check_segments(document.segments, own.limits)
    except DocumentError as error:
        raise type(error)(f"{path}: {error.message}") from None
    return document


async def _translated(document: Document, opened: OpenedModels, label: str) -> bytes:
    with _progress(label, len({*document.segments})) as bar:

        async def on_window(new: dict[str, TranslatedSegment]) -> None:
            bar.update(len(new))

        translations = await translate_segments(opened.legs, document.segments, opened.search, on_window=on_window)
    if note := note_of(opened.search.formality, document.segments, translations, opened.legs):
        say(note)
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    print(path)  # noqa: T201 - the result of the command


def _progress(label: str, count: int) -> tqdm[NoReturn]:
    return tqdm(total=count, unit=" segments", desc=label, disable=not sys.stderr.isatty())
