"""Spreadsheets of Office Open XML: texts of cells and comments, with their formatting, headers and footers of sheets.

Formulas, their results, numbers and styles stay. So do texts that are names of columns of tables or pivot tables, and
those that a formula, a list of allowed values or a filter compares: a program finds those by their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from xml.sax.saxutils import unescape

from lxml import etree

from service.documents.errors import DocumentTooLarge
from service.documents.formats.office import GRAPHICS, OFFICE, OfficeDocument
from service.documents.formats.office_dialects import DRAWING
from service.documents.fragments import has_words
from service.documents.runs import SPACE, Dialect
from service.documents.tree import Element, LoneText, Paragraph
from service.documents.untrusted import Package

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SHEET = f"{OFFICE}spreadsheetml."
LONGEST = 100_000  # characters of a cell; Excel itself takes 32,767
BREAK = f"{S}break"  # a line end in a text while it is translated
HOLDERS = (f"{S}si", f"{S}is", f"{S}text")  # a shared string, an inline string, the text of a comment
HEADERS = tuple(f"{S}{pages}{place}" for pages in ("odd", "even", "first") for place in ("Header", "Footer"))
HEADER = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)[\s>]")
# In the text of a header: where it stands and how it looks, or a value such as the number of the page.
CODE = re.compile(r'(&(?:"[^"]*"|[0-9]+|K[0-9A-Fa-f]{6}|K[0-9]{2}[+-][0-9]{3}|[^&]))')
VALUES = frozenset(f"&{letter}" for letter in "PNDTFAZG")
FIELD = f"{S}field"  # such a value, while the header is translated
NAMES = frozenset({f"{S}tableColumn", f"{S}cacheField"})
FORMULA = re.compile(rb"<(?:\w{1,20}:)?(?:f|formula|formula1|formula2)(?:\s[^<>]*)?>([^<]*)<")
LITERAL = re.compile(r'"([^"]*)"')
FILTER = re.compile(rb"""<(?:\w{1,20}:)?(?:filter|customFilter)\s[^<>]{0,200}?\bval="([^"<>]*)\"""")
AMPERSAND = "\ue000"  # the sign in a header, while it is cut into codes
MOST_KEPT = 100  # texts that are named
INLINE = re.compile(rb"<(?:\w+:)?is[\s>]")
STRINGS = Dialect(
    paragraph="",  # see HOLDERS
    run=f"{S}r",
    properties=f"{S}rPr",
    text=f"{S}t",
    dividers=frozenset({BREAK}),
    dropped=frozenset({f"{S}rPh", f"{S}phoneticPr"}),  # how Japanese is read
    ignored=frozenset({f"{S}family", f"{S}charset", f"{S}scheme"}),
)
STRING_PARTS = (f"{SHEET}{kind}+xml" for kind in ("sharedstrings", "comments", "worksheet"))
XLSX = {**dict.fromkeys(STRING_PARTS, STRINGS), **GRAPHICS, f"{OFFICE}drawing+xml": DRAWING}


class SpreadsheetDocument(OfficeDocument):
    """The strings of a workbook; a line of a string is a segment."""

    def _named(self, package: Package, types: Mapping[str, str]) -> Iterable[str]:
        """Return the parts with texts; a sheet is one only if it has a header, or texts in the cells themselves."""
        self._names = _names(package, types) | _compared(package, types)
        self._kept: dict[str, None] = {}
        sheet = f"{SHEET}worksheet+xml"
        found = super()._named(package, types)
        return [name for name in found if types[name] != sheet or _has_texts(package.contents[name])]

    @property
    def kept(self) -> Sequence[str]:
        """Return the texts of cells that stay as they are because something finds them by their words."""
        return [*self._kept][:MOST_KEPT]

    def _texts(self, name: str, root: Element) -> Iterator[Paragraph | LoneText]:
        if self._runs[name].dialect is DRAWING:
            values = super()._texts(name, root)
            yield from (each for each in values if isinstance(each, Paragraph) or each.text not in self._names)
        for holder in list(root.iter(*HOLDERS)):
            text = "".join(text.text or "" for text in holder.iter(f"{S}t")).strip()
            if text not in self._names:
                _open(holder)
                yield Paragraph.of(holder, self._runs[name])
            elif has_words(text):
                self._kept[text] = None
        for header in root.iter(*HEADERS):
            _open_header(header)
            yield Paragraph.of(header, self._runs[name])

    def _finish_part(self, root: Element) -> None:
        for holder in root.iter(*HOLDERS):
            _close(holder)
        for header in root.iter(*HEADERS):
            _close_header(header)


read = partial(SpreadsheetDocument, main=f"{SHEET}sheet.main+xml", dialects=XLSX)


def _has_texts(sheet: bytes) -> bool:
    return bool(INLINE.search(sheet) or HEADER.search(sheet))


def _names(package: Package, types: Mapping[str, str]) -> set[str]:
    kinds = {f"{SHEET}table+xml", f"{SHEET}pivotcachedefinition+xml"}
    return {
        str(element.get("name", "")).replace("_x000a_", "\n").strip()
        for name in package.contents
        if types.get(name) in kinds
        for element in package.parse(name, "A table of the workbook").iter(*NAMES)
    }


def _compared(package: Package, types: Mapping[str, str]) -> set[str]:
    """Return the texts that a formula, a list of allowed values or a filter compares with those of cells."""
    found: set[str] = set()
    for name in package.contents:
        if types.get(name) == f"{SHEET}worksheet+xml":
            content = package.contents[name]
            for formula in FORMULA.finditer(content):
                for literal in LITERAL.findall(unescape(formula[1].decode("utf-8", "replace"), {"&quot;": '"'})):
                    found |= {literal.strip(), *(each.strip() for each in literal.split(","))}
            found |= {unescape(each[1].decode("utf-8", "replace")).strip() for each in FILTER.finditer(content)}
    return found


def _open(holder: Element) -> None:
    """Write a string as runs, and its line ends as elements; lines without words belong to the line ends."""
    for text in list(holder.iterchildren(f"{S}t")):
        run = etree.Element(f"{S}r")
        text.addprevious(run)
        run.append(text)
    for text in list(holder.iter(f"{S}t")):
        characters = len(text.text or "")
        if characters > LONGEST:
            raise DocumentTooLarge(
                f"A cell has {characters} characters; the most are {LONGEST}. Split it into several."
            )
        first, *others = (text.text or "").split("\n")
        text.text, last = first, text
        ends = ["\n"]
        for number, line in enumerate(others, 1):
            if number < len(others) and not any(map(str.isalpha, line)):
                ends += [line, "\n"]
                continue
            for tag, content in ((BREAK, "".join(ends)), (f"{S}t", line)):
                new = etree.Element(tag)
                new.text = content
                last.addnext(new)
                last = new
            ends = ["\n"]


def _close(holder: Element) -> None:
    """Write line ends as characters again, join runs that look the same, and write a single plain one as text."""
    for mark in list(holder.iter(BREAK)):
        mark.tag = f"{S}t"
    alike = [(look, [*runs]) for look, runs in groupby(list(holder.iterchildren(f"{S}r")), _look)]
    for _, (kept, *others) in alike:
        text = "".join(text.text or "" for run in (kept, *others) for text in run.iterchildren(f"{S}t"))
        for run in others:
            holder.remove(run)
        _set_text(kept, text)
    if len(alike) == 1 and not alike[0][0]:
        [only, *_] = alike[0][1]
        only.addprevious(*only.iterchildren(f"{S}t"))
        holder.remove(only)


def _open_header(header: Element) -> None:
    """Write a header as runs, values and breaks; && is the sign itself."""
    parts = CODE.split((header.text or "").replace("&&", AMPERSAND))
    header.text = None
    for number, part in enumerate(parts):
        if number % 2 and part not in VALUES:
            etree.SubElement(header, BREAK).text = part
        elif part:
            run = etree.SubElement(header, f"{S}r")
            etree.SubElement(run, FIELD if number % 2 else f"{S}t").text = part.replace(AMPERSAND, "&")


def _close_header(header: Element) -> None:
    """Write a header as one text again; a digit does not touch the code before it, which may be a size."""
    text = ""
    for part in list(header.iter(BREAK, FIELD, f"{S}t")):
        content = part.text or ""
        if part.tag == f"{S}t":
            content = content.replace("&", "&&")
            content = f" {content}" if text[-1:].isdigit() and content[:1].isdigit() else content
        text += content
    for child in list(header):
        header.remove(child)
    header.text = text


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
