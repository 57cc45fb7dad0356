"""OpenDocument: texts, spreadsheets and presentations, with tables, frames, notes, headers and footers.

Numbers and results of formulas in spreadsheets stay, deleted text and comments of tracked changes, and paragraphs and
words in a style of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.styles import NAMES, TEXT, Styles
from service.documents.tree import Element, LoneText, Paragraph, TreeDocument
from service.documents.untrusted import Package, check_markup, unpack

OFFICE, DRAW, TABLE, SCRIPT, SVG = (
    f"{{{NAMES}{name}:1.0}}" for name in ("office", "drawing", "table", "script", "svg-compatible")
)
HREF = "{http://www.w3.org/1999/xlink}href"
MEDIA_TYPE = b"application/vnd.oasis.opendocument."
CELLS = frozenset({f"{TABLE}table-cell", f"{TABLE}covered-table-cell"})
VALUE, STRING = f"{OFFICE}value-type", f"{OFFICE}string-value"
PARTS = ("content.xml", "styles.xml")
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


class OdtDocument(TreeDocument):
    """The two parts of a document that hold its text."""

    def __init__(self, package: Package, roots: dict[str, Element], options: ReadOptions) -> None:
        self._metadata = options.metadata
        super().__init__(package, roots, options.limits)

    def _texts(self, _name: str, root: Element) -> Iterator[Paragraph | LoneText]:
        styles = Styles(root)
        for holder in list(root.iter(f"{TEXT}p", f"{TEXT}h")):
            if (len(holder) or holder.text) and not _is_left_alone(holder) and not styles.is_code(holder):
                yield Paragraph.of(holder, styles)
        yield from map(LoneText, root.iter(f"{SVG}title", f"{SVG}desc") if self._metadata else ())

    def _finish(self, text: Paragraph | LoneText) -> None:
        cell = next(text.element.iterancestors(*CELLS), None)
        if cell is not None:  # its text once more, which is optional
            cell.attrib.pop(STRING, None)


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
