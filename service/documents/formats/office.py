"""Office Open XML: Word documents and presentations.

Of Word: body, tables, text boxes, charts, headers, footers, footnotes and endnotes. Tracked insertions are translated
and stay insertions; deletions and comments stay as they are. Code is not translated. Of PowerPoint: slides, tables,
charts, diagrams, and speaker notes; masters and comments stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from lxml import etree

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.formats.office_dialects import DRAWING, WORDS, alternatives, names_in_charts
from service.documents.runs import Dialect, Runs, mend_ranges
from service.documents.tree import Element, LoneText, Paragraph, TreeDocument
from service.documents.untrusted import Package, check_markup, parse_xml, unpack

CONTENT_TYPES = "[Content_Types].xml"
ACTIVE_TYPES = ("macroenabled", "vbaproject", "activex")
ACTIVE_FILES = re.compile(r"vbaProject\.bin$|/activeX/|vbaData\.xml$", re.IGNORECASE)
OFFICE = "application/vnd.openxmlformats-officedocument."
WORD = f"{OFFICE}wordprocessingml."
PRESENTATION = f"{OFFICE}presentationml."
GRAPHICS = dict.fromkeys(
    (
        f"{OFFICE}drawingml.chart+xml",
        f"{OFFICE}drawingml.diagramdata+xml",
        "application/vnd.ms-office.drawingml.diagramdrawing+xml",
    ),
    DRAWING,
)
WORD_PARTS = (f"{WORD}{kind}+xml" for kind in ("document.main", "header", "footer", "footnotes", "endnotes"))
DOCX = {**dict.fromkeys(WORD_PARTS, WORDS), **GRAPHICS}
PPTX = {f"{PRESENTATION}slide+xml": DRAWING, f"{PRESENTATION}notesslide+xml": DRAWING, **GRAPHICS}


class OfficeDocument(TreeDocument):
    """A document whose parts are of these content types, each with its dialect; `main` is that of its main part."""

    def __init__(self, data: bytes, options: ReadOptions, main: str, dialects: Mapping[str, Dialect]) -> None:
        package = unpack(data, options.limits)
        contents = package.contents
        self._options = options
        types = _content_types(contents)
        _check_active(contents)
        check_markup(package)
        if main not in types.values():
            raise BrokenDocument("The document is not of the kind that its name says; save it again.")
        self._runs = {name: Runs(dialects[kind]) for name, kind in types.items() if kind in dialects}
        parts = {name: package.parse(name, "A part of the document") for name in self._named(package, types)}
        for name, root in parts.items():
            etree.strip_elements(root, *self._runs[name].dialect.dropped, with_tail=False)
        super().__init__(package, parts, options.limits)

    def _named(self, package: Package, _types: Mapping[str, str]) -> Iterable[str]:
        """Return the names of the parts with texts."""
        return [name for name in package.contents if name in self._runs]

    def _texts(self, name: str, root: Element) -> Iterator[Paragraph | LoneText]:
        runs = self._runs[name]
        for paragraph in list(root.iter(runs.dialect.paragraph)):
            if not runs.dialect.is_code(paragraph):
                yield Paragraph.of(paragraph, runs)
        yield from names_in_charts(root)
        yield from alternatives(root) if self._options.metadata else ()

    def _finish(self, text: Paragraph | LoneText) -> None:
        mend_ranges(text.element)


read_docx = partial(OfficeDocument, main=f"{WORD}document.main+xml", dialects=DOCX)
read_pptx = partial(OfficeDocument, main=f"{PRESENTATION}presentation.main+xml", dialects=PPTX)


def _content_types(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the content type of each part that is named with its own."""
    if CONTENT_TYPES not in contents:
        raise BrokenDocument("The document is not an Office document: it has no list of content types.")
    root = parse_xml(contents[CONTENT_TYPES], "The list of content types")
    return {
        str(child.get("PartName", "")).lstrip("/"): str(child.get("ContentType", "")).lower()
        for child in root
        if isinstance(child.tag, str) and child.tag.endswith("}Override")
    }


def _check_active(contents: Mapping[str, bytes]) -> None:
    kinds = contents[CONTENT_TYPES].decode("utf-8", "replace").lower()
    if any(word in kinds for word in ACTIVE_TYPES) or any(ACTIVE_FILES.search(name) for name in contents):
        raise UnsafeDocument("The document contains macros or controls, which are refused; save it without them.")
    if any(name.startswith("_xmlsignatures/") for name in contents):
        raise UnsafeDocument(
            "The document is signed, and a translation would break its signature; send an unsigned copy."
        )
