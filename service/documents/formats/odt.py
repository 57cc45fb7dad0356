"""OpenDocument: texts, spreadsheets and presentations, with tables, frames, notes, headers and footers.

Numbers and results of formulas in spreadsheets stay, deleted text and comments of tracked changes, and paragraphs and
words in a style of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from lxml import etree

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions, limited
from service.documents.fragments import MARK
from service.documents.mixed import TEXT, Paragraph, Role, Segment, join
from service.documents.untrusted import Package, check_markup, unpack, xml_bytes

Element = etree._Element
NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
OFFICE, STYLE, DRAW, TABLE, SCRIPT = (
    f"{{{NAMES}{name}:1.0}}" for name in ("office", "style", "drawing", "table", "script")
)
HREF = "{http://www.w3.org/1999/xlink}href"
OWN = "{http://openoffice.org/2009/office}"  # LibreOffice's own attributes, such as the ids of editing sessions
MEDIA_TYPE = b"application/vnd.oasis.opendocument."
CELLS = frozenset({f"{TABLE}table-cell", f"{TABLE}covered-table-cell"})
VALUE, STRING = f"{OFFICE}value-type", f"{OFFICE}string-value"
PLAIN = "plain"  # the tag of a span that looks like the text around it
PARTS = ("content.xml", "styles.xml")
CODE_STYLE = re.compile(r"^(?:Preformatted|Source)|code|verbatim", re.IGNORECASE)
RAISED = re.compile(r"super|[1-9]\d{0,2}(?:\.\d+)?%")
LOADED = frozenset(
    {f"{TEXT}section-source", f"{DRAW}object", f"{DRAW}floating-frame", f"{DRAW}plugin", f"{DRAW}applet"}
)
REMOTE = re.compile(r"\A\s*+(?:[a-z][a-z0-9+.-]*:|//|\.\./\.\./)", re.IGNORECASE)


def _read(data: bytes, options: ReadOptions, kind: str) -> OdtDocument:
    """Return a document of a kind; raise DocumentError."""
    package = unpack(data, options.limits)
    contents = package.contents
    if contents.get("mimetype", b"").strip() != MEDIA_TYPE + kind.encode() or "content.xml" not in contents:
        raise BrokenDocument(f"The document is not an OpenDocument {kind}; save it again as one.")
    if any(name.startswith(("Basic/", "Scripts/")) for name in contents):
        raise UnsafeDocument("The document contains macros, which are refused; save it without them.")
    if "META-INF/documentsignatures.xml" in contents:
        raise UnsafeDocument("The document is signed, and a translation would break its signature.")
    if b"encryption-data" in contents.get("META-INF/manifest.xml", b""):
        raise UnsafeDocument("The document is encrypted; save it without a password.")
    check_markup(package)
    roots = {name: package.parse(name, "A part of the document") for name in PARTS if name in contents}
    for root in roots.values():
        _check_loaded(root)
    return OdtDocument(package, roots, options)


read, read_ods, read_odp = (partial(_read, kind=kind) for kind in ("text", "spreadsheet", "presentation"))


class OdtDocument:
    """The two parts of a document that hold its text."""

    def __init__(self, package: Package, roots: dict[str, Element], options: ReadOptions) -> None:
        self._package = package
        self._roots = roots
        self._paragraphs: list[tuple[str, Paragraph]] = []
        self._found: list[Segment] = []
        self.segments: Sequence[str] = [*limited(self._read(), options.limits)]

    def _read(self) -> Iterator[str]:
        """Collect the segments of the paragraphs, and yield their fragments."""
        for name, root in self._roots.items():
            styles = Styles(root)
            simplified: set[Element] = set()  # with the paragraphs in them
            for holder in list(root.iter(f"{TEXT}p", f"{TEXT}h")):
                if (len(holder) or holder.text) and not _is_left_alone(holder) and not styles.is_code(holder):
                    if not any(around in simplified for around in holder.iterancestors()):
                        styles.simplify(holder)
                        simplified.add(holder)
                    self._paragraphs.append((name, Paragraph.of(holder, styles.role)))
                    for segment in self._paragraphs[-1][1].segments():
                        self._found.append(segment)
                        yield segment.fragment

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document; all files without text keep their bytes."""
        for segment, translation in zip(self._found, translations, strict=True):
            segment.translation = None if translation == segment.fragment else translation
        changed = set()
        for name, paragraph in self._paragraphs:
            if paragraph.write():
                changed.add(name)
                cell = next(paragraph.holder.iterancestors(*CELLS), None)
                if cell is not None:  # its text once more, which is optional
                    cell.attrib.pop(STRING, None)
        return self._package.packed({name: xml_bytes(self._roots[name]) for name in changed})


