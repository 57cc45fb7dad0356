"""The formats, and the format of a file by its name."""

from __future__ import annotations

from pathlib import PurePath

from service.documents.errors import UnsupportedDocument
from service.documents.format import Format

FORMATS = (
    Format("txt", (".txt",), "text/plain", ".formats.text"),
    Format("html", (".html", ".htm", ".xhtml"), "text/html", ".formats.html"),
    Format("srt", (".srt",), "application/x-subrip", ".formats.subtitles"),
    Format("vtt", (".vtt",), "text/vtt", ".formats.subtitles"),
    Format("csv", (".csv", ".tsv"), "text/csv", ".formats.csv"),
    Format("md", (".md", ".markdown"), "text/markdown", ".formats.markdown", ("markdown_it",)),
    Format("po", (".po", ".pot"), "text/x-gettext-translation", ".formats.po", ("polib",)),
    Format("xliff", (".xlf", ".xliff"), "application/xliff+xml", ".formats.xliff", ("lxml",)),
    Format("epub", (".epub",), "application/epub+zip", ".formats.epub", ("lxml",)),
    Format("odt", (".odt",), "application/vnd.oasis.opendocument.text", ".formats.odt", ("lxml",)),
    Format(
        "pptx",
        (".pptx",),
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ".formats.pptx",
        ("lxml",),
    ),
    Format(
        "docx",
        (".docx",),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ".formats.docx",
        ("lxml",),
    ),
)
REFUSED = {
    ".docm": "It may contain macros; save it as .docx.",
    ".dotm": "It may contain macros; save it as .docx.",
    ".pptm": "It may contain macros; save it as .pptx.",
    ".ppsm": "It may contain macros; save it as .pptx.",
    ".xlsm": "It may contain macros; save the table as .csv.",
    ".doc": "Save it as .docx.",
    ".ppt": "Save it as .pptx.",
    ".xls": "Save the table as .csv.",
    ".xlsx": "Save the table as .csv.",
    ".rtf": "Save it as .docx or .odt.",
    ".pdf": "Convert it to .docx first.",
}


def extension_of(name: str) -> str:
    """Return the extension of a file name in lower case, with its dot; without one, an empty string."""
    return PurePath(name.replace("\\", "/")).suffix.lower()


def supported_extensions() -> list[str]:
    """Return the extensions of all formats whose libraries are installed."""
    return [extension for each in FORMATS if each.installed for extension in each.extensions]


def known_extensions() -> frozenset[str]:
    """Return the extensions of all files that this program knows as documents, also those that it refuses."""
    return frozenset([*REFUSED, *(extension for each in FORMATS for extension in each.extensions)])


def format_named(name: str) -> Format:
    """Return the format of this name; raise UnsupportedDocument."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise UnsupportedDocument("There is no such format of documents.")


def format_of(file_name: str) -> Format:
    """Return the format of a file by its name; raise UnsupportedDocument."""
    extension = extension_of(file_name)
    for each in FORMATS:
        if extension in each.extensions:
            return each
    hint = REFUSED.get(extension, f"The formats are {', '.join(supported_extensions())}.")
    raise UnsupportedDocument(f"Invalid request: file format not supported. {hint}")
