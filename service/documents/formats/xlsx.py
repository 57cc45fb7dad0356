"""Spreadsheets of Office Open XML: texts of cells and comments, with their formatting.

Formulas, their results, numbers and styles stay. So do texts that are names of columns of tables or pivot tables: a
program finds those by their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from lxml import etree

from service.documents.formats.office import OFFICE, OfficeDocument
from service.documents.runs import SPACE, Dialect, Element
from service.documents.untrusted import Package

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHEET = f"{OFFICE}spreadsheetml."
BREAK = f"{S}break"  # a line end in a text while it is translated
HOLDERS = (f"{S}si", f"{S}is", f"{S}text")  # a shared string, an inline string, the text of a comment
NAMES = frozenset({f"{S}tableColumn", f"{S}cacheField"})
INLINE = re.compile(rb"<(?:\w+:)?is[\s>]")
XLSX = Dialect(
    main=f"{SHEET}sheet.main+xml",
    parts=tuple(f"{SHEET}{kind}+xml" for kind in ("sharedstrings", "comments", "worksheet")),
    paragraph="holder",
    run=f"{S}r",
    properties=f"{S}rPr",
    text=f"{S}t",
    characters={},
    dividers=frozenset({BREAK}),
    containers={},
    dropped=frozenset({f"{S}rPh", f"{S}phoneticPr"}),  # how Japanese is read
    skipped=frozenset(),
    ignored=frozenset({f"{S}family", f"{S}charset", f"{S}scheme"}),
)


class SpreadsheetDocument(OfficeDocument):
    """The strings of a workbook; a line of a string is a segment."""

    def _read_parts(self, types: Mapping[str, str]) -> dict[str, Element]:
        """Return the parts with texts; a sheet is one only if texts are in its cells and not in the shared strings."""
        package = self._package
        self._names = _names(package, types)
        sheet = f"{SHEET}worksheet+xml"
        parts = {
            name: package.parse(name, "A part of the workbook")
            for name in package.contents
            if types.get(name) in XLSX.parts and (types[name] != sheet or INLINE.search(package.contents[name]))
        }
        for root in parts.values():
            for holder in root.iter(*HOLDERS):
                if not self._is_name(holder):
                    _open(holder)
        return parts

    def _paragraphs(self, root: Element) -> Iterable[Element]:
        return [holder for holder in root.iter(*HOLDERS) if not self._is_name(holder)]

    def _is_name(self, holder: Element) -> bool:
        return "".join(text.text or "" for text in holder.iter(f"{S}t")).strip() in self._names

    def _finish(self, root: Element) -> None:
        for holder in root.iter(*HOLDERS):
            _close(holder)


read = partial(SpreadsheetDocument, dialect=XLSX)


def _names(package: Package, types: Mapping[str, str]) -> set[str]:
    kinds = {f"{SHEET}table+xml", f"{SHEET}pivotcachedefinition+xml"}
    return {
        str(element.get("name", "")).replace("_x000a_", "\n").strip()
        for name in package.contents
        if types.get(name) in kinds
        for element in package.parse(name, "A table of the workbook").iter(*NAMES)
    }


def _open(holder: Element) -> None:
    """Write a string as runs, and its line ends as elements."""
    for text in list(holder.iterchildren(f"{S}t")):
        run = etree.Element(f"{S}r")
        text.addprevious(run)
        run.append(text)
    for text in list(holder.iter(f"{S}t")):
        first, *others = (text.text or "").split("\n")
        text.text, last = first, text
        for line in others:
            new = etree.Element(f"{S}t")
            new.text = line
            last.addnext(etree.Element(BREAK))
            following = last.getnext()
            assert following is not None
            following.addnext(new)
            last = new


def _close(holder: Element) -> None:
    """Write line ends as characters again, join runs that look the same, and write a single plain one as text."""
    for mark in list(holder.iter(BREAK)):
        mark.tag, mark.text = f"{S}t", "\n"
    runs = list(holder.iterchildren(f"{S}r"))
    kept: list[Element] = []
    for run in runs:
        content = "".join(text.text or "" for text in run.iterchildren(f"{S}t"))
        if kept and _look(kept[-1]) == _look(run):
            content = (kept[-1].findtext(f"{S}t") or "") + content
            holder.remove(run)
        else:
            kept.append(run)
        _set_text(kept[-1], content)
    if len(kept) == 1 and not _look(kept[0]):
        text = kept[0].find(f"{S}t")
        assert text is not None
        kept[0].addprevious(text)
        holder.remove(kept[0])


def _look(run: Element) -> bytes:
    properties = run.find(f"{S}rPr")
    return b"" if properties is None else etree.tostring(properties, method="c14n")


def _set_text(run: Element, content: str) -> None:
    for text in list(run.iterchildren(f"{S}t")):
        run.remove(text)
    text = etree.SubElement(run, f"{S}t")
    text.text = content
    if content != content.strip():
        text.set(SPACE, "preserve")
