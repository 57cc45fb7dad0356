"""Office Open XML: Word documents and presentations.

Of Word: body, tables, text boxes, headers, footers, footnotes and endnotes. Tracked insertions are translated and stay
insertions; deletions and comments stay as they are. Code is not translated. Of PowerPoint: slides, tables, charts'
titles, diagrams, and speaker notes; masters and comments stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from lxml import etree

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.runs import Dialect, Runs, mend_ranges
from service.documents.tree import Element, Paragraph, TreeDocument, Value
from service.documents.untrusted import Package, check_markup, parse_xml, unpack

CONTENT_TYPES = "[Content_Types].xml"
ACTIVE_TYPES = ("macroenabled", "vbaproject", "activex")
ACTIVE_FILES = re.compile(r"vbaProject\.bin$|/activeX/|vbaData\.xml$", re.IGNORECASE)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
OFFICE = "application/vnd.openxmlformats-officedocument."
WORD = f"{OFFICE}wordprocessingml."
CODE_STYLE = re.compile(r"^(?:source|html|inline)?[ _-]?code|verbatim|preformatted|^plaintext", re.IGNORECASE)


def _w(*names: str) -> frozenset[str]:
    return frozenset(W + name for name in names)


def _is_code(element: Element) -> bool:
    """Return whether a run or a paragraph has a style of code."""
    styles = (element.find(f"{W}{kind}Pr/{W}{kind}Style") for kind in "rp")
    return any(style is not None and CODE_STYLE.search(str(style.get(f"{W}val", ""))) for style in styles)


def _is_raised(run: Element) -> bool:
    """Return whether a run of a Word document is in superscript."""
    position = run.find(f"{W}rPr/{W}vertAlign")
    return position is not None and position.get(f"{W}val") == "superscript"


def _is_raised_on_slide(run: Element) -> bool:
    """Return whether a run of a slide stands above its line: its baseline is a percentage such as 30000 or 30%."""
    properties = run.find(f"{A}rPr")
    return properties is not None and str(properties.get("baseline", "0")).strip("0%")[:1].isdigit()


WORDS = Dialect(
    paragraph=f"{W}p",
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
    stays=_w("pPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"),
    ignored=_w("lang", "noProof", "rPrChange"),
    field=f"{W}fldChar",
    instruction=f"{W}instrText",
    is_code=_is_code,
    is_raised=_is_raised,
)
DRAWING = Dialect(
    paragraph=f"{A}p",
    run=f"{A}r",
    properties=f"{A}rPr",
    text=f"{A}t",
    dividers=frozenset({f"{A}br", f"{A}endParaRPr"}),
    stays=frozenset({f"{A}pPr"}),
    ignored=frozenset({"lang", "altLang", "dirty", "err", "noProof", "smtClean", "bmk"}),
    is_raised=_is_raised_on_slide,
)
PRESENTATION = f"{OFFICE}presentationml."
GRAPHICS = (
    f"{OFFICE}drawingml.chart+xml",
    f"{OFFICE}drawingml.diagramdata+xml",
    "application/vnd.ms-office.drawingml.diagramdrawing+xml",
)
DOCX = dict.fromkeys(
    (f"{WORD}{kind}+xml" for kind in ("document.main", "header", "footer", "footnotes", "endnotes")), WORDS
)
PPTX = dict.fromkeys((f"{PRESENTATION}slide+xml", f"{PRESENTATION}notesslide+xml", *GRAPHICS), DRAWING)


class OfficeDocument(TreeDocument):
    """A document whose parts are of these content types, each with its dialect; `main` is that of its main part."""

    def __init__(self, data: bytes, options: ReadOptions, main: str, dialects: Mapping[str, Dialect]) -> None:
        package = unpack(data, options.limits)
        contents = package.contents
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

    def _texts(self, name: str, root: Element) -> Iterator[Paragraph | Value]:
        runs = self._runs[name]
        for paragraph in list(root.iter(runs.dialect.paragraph)):
            if not runs.dialect.is_code(paragraph):
                yield Paragraph.of(paragraph, runs)

    def _finish(self, text: Paragraph | Value) -> None:
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
