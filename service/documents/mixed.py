"""Mixed content of OpenDocument: text and elements of one parent as a fragment, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from lxml import etree

from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, has_words, parse

Element = etree._Element
Role = Literal["span", "point", "kept", "divider"]
RoleOf = Callable[[Element], Role]  # what an element in a paragraph means
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
SPACE_DIGITS = 2  # of the width of a space that is text; a wider one stays as it is
SPACES = re.compile(r" {2,}")


Content = str | Element


class Segment:
    """Content between two dividers."""

    def __init__(self, content: Sequence[Content], role_of: RoleOf) -> None:
        self.role_of = role_of
        self.translation: str | None = None
        builder: FragmentBuilder[Element | None] = FragmentBuilder()
        _build(builder, content, role_of)
        self.fragment, self.things = builder.fragment, builder.things

    def fill(self, holder: Element, pieces: Sequence[Piece]) -> None:
        """Append a translated fragment to an element; elements are moved there."""
        for piece in pieces:
            if isinstance(piece, str):
                put(holder, ILLEGAL.sub("", piece))
                continue
            element = self.things[piece.number]
            if element is None:
                self.fill(holder, piece.content)
                continue
            if self.role_of(element) == "span":
                clear(element)
                self.fill(element, piece.content)
            append(holder, element)


def _build(builder: FragmentBuilder[Element | None], content: Sequence[Content], role_of: RoleOf) -> None:
    for part in content:
        if isinstance(part, str):
            builder.text(part)
            continue
        role = role_of(part)
        if role == "span":
            builder.open(part)
            _build(builder, content_of(part), role_of)
            builder.close()
        elif role == "kept":
            builder.kept(part, "".join(part.itertext()))
        else:
            builder.point(part)


@dataclass(slots=True)
class Paragraph:
    """An element with its content in segments and dividers."""

    holder: Element
    slots: list[Segment | Paragraph | Element | str]

    @classmethod
    def of(cls, holder: Element, role_of: RoleOf) -> Paragraph:
        """Return the content of an element; text without words belongs to no segment."""
        return cls._of(holder, role_of, _dividing(holder, role_of))

    @classmethod
    def _of(cls, holder: Element, role_of: RoleOf, dividing: Container[Content]) -> Paragraph:
        slots: list[Segment | Paragraph | Element | str] = []
        for divided, parts in groupby(content_of(holder), dividing.__contains__):
            group = [*parts]
            if not divided:
                segment = Segment(group, role_of)
                slots += [segment] if has_words(segment.fragment) else group
                continue
            for part in group:
                if isinstance(part, str) or role_of(part) != "span":
                    slots.append(part)
                else:
                    slots.append(cls._of(part, role_of, dividing))
        return cls(holder, slots)

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in their order."""
        for slot in self.slots:
            if isinstance(slot, Segment):
                yield slot
            elif isinstance(slot, Paragraph):
                yield from slot.segments()

    def write(self) -> bool:
        """Put the content together again, with the translations of its segments; return whether there are any."""
        inner = [slot.write() for slot in self.slots if isinstance(slot, Paragraph)]
        segments = [slot for slot in self.slots if isinstance(slot, Segment)]
        if not any(inner) and all(segment.translation is None for segment in segments):
            return False
        clear(self.holder)
        for slot in self.slots:
            if isinstance(slot, Segment):
                slot.fill(self.holder, parse(slot.fragment if slot.translation is None else slot.translation))
            else:
                append(self.holder, slot.holder if isinstance(slot, Paragraph) else slot)
        return True


def content_of(holder: Element) -> list[Content]:
    """Return the text and the elements in an element, in order."""
    content: list[Content] = []
    texts = [holder.text or ""]
    for child in holder:
        characters = _characters(child) if isinstance(child.tag, str) else None
        if characters is None:
            content += [text, child] if (text := "".join(texts)) else [child]
            texts = []
        texts += [characters or "", child.tail or ""]
    return [*content, text] if (text := "".join(texts)) else content


def _characters(element: Element) -> str | None:
    """Return the characters that an element stands for; None for one that stays, such as a wide space."""
    if element.tag != f"{TEXT}s":
        return None
    count = str(element.get(f"{TEXT}c", "1"))
    if not count.isdecimal():
        return " "
    return " " * int(count) if len(count) <= SPACE_DIGITS else None


def _dividing(holder: Element, role_of: RoleOf) -> set[Content]:
    """Return the elements that divide the content of a holder: dividers, and the spans that they are in."""
    dividing: set[Content] = set()
    spans = [holder]
    while spans:
        span = spans.pop()
        children = [(child, role_of(child)) for child in span.iterchildren("*")]
        spans += [child for child, role in children if role == "span"]
        dividers = [child for child, role in children if role == "divider"]
        dividing.update(dividers)
        around: Element | None = span
        while dividers and around is not None and around is not holder and around not in dividing:
            dividing.add(around)
            around = around.getparent()
    return dividing


def clear(element: Element) -> None:
    """Remove the content of an element; its attributes and what follows it stay."""
    for child in list(element):
        element.remove(child)
    element.text = None


def append(holder: Element, content: Content) -> None:
    """Append text or an element, without what followed it, to the content of an element."""
    last = _last(holder)
    if not isinstance(content, str):
        content.tail = None
        holder.append(content)
    elif last is not None:
        last.tail = (last.tail or "") + content
    else:
        holder.text = (holder.text or "") + content


def _last(holder: Element) -> Element | None:
    """Return the last child of an element; its number would be counted from the first one."""
    return next(holder.iterchildren(reversed=True), None)


def join(elements: Sequence[Element]) -> None:
    """Put the content of neighbours into the first one."""
    first, *others = elements
    texts: list[str] = []
    for element in others:
        texts.append(element.text or "")
        for child in element:
            append(first, "".join(texts))
            texts = []
            first.append(child)
    append(first, "".join(texts))
    first.tail = elements[-1].tail
    for element in others:
        parent = element.getparent()
        assert parent is not None
        element.tail = None
        parent.remove(element)


def put(holder: Element, text: str) -> None:
    """Append text; OpenDocument counts several spaces as one, unless they are elements."""
    at = 0
    for found in SPACES.finditer(text):
        append(holder, text[at : found.start()] + " ")
        etree.SubElement(holder, f"{TEXT}s", {f"{TEXT}c": str(len(found[0]) - 1)})
        at = found.end()
    append(holder, text[at:])
