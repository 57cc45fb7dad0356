"""Presentations: slides, tables, charts' titles, diagrams, and speaker notes; masters and comments stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from service.documents.format import ReadOptions
from service.documents.ooxml import open_office, parts_of
from service.documents.package import Package
from service.documents.runs import Dialect, Segment, segments_of
from service.documents.safe_xml import xml_bytes

Element = etree._Element
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
OFFICE = "application/vnd.openxmlformats-officedocument."
MAIN = f"{OFFICE}presentationml.presentation.main+xml"
KINDS = (
    f"{OFFICE}presentationml.slide+xml",
    f"{OFFICE}presentationml.notesslide+xml",
    f"{OFFICE}drawingml.chart+xml",
    f"{OFFICE}drawingml.diagramdata+xml",
    "application/vnd.ms-office.drawingml.diagramdrawing+xml",
)
DIALECT = Dialect(
    run=f"{A}r",
    properties=f"{A}rPr",
    text=f"{A}t",
    characters={},
    dividers=frozenset({f"{A}br"}),
    containers={},
    dropped=frozenset(),
    skipped=frozenset({f"{A}pPr", f"{A}endParaRPr"}),
    ignored=frozenset({"lang", "altLang", "dirty", "err", "noProof", "smtClean", "bmk"}),
)


def read(data: bytes, options: ReadOptions) -> PptxDocument:
    """Return a presentation; raise DocumentError."""
    package, types = open_office(data, options.limits, MAIN)
    return PptxDocument(package, parts_of(package.contents, types, KINDS))


class PptxDocument:
    """The parts of a presentation that hold its text."""

    def __init__(self, package: Package, parts: dict[str, Element]) -> None:
        self._package = package
        self._parts = parts
        self._found: list[tuple[str, Segment]] = [
            (name, segment)
            for name, root in parts.items()
            for paragraph in list(root.iter(f"{A}p"))
            for segment in segments_of(paragraph, DIALECT)
        ]
        self.segments: Sequence[str] = [segment.fragment for _, segment in self._found]

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the presentation; all parts without text keep their bytes."""
        changed = set()
        for (name, segment), translation in zip(self._found, translations, strict=True):
            if translation != segment.fragment:
                segment.write(translation)
                changed.add(name)
        return self._package.packed({name: xml_bytes(self._parts[name]) for name in changed})
