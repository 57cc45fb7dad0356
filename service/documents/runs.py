"""Paragraphs of Office Open XML: runs of formatted text as a fragment, and a translated fragment as runs.

The format that most characters of a segment have is its base; other formats become spans. What is no text (pictures,
references, fields, bookmarks) becomes a point and is moved, never copied. Line breaks, tabs and fields that reach into
another paragraph divide a paragraph: the text on each side is translated by itself, and their order stays.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, has_words, parse

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

    def __init__(self, dialect: Dialect, holder: Element, items: Sequence[Thing]) -> None:
        self.dialect, self.holder, self.items = dialect, holder, items
        counts: Counter[str] = Counter()
        for text in _texts(items):
            counts[text.format] += len(text.text)
        base = counts.most_common(1)[0][0] if counts else ""
        self.base = next((_properties(dialect, text.run) for text in _texts(items) if text.format == base), None)
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
        for new in self._written(parse(fragment), self.base):
            place.addprevious(new)
        self.holder.remove(place)
        self._mend_ranges()

    def _written(self, pieces: Sequence[Piece], properties: Element | None) -> list[Element]:
        written: list[Element] = []
        for piece in pieces:
            if isinstance(piece, str):
                written += [self._run(piece, properties)] if piece else []
                continue
            thing = self.things[piece.number]
            if isinstance(thing, Text):
                written += self._written(piece.content, _properties(self.dialect, thing.run))
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
        run = etree.Element(self.dialect.run, nsmap=self.holder.nsmap)
        if properties is not None:
            run.append(copy.deepcopy(properties))
        content = etree.SubElement(run, self.dialect.text)
        content.text = ILLEGAL.sub("", text)
        if text != text.strip():
            content.set(SPACE, "preserve")
        return run

    def _mend_ranges(self) -> None:
        """Put the start of a range (bookmark, comment) before its end, if the translation has turned them round."""
        marks = [element for thing in self.things if isinstance(thing, Moved) for element in thing.elements]
        ends = {_range(mark): mark for mark in marks if str(mark.tag).endswith("End")}
        order = {element: number for number, element in enumerate(self.holder.iter())} if ends else {}
        for mark in marks:
            end = ends.get(_range(mark)) if str(mark.tag).endswith("Start") else None
            if end is not None and order.get(mark, 0) > order.get(end, 0):
                end.addprevious(mark)


def segments_of(paragraph: Element, dialect: Dialect) -> list[Segment]:
    """Return the segments of a paragraph that have words; its runs are split so that each has one kind of content."""
    found = _segments(paragraph, _items(paragraph, dialect), dialect)
    return [segment for segment in found if has_words(segment.fragment)]


def _segments(holder: Element, items: Sequence[Item], dialect: Dialect) -> list[Segment]:
    segments: list[Segment] = []
    group: list[Thing] = []
    for item in [*items, Divider([])]:
        if not isinstance(item, Divider):
            group.append(item)
            continue
        if group:
            segments.append(Segment(dialect, holder, group))
            group = []
        segments += item.segments
    return segments


def _items(holder: Element, dialect: Dialect) -> list[Item]:
    """Return the content of a paragraph or container."""
    for run in list(holder.iterchildren(dialect.run)):
        _split_run(run, dialect)
    children = [child for child in holder if isinstance(child.tag, str)]
    marks = [_field_mark(child, dialect) for child in children]
    items: list[Item] = []
    first = 0
    while first < len(children):
        last = _field_end(marks, first)
        if last - first > 1:
            items += _field(children[first:last], marks[first:last], dialect)
        else:
            items += _item(children[first], dialect)
        first = last
    return items


def _item(child: Element, dialect: Dialect) -> list[Item]:
    if child.tag in dialect.skipped:
        return []
    content = _content(child, dialect)
    if content.tag in dialect.dividers or content.tag == dialect.field:  # a field of more than one paragraph
        return [Divider([])]
    if child.tag in dialect.containers:
        held = dialect.containers[str(child.tag)]
        holder = child if held is None else child.find(held)
        if holder is None:
            return [Moved([child])]
        items = _items(holder, dialect)
        if any(isinstance(item, Divider) for item in items):
            return [Divider(_segments(holder, items, dialect))]
        return [Container(child, holder, items)]
    text = _text(child, dialect) if child.tag == dialect.run else None
    return [Moved([child]) if text is None else Text(child, text, _format(child, dialect))]


def _field_mark(child: Element, dialect: Dialect) -> str:
    """Return what a run does to a field: begin, separate or end; an empty string for any other element."""
    content = _content(child, dialect)
    return str(content.get(f"{dialect.field}Type", "")) if content.tag == dialect.field else ""


def _field_end(marks: Sequence[str], first: int) -> int:
    """Return the place after the field that begins here; without one that also ends, the next place."""
    depth = 0
    for number in range(first, len(marks)):
        depth += {"begin": 1, "end": -1}.get(marks[number], 0)
        if depth <= 0:
            return number + 1
    return first + 1


def _field(children: list[Element], marks: Sequence[str], dialect: Dialect) -> list[Item]:
    """Return a field: the text of a link is translated, the result of any other field stays as it is."""
    instruction = "".join(text.text or "" for child in children for text in child.iter(dialect.instruction))
    if "separate" not in marks or marks.count("begin") > 1 or not instruction.strip().upper().startswith("HYPERLINK"):
        return [Moved(children)]
    shown = marks.index("separate") + 1
    items = [item for child in children[shown:-1] for item in _item(child, dialect)]
    if any(isinstance(item, Divider) for item in items):
        return [Divider([]), *items, Divider([])]
    return [Container(None, None, items, children[:shown], children[-1:])]


def _split_run(run: Element, dialect: Dialect) -> None:
    """Split a run so that each part has text only, or one other element."""
    texts = {dialect.text, *dialect.characters}
    parts: list[list[Element]] = []
    for child in run:
        if child.tag == dialect.properties:
            continue
        if parts and child.tag in texts and parts[-1][0].tag in texts:
            parts[-1].append(child)
        else:
            parts.append([child])
    properties = _properties(dialect, run)
    last = run
    for part in parts[1:]:
        new = etree.Element(dialect.run, run.attrib, run.nsmap)
        if properties is not None:
            new.append(copy.deepcopy(properties))
        new.extend(part)
        last.addnext(new)
        last = new


def _content(child: Element, dialect: Dialect) -> Element:
    """Return the only element in a run beside its properties; otherwise the child itself."""
    if child.tag != dialect.run:
        return child
    content = [each for each in child if each.tag != dialect.properties]
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


def _properties(dialect: Dialect, run: Element) -> Element | None:
    return run.find(dialect.properties)


def _format(run: Element, dialect: Dialect) -> str:
    properties = _properties(dialect, run)
    if properties is None:
        return ""
    own = [f"{name}={value}" for name, value in sorted(properties.attrib.items()) if name not in dialect.ignored]
    children = [
        etree.tostring(child, method="c14n").decode() for child in properties if child.tag not in dialect.ignored
    ]
    return "\n".join([*own, *sorted(children)])


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
