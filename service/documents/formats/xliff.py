"""XLIFF 1.2 and 2.x: empty targets are filled; approved, final and untranslatable units stay as they are.

Every byte stays but those of the targets, their states and the target language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from lxml import etree

from service.documents.encodings import decode
from service.documents.errors import BrokenDocument
from service.documents.format import ReadOptions, check_target
from service.documents.formats.xml_messages import KEPT, PLAIN, declared_encoding
from service.documents.messages import Edit, Line, MessagesDocument, Place, parts_of
from service.documents.untrusted import Element, parse_xml
from service.documents.xml_source import NO_TEXT, Range, ranges_of, with_attribute, without_cdata

FIRST = "urn:oasis:names:tc:xliff:document:1.2"
SECOND = re.compile(r"urn:oasis:names:tc:xliff:document:2\.\d")
DONE = frozenset({"reviewed", "final"})  # states of a segment in XLIFF 2
PROTECTED = r"""<(?:\w+:)?mrk\b(?>[^<>]*?(?:mtype|translate)\s*=\s*["'](?:protected|no)\b[^<>]*)(?<!/)>[^<]*</[^<>]*>"""
CODE = rf"<((?:\w+:)?(?:bpt|ept|ph|it))\b[^<>]*+(?<!/)>[\s\S]*?(?:</\1\s*>|\Z)|{NO_TEXT}"
NOTATION = replace(
    PLAIN,
    tag=re.compile(rf"(?!{PROTECTED})(?:{CODE}|</?\w(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+>)"),
    kept=re.compile(f"{PROTECTED}|{KEPT.pattern}"),
    divider=re.compile("(?!)"),
)


IN_LINES = replace(NOTATION, divider=re.compile(r"(?<!\s)[^\S\n\t]*+[\n\t]\s*+"))  # of xml:space="preserve"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def read(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a file of either version; raise DocumentError."""
    root = parse_xml(data, "The document")
    name = etree.QName(root)
    if name.localname != "xliff" or not (name.namespace == FIRST or SECOND.fullmatch(name.namespace or "")):
        raise BrokenDocument("The document is not XLIFF 1.2 or 2.")
    is_first = name.namespace == FIRST
    attribute = "target-language" if is_first else "trgLang"
    languages = [*root.iter(f"{{{FIRST}}}file")] if is_first else [root]
    for element in languages:
        check_target(element.get(attribute), options.target)
    text, encoding = decode(data, declared_encoding(data))
    ranges = ranges_of(text, root)
    edits: list[Edit] = []
    units = root.iter(f"{{{name.namespace}}}{'trans-unit' if is_first else 'segment'}")
    places = _places(text, units, ranges, edits, is_first=is_first)
    document = MessagesDocument(text, encoding, places, options.limits, edits)
    unnamed = [element for element in languages if not element.get(attribute)]
    if document.segments and options.target:
        edits += [_edit(text, ranges[element], attribute, options.target) for element in unnamed]
    return document


def _places(
    text: str, units: Iterator[Element], ranges: Mapping[Element, Range], edits: list[Edit], *, is_first: bool
) -> Iterator[Place]:
    """Yield the empty targets of the units; put the changes of their states into `edits`."""
    for unit in units:
        name = f"{{{etree.QName(unit).namespace}}}"
        source, target = unit.find(f"{name}source"), unit.find(f"{name}target")
        if source is None or not _is_translatable(unit) or _is_done(unit, target):
            continue
        segmented = unit.find(f"{name}seg-source")  # the same text, divided into sentences
        at = ranges[source if segmented is None else segmented]
        notation = IN_LINES if _of_nearest(source, SPACE) == "preserve" else NOTATION
        parts = parts_of(without_cdata(text[at.opened : at.closed]), notation)
        if not any(isinstance(part, Line) for part in parts):
            continue
        prefix = text[at.start + 1 : at.opened].partition("source")[0].removesuffix("seg-")
        here = Range(at.end, at.end, at.end, at.end) if target is None else ranges[target]
        opened = text[here.start : here.opened] or f"<{prefix}target>"
        opened = with_attribute(opened, "state", "needs-review-translation") if is_first else opened
        before = text[text.rfind(">", 0, at.start) + 1 : at.start] if target is None else ""
        opened = f"{opened[:-2].rstrip()}>" if opened.endswith("/>") else opened
        head = ("" if before.strip() else before) + opened
        yield Place(here.start, here.end, parts, _writer(head, f"</{prefix}target>"), is_open=True)
        if not is_first:
            edits.append(_edit(text, ranges[unit], "state", "translated"))


def _writer(head: str, end: str) -> Callable[[str], str]:
    return lambda new: head + new + end


def _edit(text: str, element: Range, name: str, value: str) -> Edit:
    return element.start, element.opened, with_attribute(text[element.start : element.opened], name, value)


def _is_translatable(element: Element) -> bool:
    """Return whether the nearest `translate` attribute around a unit allows it."""
    return _of_nearest(element, "translate") != "no"


def _of_nearest(element: Element, name: str) -> str | None:
    """Return the value of an attribute of an element, or else of the nearest one around it that has it."""
    values = (node.get(name) for node in (element, *element.iterancestors()))
    return next((value for value in values if value is not None), None)


def _is_done(unit: Element, target: Element | None) -> bool:
    if unit.get("approved") == "yes" or unit.get("state") in DONE:
        return True
    return target is not None and bool(len(target) or (target.text or "").strip())
