"""Books (EPUB 2 and 3): every page and the tables of contents; pages are XHTML, which service.markup reads.

EbookLib, the usual library, is AGPL and composes the package anew.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from lxml import etree

from service.documents.encodings import decode
from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions, limited
from service.documents.formats import html
from service.documents.fragments import has_words, plain
from service.documents.untrusted import Package, parse_xml, unpack
from service.markup.document import escape
from service.markup.tokens import unescape

Element = etree._Element
CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
MEDIA_TYPE = b"application/epub+zip"
PAGES = ("application/xhtml+xml", "application/x-dtbncx+xml")
LANGUAGE = re.compile(r"(<dc:language\b[^<>]*+>)[^<]*+(</dc:language>)")
TITLE = re.compile(r"(<dc:title\b[^<>]*(?<!/)>)([^<]*)(?=</dc:title>)")
OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")  # of fonts only


def read(data: bytes, options: ReadOptions) -> EpubDocument:
    """Return a book; raise DocumentError."""
    package = unpack(data, options.limits)
    contents = package.contents
    if contents.get("mimetype", b"").strip() != MEDIA_TYPE or CONTAINER not in contents:
        raise BrokenDocument("The document is not an EPUB book: it has no container.")
    _check_protection(package)
    opf = _package_file(package)
    names = [name for name in _pages(contents[opf], opf) if name in contents]
    html.check_tags(sum(contents[name].count(b"<") for name in names))
    return EpubDocument(package, opf, names, options)


class EpubDocument:
    """The pages of a book."""

    def __init__(self, package: Package, opf: str, names: Sequence[str], options: ReadOptions) -> None:
        self._package = package
        self._opf = opf
        self._target = options.target
        self._text, self._encoding = decode(package.contents[opf])
        matches = TITLE.findall(self._text) if options.metadata else []
        titles = [escape(unescape(title)) for _, title in matches]
        self._titles = dict.fromkeys(title for title in titles if has_words(title))
        self._pages: dict[str, html.HtmlDocument] = {}
        self.segments: Sequence[str] = [*limited(self._read(names, options), options.limits)]

    def _read(self, names: Sequence[str], options: ReadOptions) -> Iterator[str]:
        """Yield the titles and the segments of each page that is read."""
        yield from self._titles
        for name in names:
            self._pages[name] = html.read(self._package.contents[name], options)
            yield from self._pages[name].segments

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the book, with the language that it says it is in."""
        changed = {}
        first = len(self._titles)
        titles = dict(zip(self._titles, translations[:first], strict=True))
        for name, page in self._pages.items():
            last = first + len(page.segments)
            changed[name] = page.write(translations[first:last])
            first = last
        text = LANGUAGE.sub(rf"\g<1>{self._target}\g<2>", self._text, count=1)
        text = TITLE.sub(lambda match: match[1] + _title(match[2], titles), text)
        changed[self._opf] = self._encoding.encode(text)
        return self._package.packed(changed)


def _title(written: str, titles: Mapping[str, str]) -> str:
    """Return a title in its translation, or as it is written if it has none."""
    new = titles.get(escape(unescape(written)))
    return written if new is None else escape(plain(new))


def _check_protection(package: Package) -> None:
    if "META-INF/rights.xml" in package.contents:
        raise UnsafeDocument("The book is protected (DRM); only unprotected books can be translated.")
    if ENCRYPTION not in package.contents:
        return
    root = parse_xml(package.contents[ENCRYPTION], "The list of encrypted files")
    methods = [
        str(element.get("Algorithm", "")) for element in root.iter() if str(element.tag).endswith("}EncryptionMethod")
    ]
    if any(method not in OBFUSCATION for method in methods):
        raise UnsafeDocument("The book is protected (DRM); only unprotected books can be translated.")


def _package_file(package: Package) -> str:
    root = parse_xml(package.contents[CONTAINER], "The container of the book")
    for element in root.iter():
        name = str(element.get("full-path", "")) if str(element.tag).endswith("}rootfile") else ""
        if name in package.contents:
            return name
    raise BrokenDocument("The book has no list of its pages.")


def _pages(opf: bytes, name: str) -> list[str]:
    """Return the names of the pages and tables of contents in the package."""
    root = parse_xml(opf, "The list of pages")
    folder = posixpath.dirname(name)
    pages = [
        posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href", "")))))
        for item in root.iter()
        if str(item.tag).endswith("}item") and item.get("media-type") in PAGES
    ]
    return [*dict.fromkeys(pages)]
