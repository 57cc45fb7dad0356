"""Office Open XML: Word documents and presentations.

Of Word: body, tables, text boxes, headers, footers, footnotes and endnotes. Tracked insertions are translated and stay
insertions; deletions and comments stay as they are. Code is not translated. Of PowerPoint: slides, tables, charts'
titles, diagrams, and speaker notes; masters and comments stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from lxml import etree

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions, limited
from service.documents.paragraphs import ParagraphReader
from service.documents.runs import Dialect, Segment
from service.documents.untrusted import check_markup, parse_xml, unpack, xml_bytes

Element = etree._Element
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


DOCX = Dialect(
    main=f"{WORD}document.main+xml",
    parts=tuple(f"{WORD}{kind}+xml" for kind in ("document.main", "header", "footer", "footnotes", "endnotes")),
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
    skipped=_w("pPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"),
    ignored=_w("lang", "noProof", "rPrChange"),
    field=f"{W}fldChar",
    instruction=f"{W}instrText",
    is_code=_is_code,
    is_raised=_is_raised,
)
PPTX = Dialect(
    main=f"{OFFICE}presentationml.presentation.main+xml",
    parts=(
        f"{OFFICE}presentationml.slide+xml",
        f"{OFFICE}presentationml.notesslide+xml",
        f"{OFFICE}drawingml.chart+xml",
        f"{OFFICE}drawingml.diagramdata+xml",
        "application/vnd.ms-office.drawingml.diagramdrawing+xml",
    ),
    paragraph=f"{A}p",
    run=f"{A}r",
    properties=f"{A}rPr",
    text=f"{A}t",
    characters={},
    dividers=frozenset({f"{A}br"}),
    containers={},
    dropped=frozenset(),
    skipped=frozenset({f"{A}pPr", f"{A}endParaRPr"}),
    ignored=frozenset({"lang", "altLang", "dirty", "err", "noProof", "smtClean", "bmk"}),
    is_raised=_is_raised_on_slide,
)


class OfficeDocument:
    """The parts of a document that hold its text."""

    def __init__(self, data: bytes, options: ReadOptions, dialect: Dialect) -> None:
        self._package = unpack(data, options.limits)
        contents = self._package.contents
        types = _content_types(contents)
        _check_active(contents)
        check_markup(self._package)
        if dialect.main not in types.values():
            raise BrokenDocument("The document is not of the kind that its name says; save it again.")
        self._dialect = dialect
        self._parts = self._read_parts(types)
        for root in self._parts.values():
            etree.strip_elements(root, *dialect.dropped, with_tail=False)
        self._found: list[tuple[str, Segment]] = []
        self.segments: Sequence[str] = [*limited(self._read(), options.limits)]

    def _read(self) -> Iterator[str]:
        """Collect the segments of the parts, and yield their fragments."""
        reader = ParagraphReader(self._dialect)
        for name, root in self._parts.items():
            for paragraph in self._paragraphs(root):
                for segment in () if self._dialect.is_code(paragraph) else reader.segments_of(paragraph):
                    self._found.append((name, segment))
                    yield segment.fragment

    def _read_parts(self, types: Mapping[str, str]) -> dict[str, Element]:
        return {
            name: self._package.parse(name, "A part of the document")
            for name in self._package.contents
            if types.get(name) in self._dialect.parts
        }

    def _paragraphs(self, root: Element) -> Iterable[Element]:
        return list(root.iter(self._dialect.paragraph))

    def _finish(self, root: Element) -> None:
        """Change a part once more before it is written."""

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document; all parts without text keep their bytes."""
        changed = set()
        for (name, segment), translation in zip(self._found, translations, strict=True):
            if translation != segment.fragment:
                segment.write(translation)
                changed.add(name)
        for name in changed:
            self._finish(self._parts[name])
        return self._package.packed({name: xml_bytes(self._parts[name]) for name in changed})


read_docx, read_pptx = partial(OfficeDocument, dialect=DOCX), partial(OfficeDocument, dialect=PPTX)


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
