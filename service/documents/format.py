"""The formats of documents, what a format does, and the limits of one document.

A format extracts segments, which are translated elsewhere, and writes them back.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from service.documents.errors import DocumentError, DocumentTooLarge, FormatNotInstalled, UnsupportedDocument
from service.extras import installation

if TYPE_CHECKING:
    from service.settings import Settings

MIB = 1_048_576
MOST_LINES = 500_000
MOST_TAGS = 20_000  # in one segment: the server keeps each until the segment is written
UNPACKED = 10  # times the size of the largest file


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one document may have."""

    file_bytes: int = 10 * MIB
    unpacked_bytes: int = UNPACKED * 10 * MIB  # of all files in a packed document together
    characters: int = 1_000_000  # of translatable text
    segments: int = 20_000  # paragraphs, cells, entries, cues
    entries: int = 5_000  # files in a packed document


def limits_of(settings: Settings) -> Limits:
    """Return the limits that the operator has set."""
    size = settings.max_file_mb
    return Limits(
        file_bytes=size * MIB,
        unpacked_bytes=UNPACKED * size * MIB,
        characters=max(Limits().characters, 100_000 * size),
        segments=max(Limits().segments, 2_000 * size),
    )


def check_file_size(size: int, limits: Limits) -> None:
    """Raise DocumentTooLarge if a file has too many bytes."""
    if size > limits.file_bytes:
        raise DocumentTooLarge(
            f"The document has {size} bytes; this server takes at most {limits.file_bytes}. Split it into several."
        )


def check_segments(segments: Iterable[str], limits: Limits) -> None:
    """Raise DocumentTooLarge if a document has too many segments or characters."""
    for _segment in limited(segments, limits):
        pass


def limited(segments: Iterable[str], limits: Limits) -> Iterator[str]:
    """Yield segments as they are found; raise DocumentTooLarge at the first one that is too many or too long."""
    characters = 0
    for number, segment in enumerate(segments, 1):
        characters += len(segment)
        if number > limits.segments:
            raise _too_large(limits.segments, "paragraphs")
        check_characters(characters, limits)
        if segment.count("<") > MOST_TAGS:
            raise _too_large(MOST_TAGS, "tags in one paragraph")
        yield segment


def check_lines(text: str) -> None:
    """Raise DocumentTooLarge if a text has too many lines, whether they have words or not."""
    if text.count("\n") + text.count("\r") > MOST_LINES:
        raise _too_large(MOST_LINES, "lines")


def check_characters(characters: int, limits: Limits) -> None:
    """Raise DocumentTooLarge if a document has too many characters."""
    if characters > limits.characters:
        raise _too_large(limits.characters, "characters")


def _too_large(most: int, of: str) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"The document has more than {most} {of}, the most that this server takes. Split it into several."
    )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options for reading a document."""

    target: str  # the language to translate into, for formats that name it
    limits: Limits = field(default_factory=Limits)
    columns: tuple[str, ...] = ()  # of a table: names in its first row, or numbers from 1; none: every column
    header: bool = False  # of a table: its first row is translated, too
    metadata: bool = True  # what describes a page beside its text: alt, title, placeholder, titles and descriptions


class Document(Protocol):
    """A document that has been read."""

    @property
    def segments(self) -> Sequence[str]:
        """Return the translatable segments in their order, as fragments."""

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document with a fragment for each segment; everything else stays as it was."""


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with other content in some ranges, which do not overlap; an empty range is a place."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def base(language: str) -> str:
    """Return the language of a tag or a locale, without its region."""
    return re.split(r"[-_.@]", language)[0].lower()


def check_target(named: str | None, target: str) -> None:
    """Raise DocumentError if a document names another target language than the one that is asked for."""
    if named and target and base(named) != base(target):
        raise DocumentError(f"The document says that its target language is {named[:20]}, and not {target}.")


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its names, and the module that reads it, which is loaded when it is needed."""

    name: str
    extensions: tuple[str, ...]  # with the dot, in lower case
    media_type: str
    reader: str  # the module in service.documents.formats, and its function
    needs: tuple[str, ...] = ()  # modules of the extra `documents`
    written: str = ""  # the extension of a translation that is of another kind than its original

    @property
    def installed(self) -> bool:
        """Return whether the libraries of this format are installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.needs)

    def check_installed(self) -> None:
        """Raise FormatNotInstalled if the libraries of this format are not installed."""
        if not self.installed:
            raise FormatNotInstalled(
                f"This server cannot read {self.name}, because {', '.join(self.needs)} is not installed; "
                f"the operator can install the extra: {installation('documents')}."
            )

    def read(self, data: bytes, options: ReadOptions) -> Document:
        """Return a document; raise DocumentError."""
        self.check_installed()
        read: Callable[[bytes, ReadOptions], Document] = pkgutil.resolve_name(f"{__package__}.formats.{self.reader}")
        return read(data, options)


