"""Mixed content of OpenDocument: text and elements of one parent as a fragment, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from lxml import etree

from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, has_words, parse

Element = etree._Element
Role = Literal["span", "point", "kept", "divider"]
RoleOf = Callable[[Element], Role]  # what an element in a paragraph means
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
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
        slots: list[Segment | Paragraph | Element | str] = []
        for divided, parts in groupby(content_of(holder), lambda part: _divides(part, role_of)):
            group = [*parts]
            if not divided:
                segment = Segment(group, role_of)
                slots += [segment] if has_words(segment.fragment) else group
                continue
            for part in group:
                if isinstance(part, str) or role_of(part) != "span":
                    slots.append(part)
                else:
                    slots.append(cls.of(part, role_of))
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
        if all(segment.translation is None for segment in self.segments()):
            return False
        clear(self.holder)
        for slot in self.slots:
            if isinstance(slot, Segment):
                slot.fill(self.holder, parse(slot.fragment if slot.translation is None else slot.translation))
            elif isinstance(slot, Paragraph):
                slot.write()
                append(self.holder, slot.holder)
            else:
                append(self.holder, slot)
        return True


def content_of(holder: Element) -> list[Content]:
    """Return the text and the elements in an element, in order."""
    content: list[Content] = [holder.text] if holder.text else []
    for child in holder:
        characters = _characters(child) if isinstance(child.tag, str) else None
        text = characters or ""
        if characters is None:
            content.append(child)
        text += child.tail or ""
        if text and content and isinstance(content[-1], str):
            content[-1] += text
        elif text:
            content.append(text)
    return content


def _characters(element: Element) -> str | None:
    """Return the characters that an element stands for."""
    if element.tag == f"{TEXT}s":
        count = str(element.get(f"{TEXT}c", "1"))
        return " " * min(int(count) if count.isdecimal() else 1, 1000)
    return None


def _divides(element: Content, role_of: RoleOf) -> bool:
    if isinstance(element, str) or not isinstance(element.tag, str):
        return False
    role = role_of(element)
    return role == "divider" or (role == "span" and any(_divides(child, role_of) for child in element))


def clear(element: Element) -> None:
    """Remove the content of an element; its attributes and what follows it stay."""
    for child in list(element):
        element.remove(child)
    element.text = None


def append(holder: Element, content: Content) -> None:
    """Append text or an element, without what followed it, to the content of an element."""
    if not isinstance(content, str):
        content.tail = None
        holder.append(content)
    elif len(holder):
        holder[-1].tail = (holder[-1].tail or "") + content
    else:
        holder.text = (holder.text or "") + content


def put(holder: Element, text: str) -> None:
    """Append text; OpenDocument counts several spaces as one, unless they are elements."""
    at = 0
    for found in SPACES.finditer(text):
        append(holder, text[at : found.start()] + " ")
        etree.SubElement(holder, f"{TEXT}s", {f"{TEXT}c": str(len(found[0]) - 1)})
        at = found.end()
    append(holder, text[at:])
