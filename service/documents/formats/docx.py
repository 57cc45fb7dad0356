"""Word documents: body, tables, text boxes, headers, footers, footnotes and endnotes.

Tracked insertions are translated and stay insertions; deletions and comments stay as they are. Code is not translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lxml import etree

from service.documents.format import ReadOptions
from service.documents.ooxml import open_office, parts_of
from service.documents.package import Package
from service.documents.runs import Dialect, Segment, segments_of
from service.documents.safe_xml import xml_bytes

Element = etree._Element
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
PREFIX = "application/vnd.openxmlformats-officedocument.wordprocessingml."
MAIN = f"{PREFIX}document.main+xml"
KINDS = (MAIN, *(f"{PREFIX}{kind}+xml" for kind in ("header", "footer", "footnotes", "endnotes")))
CODE_STYLE = re.compile(r"^(?:source|html|inline)?[ _-]?code|verbatim|preformatted|^plaintext", re.IGNORECASE)


def _w(*names: str) -> frozenset[str]:
    return frozenset(W + name for name in names)


def _is_code(properties: Element | None) -> bool:
    style = None if properties is None else properties.find(f"{W}rStyle")
    return style is not None and CODE_STYLE.search(str(style.get(f"{W}val", ""))) is not None


DIALECT = Dialect(
    run=f"{W}r",
    properties=f"{W}rPr",
    text=f"{W}t",
    characters={f"{W}noBreakHyphen": "\u2011", f"{W}softHyphen": "\u00ad"},
    dividers=_w("br", "cr", "tab", "ptab"),
    containers={
        **dict.fromkeys(_w("hyperlink", "ins", "moveTo", "smartTag", "customXml", "dir", "bdo")),
        f"{W}sdt": f"{W}sdtContent",
    },
    dropped=_w("proofErr", "lastRenderedPageBreak"),
    skipped=_w("pPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"),
    ignored=_w("lang", "noProof", "rPrChange"),
    field=f"{W}fldChar",
    instruction=f"{W}instrText",
    is_code=_is_code,
)


def read(data: bytes, options: ReadOptions) -> DocxDocument:
    """Return a Word document; raise DocumentError."""
    package, types = open_office(data, options.limits, MAIN)
    return DocxDocument(package, parts_of(package.contents, types, KINDS))


class DocxDocument:
    """The parts of a document that hold its text."""

    def __init__(self, package: Package, parts: dict[str, Element]) -> None:
        self._package = package
        self._parts = parts
        self._found: list[tuple[str, Segment]] = [
            (name, segment)
            for name, root in parts.items()
            for paragraph in list(root.iter(f"{W}p"))
            if not _is_code_paragraph(paragraph)
            for segment in segments_of(paragraph, DIALECT)
        ]
        self.segments: Sequence[str] = [segment.fragment for _, segment in self._found]

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document; all parts without text keep their bytes."""
        changed = set()
        for (name, segment), translation in zip(self._found, translations, strict=True):
            if translation != segment.fragment:
                segment.write(translation)
                changed.add(name)
        return self._package.packed({name: xml_bytes(self._parts[name]) for name in changed})


def _is_code_paragraph(paragraph: Element) -> bool:
    style = paragraph.find(f"{W}pPr/{W}pStyle")
    return style is not None and CODE_STYLE.search(str(style.get(f"{W}val", ""))) is not None
