"""Messages in lines: Java's `.properties` and Apple's `.strings`; keys, comments and order keep their bytes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

from service.documents.errors import BrokenDocument, DocumentEncoding
from service.documents.format import ReadOptions
from service.documents.icu import message_parts
from service.documents.messages import MessagesDocument, Place, escaped_beyond_ascii, text_of, unescaped

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


def read(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a file of Java in UTF-8, otherwise in ISO 8859-1; raise DocumentError."""
    try:
        text, encoding = text_of(data, options.limits, "utf-8")
        raw = not text.isascii()
    except DocumentEncoding:
        text, encoding = text_of(data, options.limits, "iso8859-1")
        raw = False
    if text.strip() and not ENTRY.search(text):
        raise BrokenDocument("The document is not a file of properties: no line has a key and a value.")
    places = (
        Place(*entry.span("value"), message_parts(unescaped(CONTINUED.sub("", value))), _java(value, raw=raw))
        for entry in ENTRY.finditer(text)
        if (value := entry["value"])
    )
    return MessagesDocument(text, encoding, places, options.limits)


def _java(value: str, *, raw: bool) -> Callable[[str], str]:
    """Return how a new value is written: over several lines if the old one was."""
    lines = CONTINUED.split(value)

    def write(text: str) -> str:
        new = SPECIAL.sub(lambda match: NAMES[match[0]], text)
        new = new if raw else escaped_beyond_ascii(new)
        if new.startswith(" "):
            new = "\\" + new
        if len(lines) == 1:
            return new
        width = max(map(len, lines[::3]))
        wrapped = textwrap.wrap(new, width, break_long_words=False, break_on_hyphens=False)
        return f" \\{lines[1]}{lines[2]}".join(wrapped)

    return write


def read_apple(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a file of Apple's; raise DocumentError."""
    text, encoding = text_of(data, options.limits, "utf-8")
    return MessagesDocument(text, encoding, _apple_places(text), options.limits)


def _apple_places(text: str) -> Iterator[Place]:
    at = 0
    while at < len(text):
        match = APPLE.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            raise BrokenDocument(f'The document is no file of strings: line {line} is not of the form "key" = "text";.')
        if value := match["value"]:
            yield Place(*match.span("value"), message_parts(unescaped(value)), _apple)
        at = match.end()


def _apple(text: str) -> str:
    return re.sub(r'[\\\n\t\r"]', lambda match: NAMES[match[0]], text)
