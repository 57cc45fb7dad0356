"""Mixed content of XML (OpenDocument, XLIFF): text and elements of one parent as a fragment, and back."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree

from service.documents.fragments import FragmentBuilder, Piece, has_words, parse

Element = etree._Element
Role = Literal["span", "point", "kept", "divider"]
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The meaning of the elements in mixed content."""

    role: Callable[[Element], Role]
    characters: Callable[[Element], str | None] = lambda _element: None  # an element that stands for characters
    protected: re.Pattern[str] | None = None  # text that is not translated
    put: Callable[[Element, str], None] = lambda holder, text: append_text(holder, text)


Content = str | Element


@dataclass(slots=True)
class Segment:
    """Content between two dividers."""

    content: list[Content]
    dialect: Dialect
    fragment: str = ""
    things: list[Element | None] = field(default_factory=list)
    translation: str | None = None

    def __post_init__(self) -> None:
        builder: FragmentBuilder[Element | None] = FragmentBuilder()
        self._build(builder, self.content)
        self.fragment, self.things = builder.fragment, builder.things

    def _build(self, builder: FragmentBuilder[Element | None], content: Sequence[Content]) -> None:
        for part in content:
            if isinstance(part, str):
                self._text(builder, part)
                continue
            role = self.dialect.role(part)
            if role == "span":
                builder.open(part)
                self._build(builder, content_of(part, self.dialect))
                builder.close()
            elif role == "kept":
                builder.kept(part, "".join(part.itertext()))
            else:
                builder.point(part)

    def _text(self, builder: FragmentBuilder[Element | None], text: str) -> None:
        at = 0
        for found in self.dialect.protected.finditer(text) if self.dialect.protected else ():
            builder.text(text[at : found.start()])
            builder.kept(None, found[0])
            at = found.end()
        builder.text(text[at:])

    def fill(self, holder: Element, fragment: str, *, copied: bool = False) -> None:
        """Append a translated fragment to an element; elements are moved there, or copied."""
        self._fill(holder, parse(fragment), copied)

    def _fill(self, holder: Element, pieces: Sequence[Piece], copied: bool) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                self.dialect.put(holder, ILLEGAL.sub("", piece))
                continue
            thing = self.things[piece.number]
            if thing is None:
                self._fill(holder, piece.content, copied)
                continue
            element = copy.deepcopy(thing) if copied else thing
            element.tail = None
            if self.dialect.role(thing) == "span":
                clear(element)
                self._fill(element, piece.content, copied)
            holder.append(element)


@dataclass(slots=True)
class Paragraph:
    """An element with its content in segments and dividers."""

    holder: Element
    slots: list[Segment | Paragraph | Element | str]

    @classmethod
    def of(cls, holder: Element, dialect: Dialect) -> Paragraph:
        """Return the content of an element; text without words belongs to no segment."""
        slots: list[Segment | Paragraph | Element | str] = []
        group: list[Content] = []

        def flush() -> None:
            if group:
                segment = Segment([*group], dialect)
                slots.extend([segment] if has_words(segment.fragment) else group)
                group.clear()

        for part in content_of(holder, dialect):
            divided = not isinstance(part, str) and _divides(part, dialect)
            if isinstance(part, str) or not divided:
                group.append(part)
                continue
            flush()
            slots.append(cls.of(part, dialect) if dialect.role(part) == "span" else part)
        flush()
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
                slot.fill(self.holder, slot.fragment if slot.translation is None else slot.translation)
            elif isinstance(slot, Paragraph):
                slot.write()
                slot.holder.tail = None
                self.holder.append(slot.holder)
            elif isinstance(slot, str):
                append_text(self.holder, slot)
            else:
                slot.tail = None
                self.holder.append(slot)
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


def _divides(element: Element, dialect: Dialect) -> bool:
    if not isinstance(element.tag, str):
        return False
    role = dialect.role(element)
    return role == "divider" or (role == "span" and any(_divides(child, dialect) for child in element))


def clear(element: Element) -> None:
    """Remove the content of an element; its attributes and what follows it stay."""
    for child in list(element):
        element.remove(child)
    element.text = None


def append_text(holder: Element, text: str) -> None:
    """Append text to the content of an element."""
    if len(holder):
        holder[-1].tail = (holder[-1].tail or "") + text
    else:
        holder.text = (holder.text or "") + text
