"""Paragraphs of Office Open XML: runs of formatted text as a fragment, and a translated fragment as runs.

The format that most characters of a segment have is its base; other formats become spans. What is no text (pictures,
references, fields, bookmarks) becomes a point and is moved, never copied. Line breaks, tabs and fields that reach into
another paragraph divide a paragraph: the text on each side is translated by itself, and their order stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, parse
from service.documents.untrusted import Copies

Element = etree._Element
SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of one kind of Office document; all are qualified."""

    main: str  # the content type of the main part
    parts: tuple[str, ...]  # the content types of the parts with text
    paragraph: str
    run: str
    properties: str
    text: str
    characters: Mapping[str, str]  # elements in a run that are one character
    dividers: frozenset[str]  # elements, in a run or beside runs, that divide a paragraph
    containers: Mapping[str, str | None]  # elements with runs in them, and the child that holds the runs, if any
    dropped: frozenset[str]  # marks of the program that wrote the document, which mean nothing afterwards
    skipped: frozenset[str]  # children of paragraphs and containers that stay where they are
    ignored: frozenset[str]  # names in run properties that cannot be seen
    field: str = ""  # the element that begins, separates and ends a field
    instruction: str = ""
    is_code: Callable[[Element], bool] = lambda _element: False  # of a run or a paragraph
    is_raised: Callable[[Element], bool] = lambda _run: False  # whether a run is in superscript


@dataclass(slots=True)
class Text:
    """Text of one run."""

    run: Element
    text: str
    format: str  # equal for formats that look the same


@dataclass(slots=True)
class Moved:
    """Elements that are kept, and moved with their place in the text."""

    elements: list[Element]


@dataclass(slots=True)
class Container:
    """An element that holds runs, such as a link; or a field, whose text is between two lists of elements."""

    element: Element | None
    holder: Element | None
    items: list[Item]
    before: list[Element] = field(default_factory=list)
    after: list[Element] = field(default_factory=list)


@dataclass(slots=True)
class Divider:
    """Something that stays where it is; the text in it is translated by itself."""

    segments: list[Segment]


Item = Text | Moved | Container | Divider
Thing = Text | Moved | Container


class Segment:
    """The items between two dividers."""

    def __init__(self, dialect: Dialect, copies: Copies, holder: Element, items: Sequence[Thing]) -> None:
        self.dialect, self.copies, self.holder, self.items = dialect, copies, holder, items
        counts: Counter[str] = Counter()
        for text in _texts(items):
            counts[text.format] += len(text.text)
        base = counts.most_common(1)[0][0] if counts else ""
        self.base = next((properties_of(dialect, text.run) for text in _texts(items) if text.format == base), None)
        builder: FragmentBuilder[Thing] = FragmentBuilder()
        _build(builder, items, base, dialect)
        self.fragment, self.things = builder.fragment, builder.things

    def write(self, fragment: str) -> None:
        """Replace the runs by those of a translated fragment."""
        olds = [element for item in self.items for element in _elements(item)]
        place = etree.Element("place")  # a place by its number would be counted from the start for each element
        olds[0].addprevious(place)
        for old in olds:
            self.holder.remove(old)
        written = self._written(parse(fragment), self.base)
        for new in written:
            place.addprevious(new)
        self.holder.remove(place)
        self._mend_ranges(written)

    def _written(self, pieces: Sequence[Piece], properties: Element | None) -> list[Element]:
        written: list[Element] = []
        for piece in pieces:
            if isinstance(piece, str):
                written += [self._run(piece, properties)] if piece else []
                continue
            thing = self.things[piece.number]
            if isinstance(thing, Text):
                written += self._written(piece.content, properties_of(self.dialect, thing.run))
            elif isinstance(thing, Moved):
                written += thing.elements
            else:
                written += self._filled(thing, self._written(piece.content, properties))
        return written

    def _filled(self, container: Container, content: list[Element]) -> list[Element]:
        if container.holder is None or container.element is None:
            return [*container.before, *content, *container.after]
        for child in list(container.holder):
            if child.tag not in self.dialect.skipped:
                container.holder.remove(child)
        container.holder.extend(content)
        return [container.element]

    def _run(self, text: str, properties: Element | None) -> Element:
        run = self.holder.makeelement(self.dialect.run)
        if properties is not None:
            run.extend(self.copies.of(properties))
        content = etree.SubElement(run, self.dialect.text)
        content.text = ILLEGAL.sub("", text)
        if text != text.strip():
            content.set(SPACE, "preserve")
        return run

    def _mend_ranges(self, written: Sequence[Element]) -> None:
        """Put the start of a range (bookmark, comment) before its end, if the translation has turned them round."""
        marks = [element for thing in self.things if isinstance(thing, Moved) for element in thing.elements]
        ends = {_range(mark): mark for mark in marks if str(mark.tag).endswith("End")}
        inner = (element for new in written for element in new.iter())
        order = {element: number for number, element in enumerate(inner)} if ends else {}
        for mark in marks:
            end = ends.get(_range(mark)) if str(mark.tag).endswith("Start") else None
            if end is not None and order.get(mark, 0) > order.get(end, 0):
                end.addprevious(mark)


def properties_of(dialect: Dialect, run: Element) -> Element | None:
    """Return the element of a run that says how it looks."""
    return run.find(dialect.properties)


def _texts(items: Sequence[Item]) -> Iterator[Text]:
    for item in items:
        if isinstance(item, Text):
            yield item
        elif isinstance(item, Container):
            yield from _texts(item.items)


def _elements(item: Thing) -> list[Element]:
    if isinstance(item, Text):
        return [item.run]
    if isinstance(item, Moved):
        return item.elements
    if item.element is not None:
        return [item.element]
    inner = [element for each in item.items if not isinstance(each, Divider) for element in _elements(each)]
    return [*item.before, *inner, *item.after]


def _build(builder: FragmentBuilder[Thing], items: Sequence[Item], base: str, dialect: Dialect) -> None:
    """Write items as a fragment; neighbours of one format share a span."""
    opened: str | None = None
    for item in items:
        if opened is not None and not (isinstance(item, Text) and item.format == opened):
            builder.close()
            opened = None
        if isinstance(item, Text):
            if dialect.is_code(item.run):
                builder.kept(item, item.text)
                continue
            if item.format != base and opened is None and item.text:
                builder.open(item)
                opened = item.format
            builder.text(item.text)
        elif isinstance(item, Container):
            builder.open(item)
            _build(builder, item.items, base, dialect)
            builder.close()
        elif isinstance(item, Moved):
            builder.point(item)
    if opened is not None:
        builder.close()


def _range(mark: Element) -> tuple[str, str]:
    """Return what the start and the end of a range have in common."""
    name = re.sub(r"(?:Start|End)$", "", str(mark.tag))
    return name, next((str(value) for key, value in mark.attrib.items() if str(key).endswith("}id")), "")
