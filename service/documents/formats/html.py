"""HTML and XHTML: service.markup reads and writes it, as for `format=html`; attributes that are text come last."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service import markup
from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.formats.html_attributes import Attributes, may_have_marks
from service.documents.fragments import has_words

DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})|<\?xml[^>]{0,100}encoding=["']([\w.:-]{1,40})""", re.I
)
DECLARATION_BYTES = 4096
ROOT = re.compile(r"<html\b[^<>]*+>", re.IGNORECASE)
LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)[A-Za-z][\w-]*""", re.IGNORECASE)
TAG = re.compile(r"<[a-zA-Z!/?]")


def read(data: bytes, options: ReadOptions) -> HtmlDocument:
    """Return a page in the encoding that it names, otherwise UTF-8."""
    declared = DECLARED.search(data[:DECLARATION_BYTES])
    named = (declared[1] or declared[2]).decode("ascii") if declared else None
    text, encoding = decode(data, named)
    if text.strip() and not TAG.search(text):
        raise BrokenDocument("The document is not HTML: it has no tag.")
    if "<!ENTITY" in text[:100_000].upper():
        raise UnsafeDocument("The document declares entities; replace them by their text.")
    return HtmlDocument(text, encoding, options)


class HtmlDocument:
    """A page in parts that are kept and parts that are translated."""

    def __init__(self, text: str, encoding: Encoding, options: ReadOptions) -> None:
        self._encoding = encoding
        self._target = options.target
        read = markup.read(text)
        self._attributes = Attributes(read if options.metadata and may_have_marks(text, read) else ())
        read = self._attributes.parts or read
        self._parts = [part if isinstance(part, str) else markup.write(part, part.text, ()) for part in read]
        units = [isinstance(part, markup.Unit) for part in read]
        self._translated = [number for number, part in enumerate(self._parts) if units[number] and has_words(part)]
        self.segments: Sequence[str] = [
            *(self._parts[number] for number in self._translated),
            *self._attributes.segments,
        ]

    def text(self, translations: Sequence[str]) -> str:
        """Return the page as text, with the language that it says it is in."""
        parts = [*self._parts]
        count = len(self._translated)
        for number, translation in zip(self._translated, translations[:count], strict=True):
            parts[number] = translation
        page = self._attributes.restored("".join(parts), translations[count:])
        if not self._target:
            return page
        return ROOT.sub(lambda root: LANGUAGE.sub(rf"\g<1>{self._target}", root[0]), page, count=1)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the page; characters that its encoding lacks become references."""
        return self._encoding.encode(self.text(translations), "xmlcharrefreplace")
