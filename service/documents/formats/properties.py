"""Messages in lines: Java's `.properties` and Apple's `.strings`; keys, comments and order keep their bytes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from service.documents.encodings import decode
from service.documents.errors import BrokenDocument, DocumentEncoding
from service.documents.format import ReadOptions
from service.documents.icu import message_parts
from service.documents.messages import MessagesDocument, Place, escaped_beyond_ascii, unescaped

ENTRY = re.compile(
    r"^[ \t\f]*+(?:[#!][^\r\n]*+|(?P<key>(?:[^\\\s=:]|\\[^\r\n])++)(?:[ \t\f]*+[=:]|[ \t\f])[ \t\f]*+"
    r"(?P<value>(?:[^\\\r\n]++|\\(?:\r\n|[\s\S]))*+))",
    re.MULTILINE,
)
CONTINUED = re.compile(r"\\(\r\n|\r|\n)([ \t\f]*)")
SPECIAL = re.compile(r"[\\\n\t\r\f]")
NAMES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", '"': '\\"'}
APPLE = re.compile(
    r"\s++|/\*[\s\S]*?\*/|//[^\n]*+"
    r'|(?:"(?:[^"\\]++|\\[\s\S])*+"|[\w.-]++)\s*+=\s*+"(?P<value>(?:[^"\\]++|\\[\s\S])*+)"\s*+;'
)


def read(data: bytes, _options: ReadOptions) -> MessagesDocument:
    """Return a file of Java in UTF-8, otherwise in ISO 8859-1; raise DocumentError."""
    try:
        text, encoding = decode(data)
        raw = not text.isascii()
    except DocumentEncoding:
        text, encoding = decode(data, "iso8859-1")
        raw = False
    places = []
    for entry in ENTRY.finditer(text):
        if value := entry["value"]:
            parts = message_parts(unescaped(CONTINUED.sub("", value)))
            places.append(Place(entry.start("value"), entry.end("value"), parts, _java(value, raw=raw)))
    if text.strip() and not ENTRY.search(text):
        raise BrokenDocument("The document is not a file of properties: no line has a key and a value.")
    return MessagesDocument(text, encoding, places)


def _java(value: str, *, raw: bool) -> Callable[[str], str]:
    """Return how a new value is written: over several lines if the old one was."""
    lines = CONTINUED.split(value)

    def write(text: str) -> str:
        new = SPECIAL.sub(lambda found: NAMES[found[0]], text)
        new = new if raw else escaped_beyond_ascii(new)
        if new.startswith(" "):
            new = "\\" + new
        if len(lines) == 1:
            return new
        width = max(map(len, lines[::3]))
        wrapped = textwrap.wrap(new, width, break_long_words=False, break_on_hyphens=False)
        return f" \\{lines[1]}{lines[2]}".join(wrapped)

    return write


def read_apple(data: bytes, _options: ReadOptions) -> MessagesDocument:
    """Return a file of Apple's; raise DocumentError."""
    text, encoding = decode(data)
    places = []
    at = 0
    while at < len(text):
        found = APPLE.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise BrokenDocument(f'The document is no file of strings: line {line} is not of the form "key" = "text";.')
        if value := found["value"]:
            parts = message_parts(unescaped(value))
            places.append(Place(found.start("value"), found.end("value"), parts, _apple))
        at = found.end()
    return MessagesDocument(text, encoding, places)


def _apple(text: str) -> str:
    return re.sub(r'[\\\n\t\r"]', lambda found: NAMES[found[0]], text)
