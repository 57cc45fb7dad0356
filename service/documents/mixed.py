"""Mixed content of XML (OpenDocument): text and elements of one parent as a fragment, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from lxml import etree

from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, has_words, parse

Element = etree._Element
Role = Literal["span", "point", "kept", "divider"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The meaning of the elements in mixed content."""

    role: Callable[[Element], Role]
    characters: Callable[[Element], str | None] = lambda _element: None  # an element that stands for characters
    put: Callable[[Element, str], None] = lambda holder, text: append(holder, text)


Content = str | Element


class Segment:
    """Content between two dividers."""

    def __init__(self, content: Sequence[Content], dialect: Dialect) -> None:
        self.dialect = dialect
        self.translation: str | None = None
        builder: FragmentBuilder[Element | None] = FragmentBuilder()
        _build(builder, content, dialect)
        self.fragment, self.things = builder.fragment, builder.things

    def fill(self, holder: Element, pieces: Sequence[Piece]) -> None:
        """Append a translated fragment to an element; elements are moved there."""
        for piece in pieces:
            if isinstance(piece, str):
                self.dialect.put(holder, ILLEGAL.sub("", piece))
                continue
            element = self.things[piece.number]
            if element is None:
                self.fill(holder, piece.content)
                continue
            if self.dialect.role(element) == "span":
                clear(element)
                self.fill(element, piece.content)
            append(holder, element)


def _build(builder: FragmentBuilder[Element | None], content: Sequence[Content], dialect: Dialect) -> None:
    for part in content:
        if isinstance(part, str):
            builder.text(part)
            continue
        role = dialect.role(part)
        if role == "span":
            builder.open(part)
            _build(builder, content_of(part, dialect), dialect)
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
    def of(cls, holder: Element, dialect: Dialect) -> Paragraph:
        """Return the content of an element; text without words belongs to no segment."""
        slots: list[Segment | Paragraph | Element | str] = []
        for divided, parts in groupby(content_of(holder, dialect), lambda part: _divides(part, dialect)):
            group = [*parts]
            if not divided:
                segment = Segment(group, dialect)
                slots += [segment] if has_words(segment.fragment) else group
                continue
            for part in group:
                if isinstance(part, str) or dialect.role(part) != "span":
                    slots.append(part)
                else:
                    slots.append(cls.of(part, dialect))
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


def content_of(holder: Element, dialect: Dialect) -> list[Content]:
    """Return the text and the elements in an element, in order."""
    content: list[Content] = [holder.text] if holder.text else []
    for child in holder:
        characters = dialect.characters(child) if isinstance(child.tag, str) else None
        text = characters or ""
        if characters is None:
            content.append(child)
        text += child.tail or ""
        if text and content and isinstance(content[-1], str):
            content[-1] += text
        elif text:
            content.append(text)
    return content


def _divides(element: Content, dialect: Dialect) -> bool:
    if isinstance(element, str) or not isinstance(element.tag, str):
        return False
    role = dialect.role(element)
    return role == "divider" or (role == "span" and any(_divides(child, dialect) for child in element))


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