OFFICE = "application/vnd.openxmlformats-officedocument."
OPEN = "application/vnd.oasis.opendocument."
FORMATS = (
    Format("txt", (".txt",), "text/plain", "text:read"),
    Format("html", (".html", ".htm", ".xhtml"), "text/html", "html:read"),
    Format("srt", (".srt",), "application/x-subrip", "subtitles:read"),
    Format("vtt", (".vtt",), "text/vtt", "subtitles:read"),
    Format("csv", (".csv", ".tsv"), "text/csv", "csv:read"),
    Format("md", (".md", ".markdown"), "text/markdown", "markdown:read", ("markdown_it",)),
    Format("po", (".po", ".pot"), "text/x-gettext-translation", "po:read", ("polib",)),
    Format("xliff", (".xlf", ".xliff"), "application/xliff+xml", "xliff:read", ("lxml",)),
    Format("json", (".json",), "application/json", "json:read"),
    Format("arb", (".arb",), "application/json", "json:read_arb"),
    Format("properties", (".properties",), "text/x-java-properties", "properties:read"),
    Format("strings", (".strings",), "text/plain", "properties:read_apple"),
    Format("android", (".xml",), "application/xml", "xml_messages:read_android", ("lxml",)),
    Format("stringsdict", (".stringsdict",), "application/xml", "xml_messages:read_stringsdict", ("lxml",)),
    Format("ts", (".ts",), "text/vnd.qt.linguist", "xml_messages:read_qt", ("lxml",)),
    Format("yaml", (".yml", ".yaml"), "application/yaml", "yaml:read", ("yaml",)),
    Format("epub", (".epub",), "application/epub+zip", "epub:read", ("lxml",)),
    Format("odt", (".odt",), f"{OPEN}text", "odt:read", ("lxml",)),
    Format("ods", (".ods",), f"{OPEN}spreadsheet", "odt:read_ods", ("lxml",)),
    Format("odp", (".odp",), f"{OPEN}presentation", "odt:read_odp", ("lxml",)),
    Format("pdf", (".pdf",), "text/plain", "pdf:read", ("pypdf",), written=".txt"),
    Format("pptx", (".pptx",), f"{OFFICE}presentationml.presentation", "office:read_pptx", ("lxml",)),
    Format("xlsx", (".xlsx",), f"{OFFICE}spreadsheetml.sheet", "xlsx:read", ("lxml",)),
    Format("docx", (".docx",), f"{OFFICE}wordprocessingml.document", "office:read_docx", ("lxml",)),
)
REFUSED = {
    ".docm": "It may contain macros; save it as .docx.",
    ".dotm": "It may contain macros; save it as .docx.",
    ".pptm": "It may contain macros; save it as .pptx.",
    ".ppsm": "It may contain macros; save it as .pptx.",
    ".xlsm": "It may contain macros; save it as .xlsx.",
    ".doc": "Save it as .docx.",
    ".ppt": "Save it as .pptx.",
    ".xls": "Save it as .xlsx.",
    ".rtf": "Save it as .docx or .odt.",
}


def extension_of(name: str) -> str:
    """Return the extension of a file name in lower case, with its dot; without one, an empty string."""
    return PurePath(name.replace("\\", "/")).suffix.lower()


def translated_name(file_name: str, language: str) -> str:
    """Return the name of a translation: `report.docx` becomes `report.fr.docx`, `report.pdf` `report.fr.txt`."""
    path = PurePath(file_name)
    return f"{path.stem}.{language}{written_extension(file_name)}"


def written_extension(file_name: str) -> str:
    """Return the extension that the translation of a file has."""
    extension = extension_of(file_name)
    written = next(
        (document_format.written for document_format in FORMATS if extension in document_format.extensions), ""
    )
    return written or PurePath(file_name.replace("\\", "/")).suffix


def supported_extensions() -> list[str]:
    """Return the extensions of all formats whose libraries are installed."""
    return [
        extension
        for document_format in FORMATS
        if document_format.installed
        for extension in document_format.extensions
    ]


def known_extensions() -> frozenset[str]:
    """Return the extensions of all files that this program knows as documents, also those that it refuses."""
    return frozenset(
        [*REFUSED, *(extension for document_format in FORMATS for extension in document_format.extensions)]
    )


def format_named(name: str) -> Format:
    """Return the format of this name; raise UnsupportedDocument."""
    for document_format in FORMATS:
        if document_format.name == name:
            return document_format
    raise UnsupportedDocument("There is no such format of documents.")


def format_of(file_name: str) -> Format:
    """Return the format of a file by its name; raise UnsupportedDocument."""
    extension = extension_of(file_name)
    for document_format in FORMATS:
        if extension in document_format.extensions:
            return document_format
    hint = REFUSED.get(extension, f"The formats are {', '.join(supported_extensions())}.")
    raise UnsupportedDocument(f"Invalid request: file format not supported. {hint}")
