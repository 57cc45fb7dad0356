"""Reads a paragraph of Office Open XML: its runs, fields and containers as items, and these as segments."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from lxml import etree

from service.documents.fragments import has_words
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
    properties = properties_of(dialect, run)
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


def _format(run: Element, dialect: Dialect) -> str:
    properties = properties_of(dialect, run)
    if properties is None:
        return ""
    own = [f"{name}={value}" for name, value in sorted(properties.attrib.items()) if name not in dialect.ignored]
    children = [
        etree.tostring(child, method="c14n").decode() for child in properties if child.tag not in dialect.ignored
    ]
    return "\n".join([*own, *sorted(children)])
