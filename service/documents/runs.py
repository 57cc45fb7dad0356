"""Paragraphs of Office Open XML: their runs, fields and containers.

Runs are styled text, and their look is what their properties say. What is no text (pictures, references, bookmarks,
fields that are no links) is a point. Line breaks, tabs and fields that reach into another paragraph are dividers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from service.documents.fragments import MARK
from service.documents.tree import Content, Element, Node
from service.documents.untrusted import Copies

SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of one kind of Office document; all are qualified."""

    paragraph: str
    run: str
    properties: str
    text: str
    characters: Mapping[str, str] = field(default_factory=dict)  # elements in a run that are one character
    dividers: frozenset[str] = frozenset()  # elements, in a run or beside runs, that divide a paragraph
    containers: Mapping[str, str | None] = field(default_factory=dict)  # with runs in them, or in this child of theirs
    dropped: frozenset[str] = frozenset()  # marks of the program that wrote the document, which mean nothing afterwards
    stays: frozenset[str] = frozenset()  # children of paragraphs and containers that stay where they are
    ignored: frozenset[str] = frozenset()  # names in run properties that cannot be seen
    field: str = ""  # the element that begins, separates and ends a field
    instruction: str = ""
    is_code: Callable[[Element], bool] = lambda _element: False  # of a run or a paragraph
    is_raised: Callable[[Element], bool] = lambda _run: False  # whether a run is in superscript


class Runs:
    """The content model of one document."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.stays = dialect.stays
        self._copies = Copies()
        self._looks: dict[Element, str] = {}  # of the parts of runs that were split: they share one

    def content(self, holder: Element) -> list[Content]:
        """Return the content of a paragraph or container; its runs are split so that each has one kind of content."""
        for run in list(holder.iterchildren(self.dialect.run)):
            self._split(run)
        children = [child for child in holder if child.tag not in self.stays]
        marks = [_field_mark(child, self.dialect) for child in children]
        ends = _field_ends(marks)
        content: list[Content] = []
        first = 0
        while first < len(children):
            last = ends.get(first, first + 1)
            if last - first > 1:
                content += self._field(children[first:last], marks[first:last])
            else:
                content.append(self._node(children[first]))
            first = last
        return content

    def put(self, holder: Element, text: str, style: Element | None) -> None:
        """Append a run with a text, in the look of another run."""
        run = etree.SubElement(holder, self.dialect.run)
        properties = None if style is None else style.find(self.dialect.properties)
        if properties is not None:
            run.extend(self._copies.of(properties))
        content = etree.SubElement(run, self.dialect.text)
        content.text = text
        if text != text.strip():
            content.set(SPACE, "preserve")

    def _node(self, child: Element) -> Node:
        dialect = self.dialect
        inner = _only_content(child, dialect)
        if inner.tag in dialect.dividers or inner.tag == dialect.field:  # a field of more than one paragraph
            return Node("divider", [child])
        if child.tag in dialect.containers:
            held = dialect.containers[str(child.tag)]
            holder = child if held is None else child.find(held)
            return Node("point", [child]) if holder is None else Node("span", [child], self.content(holder), holder)
        text = _text(child, dialect) if child.tag == dialect.run else None
        if text is None or (MARK.fullmatch(text) and dialect.is_raised(child)):
            return Node("point", [child])
        if dialect.is_code(child):
            return Node("kept", [child], [text])
        look = self._looks.get(child)
        return Node("styled", [child], [text], look=_look(child, dialect) if look is None else look)

    def _field(self, children: list[Element], marks: Sequence[str]) -> list[Content]:
        """Return a field: the text of a link is translated, the result of any other field stays as it is."""
        instructions = (text.text or "" for child in children for text in child.iter(self.dialect.instruction))
        is_link = "".join(instructions).strip().upper().startswith("HYPERLINK")
        if "separate" not in marks or marks.count("begin") > 1 or not is_link:
            return [Node("point", children)]
        shown = marks.index("separate") + 1
        link = Node("span", children[:shown], [self._node(child) for child in children[shown:-1]], after=children[-1:])
        if link.divides:
            return [Node("divider", children[:shown]), *link.content, Node("divider", children[-1:])]
        return [link]

    def _split(self, run: Element) -> None:
        """Split a run so that each part has text only, or one other element."""
        dialect = self.dialect
        texts = {dialect.text, *dialect.characters}
        parts: list[list[Element]] = []
        for child in run:
            if child.tag == dialect.properties:
                continue
            if parts and child.tag in texts and parts[-1][0].tag in texts:
                parts[-1].append(child)
            else:
                parts.append([child])
        if len(parts) < 2:
            return
        shared = run.makeelement(run.tag, run.attrib)
        properties = run.find(dialect.properties)
        if properties is not None:
            shared.extend(self._copies.of(properties))
        self._looks[run] = _look(run, dialect)
        last = run
        for part, new in zip(parts[1:], self._copies.of(shared, len(parts) - 1), strict=True):
            new.extend(part)
            last.addnext(new)
            self._looks[new] = self._looks[run]
            last = new


def mend_ranges(paragraph: Element) -> None:
    """Put the start of each range (bookmark, comment) before its end, if a translation has turned them round."""
    ended: dict[tuple[str, str], Element] = {}
    for mark in list(paragraph.iter("*")):
        name = str(mark.tag)
        if not name.endswith(("Start", "End")):
            continue
        key = re.sub(r"(?:Start|End)$", "", name), _identifier(mark)
        if name.endswith("End"):
            ended[key] = mark
        elif key in ended:
            ended[key].addprevious(mark)


def _identifier(mark: Element) -> str:
    return next((str(value) for key, value in mark.attrib.items() if str(key).endswith("}id")), "")


def _field_mark(child: Element, dialect: Dialect) -> str:
    """Return what a run does to a field: begin, separate or end; an empty string for any other element."""
    content = _only_content(child, dialect)
    return str(content.get(f"{dialect.field}Type", "")) if content.tag == dialect.field else ""


def _field_ends(marks: Sequence[str]) -> dict[int, int]:
    """Return the place after each field that ends, by the place where it begins."""
    ends: dict[int, int] = {}
    begun: list[int] = []
    for number, mark in enumerate(marks):
        if mark == "begin":
            begun.append(number)
        elif mark == "end" and begun:
            ends[begun.pop()] = number + 1
    return ends


def _only_content(child: Element, dialect: Dialect) -> Element:
    """Return the only element in a run beside its properties; otherwise the child itself."""
    if child.tag != dialect.run:
        return child
    content = [node for node in child if node.tag != dialect.properties]
    return content[0] if len(content) == 1 else child


def _text(run: Element, dialect: Dialect) -> str | None:
    """Return the text of a run that has nothing else."""
    texts = []
    for child in run:
        if child.tag == dialect.text:
            texts.append(child.text or "")
        elif child.tag in dialect.characters:
            texts.append(dialect.characters[str(child.tag)])
        elif child.tag != dialect.properties:
            return None
    return "".join(texts)


def _look(run: Element, dialect: Dialect) -> str:
    properties = run.find(dialect.properties)
    if properties is None:
        return ""
    attributes = [f"{name}={value}" for name, value in sorted(properties.attrib.items()) if name not in dialect.ignored]
    children = [
        etree.tostring(child, method="c14n").decode() for child in properties if child.tag not in dialect.ignored
    ]
    return "\n".join([*attributes, *sorted(children)])
