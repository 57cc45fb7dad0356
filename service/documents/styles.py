"""Paragraphs of OpenDocument: what the elements in them mean, by the styles of their part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from service.documents.fragments import MARK
from service.documents.tree import Content, Element, Node

NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
TEXT, STYLE = (f"{{{NAMES}{name}:1.0}}" for name in ("text", "style"))
OWN = "{http://openoffice.org/2009/office}"  # LibreOffice's own attributes, such as the ids of editing sessions
NAME = f"{TEXT}style-name"
CODE_STYLE = re.compile(r"^(?:Preformatted|Source)|code|verbatim", re.IGNORECASE)
RAISED = re.compile(r"super|[1-9]\d{0,2}(?:\.\d+)?%")
DIVIDERS = frozenset({f"{TEXT}tab", f"{TEXT}line-break", f"{TEXT}s"})  # several spaces make a column
SPANS = frozenset({f"{TEXT}span", f"{TEXT}a", f"{TEXT}meta"})
SPACES = re.compile(r" {2,}")


class Styles:
    """The content model of a part, and its automatic styles: what they look like, and what they are called after."""

    stays: frozenset[str] = frozenset()

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
        name = str(element.get(NAME, ""))
        return any(CODE_STYLE.search(style) for style in (name, self._parents.get(name, "")))

    def content(self, holder: Element) -> list[Content]:
        """Return what is in an element; neighbours without visible difference are joined."""
        content: list[Content] = []
        texts: list[str] = []
        for part in [*self._parts(holder), None]:
            if isinstance(part, str):
                texts.append(part)
                continue
            content += [text] if (text := "".join(texts)) else []
            content += [part] if part else []
            texts = []
        return content

    def put(self, holder: Element, text: str, style: Element | None) -> None:
        """Append text; OpenDocument counts several spaces as one, unless they are elements."""
        if style is not None:
            holder = etree.SubElement(holder, style.tag, style.attrib)
        at = 0
        for match in SPACES.finditer(text):
            _append(holder, text[at : match.start()] + " ")
            etree.SubElement(holder, f"{TEXT}s", {f"{TEXT}c": str(len(match[0]) - 1)})
            at = match.end()
        _append(holder, text[at:])

    def _parts(self, holder: Element) -> Iterator[Content]:
        """Yield text and nodes; a span that looks like the text around it is what is in it."""
        yield holder.text or ""
        for child in holder:
            characters = _characters(child)
            if characters is not None:
                yield characters
            elif child.tag == f"{TEXT}span" and self._looks.get(str(child.get(NAME, ""))) == 0:
                yield from self._parts(child)
            else:
                yield self._node(child)
            yield child.tail or ""

    def _node(self, child: Element) -> Node:
        if child.tag in DIVIDERS:
            return Node("divider", [child])
        if child.tag not in SPANS:
            return Node("point", [child])
        name = str(child.get(NAME, ""))
        if not len(child) and name in self._raised and MARK.fullmatch(child.text or ""):
            return Node("point", [child])
        if not len(child) and self.is_code(child):
            return Node("kept", [child], [child.text or ""])
        content = self.content(child)
        is_styled = child.tag == f"{TEXT}span" and {*child.attrib} == {NAME}
        if is_styled and all(isinstance(part, str) for part in content):
            return Node("styled", [child], content, look=self._looks.get(name, name))
        return Node("span", [child], content, child)


def _characters(element: Element) -> str | None:
    """Return the characters that an element stands for; None for one that stays, such as several spaces."""
    if element.tag == f"{TEXT}soft-page-break":
        return ""
    return " " if element.tag == f"{TEXT}s" and element.get(f"{TEXT}c", "1") in ("0", "1") else None


def _append(holder: Element, text: str) -> None:
    last = next(holder.iterchildren(reversed=True), None)  # its number would be counted from the first one
    if last is None:
        holder.text = (holder.text or "") + text
    else:
        last.tail = (last.tail or "") + text


def _look(style: Element) -> str:
    """Return the properties of a style that can be seen."""
    shown = [
        f"{name}={value}"
        for properties in style
        for name, value in sorted(properties.attrib.items())
        if not str(name).startswith(OWN)
    ]
    return "\n".join(shown)