class Styles:
    """The automatic styles of a part: what they look like, and what they are called after."""

    def __init__(self, root: Element) -> None:
        looks = {"": 0}  # each has a number, because some are long
        self._looks: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._raised: set[str] = set()  # those in superscript
        for style in root.iter(f"{STYLE}style"):
            name = str(style.get(f"{STYLE}name", ""))
            self._parents[name] = str(style.get(f"{STYLE}parent-style-name", ""))
            position = style.find(f"{STYLE}text-properties[@{STYLE}text-position]")
            if position is not None and RAISED.match(str(position.get(f"{STYLE}text-position"))):
                self._raised.add(name)
            if style.get(f"{STYLE}family") == "text":
                self._looks[name] = looks.setdefault(self._parents[name] + _look(style), len(looks))

    def is_code(self, element: Element) -> bool:
        """Return whether an element has a style of code, itself or by its parent."""
        name = str(element.get(f"{TEXT}style-name", ""))
        return any(CODE_STYLE.search(each) for each in (name, self._parents.get(name, "")))

    def role(self, element: Element) -> Role:
        """Return what an element in a paragraph means."""
        if element.tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            return "divider"
        if element.tag in (f"{TEXT}span", f"{TEXT}a", f"{TEXT}meta"):
            if self._name(element) in self._raised and not len(element) and MARK.fullmatch(element.text or ""):
                return "point"
            return "kept" if self.is_code(element) and not len(element) else "span"
        return "point"

    def simplify(self, paragraph: Element) -> None:
        """Join neighbouring spans that look the same, which LibreOffice makes for each editing session."""
        for span in list(paragraph.iter(f"{TEXT}span")):
            if self._looks.get(self._name(span)) == 0:
                span.tag = PLAIN
        etree.strip_tags(paragraph, PLAIN, f"{TEXT}soft-page-break")
        for span in list(paragraph.iter(f"{TEXT}span")):
            alike = [span]
            following = span.getnext()
            while following is not None and not alike[-1].tail and self._same(span, following):
                alike.append(following)
                following = following.getnext()
            join(alike)

    def _name(self, span: Element) -> str:
        return str(span.get(f"{TEXT}style-name", ""))

    def _same(self, span: Element, other: Element) -> bool:
        if other.tag != span.tag or {*span.attrib} != {f"{TEXT}style-name"} or {*other.attrib} != {*span.attrib}:
            return False
        one, two = self._name(span), self._name(other)
        return one == two or (one in self._looks and self._looks[one] == self._looks.get(two))


def _look(style: Element) -> str:
    """Return the properties of a style that can be seen."""
    shown = [
        f"{name}={value}"
        for properties in style
        for name, value in sorted(properties.attrib.items())
        if not str(name).startswith(OWN)
    ]
    return "\n".join(shown)


def _is_left_alone(paragraph: Element) -> bool:
    cell = next(paragraph.iterancestors(*CELLS), None)
    if cell is not None and (f"{TABLE}formula" in cell.attrib or cell.get(VALUE, "string") != "string"):
        return True
    return any(
        ancestor.tag in (f"{TEXT}tracked-changes", f"{OFFICE}annotation", f"{OFFICE}font-face-decls")
        for ancestor in paragraph.iterancestors()
    )


def _check_loaded(root: Element) -> None:
    for element in root.iter(*LOADED):
        if REMOTE.match(str(element.get(HREF, ""))):
            raise UnsafeDocument("The document would load a section or an object from elsewhere; remove that link.")
    for _element in root.iter(f"{OFFICE}script", f"{SCRIPT}event-listener"):
        raise UnsafeDocument("The document contains scripts, which are refused; save it without them.")
