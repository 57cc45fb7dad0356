"""HTML and XHTML: service.markup reads and writes it, as for `format=html`; attributes that are text come last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from service import markup
from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument, DocumentTooLarge, UnsafeDocument
from service.documents.format import ReadOptions, check_file_size, check_segments
from service.documents.formats.html_attributes import Attributes, may_have_marks
from service.documents.fragments import has_words

DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})|<\?xml[^>]{0,100}encoding=["']([\w.:-]{1,40})""", re.I
)
DECLARATION_BYTES = 4096
MOST_TAGS = 500_000
ROOT = re.compile(r"<html\b[^<>]*+>", re.IGNORECASE)
LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)[A-Za-z][\w-]*""", re.IGNORECASE)
TAG = re.compile(r"<[a-zA-Z!/?]")


def check_tags(tags: int) -> None:
    """Raise DocumentTooLarge if a page, or the pages of a book, have too many tags."""
    if tags > MOST_TAGS:
        raise DocumentTooLarge(f"The document has more than {MOST_TAGS} tags; split it into several.")


def read(data: bytes, options: ReadOptions) -> HtmlDocument:
    """Return a page in the encoding that it names, otherwise UTF-8."""
    check_file_size(len(data), options.limits)
    check_tags(data.count(b"<"))
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
        self._attributes = Attributes()
        self._parts: list[str] = []
        self._translated: list[int] = []  # numbers of parts
        check_segments(self._read(text, options.metadata and may_have_marks(text)), options.limits)
        self.segments: Sequence[str] = [
            *(self._parts[number] for number in self._translated),
            *self._attributes.segments,
        ]

    def _read(self, text: str, with_attributes: bool) -> Iterator[str]:
        """Collect the parts of a page; yield its segments as they are found."""
        for part in markup.parts_of(text):
            count = len(self._attributes.segments)
            part = self._attributes.marked(part) if with_attributes else part
            yield from self._attributes.segments[count:]
            written = part if isinstance(part, str) else markup.write(part, part.text, ())
            if isinstance(part, markup.Unit) and has_words(written):
                self._translated.append(len(self._parts))
                yield written
            self._parts.append(written)

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
