"""Reads a paragraph of Office Open XML: its runs, fields and containers as items, and these as segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from service.documents.fragments import MARK, has_words
from service.documents.runs import (
    Container,
    Dialect,
    Divider,
    Element,
    Item,
    Moved,
    Segment,
    Text,
    Thing,
    properties_of,
)
from service.documents.untrusted import Copies


@dataclass(slots=True)
class ParagraphReader:
    """Reads the paragraphs of one document."""

    dialect: Dialect
    copies: Copies = field(default_factory=Copies)
    _formats: dict[Element, str] = field(default_factory=dict)  # of the runs of a paragraph; its parts share one

    def segments_of(self, paragraph: Element) -> list[Segment]:
        """Return the segments that have words; the runs are split so that each has one kind of content."""
        self._formats = {}
        found = self._segments(paragraph, self._items(paragraph))
        return [segment for segment in found if has_words(segment.fragment)]

    def _segments(self, holder: Element, items: Sequence[Item]) -> list[Segment]:
        segments: list[Segment] = []
        group: list[Thing] = []
        for item in [*items, Divider([])]:
            if not isinstance(item, Divider):
                group.append(item)
                continue
            if group:
                segments.append(Segment(self.dialect, self.copies, holder, group))
                group = []
            segments += item.segments
        return segments

    def _items(self, holder: Element) -> list[Item]:
        """Return the content of a paragraph or container."""
        for run in list(holder.iterchildren(self.dialect.run)):
            self._split(run)
        children = [child for child in holder if isinstance(child.tag, str)]
        marks = [_field_mark(child, self.dialect) for child in children]
        ends = _field_ends(marks)
        items: list[Item] = []
        first = 0
        while first < len(children):
            last = ends.get(first, first + 1)
            if last - first > 1:
                items += self._field(children[first:last], marks[first:last])
            else:
                items += self._item(children[first])
            first = last
        return items

    def _item(self, child: Element) -> list[Item]:
        dialect = self.dialect
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
            items = self._items(holder)
            if any(isinstance(item, Divider) for item in items):
                return [Divider(self._segments(holder, items))]
            return [Container(child, holder, items)]
        text = _text(child, dialect) if child.tag == dialect.run else None
        if text is None or (MARK.fullmatch(text) and dialect.is_raised(child)):
            return [Moved([child])]
        return [Text(child, text, self._formats.get(child) or _format(child, dialect))]

    def _field(self, children: list[Element], marks: Sequence[str]) -> list[Item]:
        """Return a field: the text of a link is translated, the result of any other field stays as it is."""
        instructions = (text.text or "" for child in children for text in child.iter(self.dialect.instruction))
        is_link = "".join(instructions).strip().upper().startswith("HYPERLINK")
        if "separate" not in marks or marks.count("begin") > 1 or not is_link:
            return [Moved(children)]
        shown = marks.index("separate") + 1
        items = [item for child in children[shown:-1] for item in self._item(child)]
        if any(isinstance(item, Divider) for item in items):
            return [Divider([]), *items, Divider([])]
        return [Container(None, None, items, children[:shown], children[-1:])]

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
        properties = properties_of(dialect, run)
        if properties is not None:
            shared.extend(self.copies.of(properties))
        look = _format(run, dialect)
        last = run
        for part, new in zip(parts[1:], self.copies.of(shared, len(parts) - 1), strict=True):
            new.extend(part)
            last.addnext(new)
            self._formats[new] = look
            last = new
        self._formats[run] = look


def _field_mark(child: Element, dialect: Dialect) -> str:
    """Return what a run does to a field: begin, separate or end; an empty string for any other element."""
    content = _content(child, dialect)
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


def _format(run: Element, dialect: Dialect) -> str:
    properties = properties_of(dialect, run)
    if properties is None:
        return ""
    own = [f"{name}={value}" for name, value in sorted(properties.attrib.items()) if name not in dialect.ignored]
    children = [
        etree.tostring(child, method="c14n").decode() for child in properties if child.tag not in dialect.ignored
    ]
    return "\n".join([*own, *sorted(children)])
