"""Trees of XML: the content of an element as fragments, and translated fragments as its content.

The look that most characters of a segment have is its base; words of another look are spans. A point is moved, never
copied. A divider stays where it is: the text on each side is translated by itself, and their order stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, Protocol

from lxml import etree

from service.documents.format import Limits, limited
from service.documents.fragments import ILLEGAL, FragmentBuilder, Piece, has_words, parse, plain
from service.documents.untrusted import Package, xml_bytes
from service.markup.document import escape

Element = etree._Element
Role = Literal["span", "styled", "point", "kept", "divider"]  # what is styled has a look, and nothing but text in it


@dataclass(slots=True)
class Node:
    """What stands in one place of a paragraph: its elements, what they mean, and what is in them."""

    role: Role
    elements: list[Element]  # of a span without an element of its own: those before its content
    content: Sequence[Content] = ()
    holder: Element | None = None  # the element that the content is in
    after: Sequence[Element] = ()
    look: Hashable = None
    divides: bool = field(init=False)  # whether it is a divider, or has one in it

    def __post_init__(self) -> None:
        self.divides = self.role == "divider" or any(map(divides, self.content))


Content = str | Node


def divides(part: Content) -> bool:
    """Return whether a part of a paragraph divides it."""
    return isinstance(part, Node) and part.divides


class ContentModel(Protocol):
    """How the elements of a format hold text."""

    stays: frozenset[str]  # elements that belong to the element that they are in, such as its properties

    def content(self, holder: Element) -> Sequence[Content]:
        """Return what is in an element, in order."""

    def put(self, holder: Element, text: str, style: Element | None) -> None:
        """Append text to the content of an element, in the look of a styled element."""


class Segment:
    """Content between two dividers."""

    def __init__(self, content: Sequence[Content], model: ContentModel) -> None:
        self.translation: str | None = None
        self._model = model
        self._base = _base(content)
        builder: FragmentBuilder[Node] = FragmentBuilder()
        self._build(builder, content)
        self.fragment, self._nodes = builder.fragment, builder.things

    def _build(self, builder: FragmentBuilder[Node], content: Sequence[Content]) -> None:
        """Write content as a fragment; neighbours of one look share a span."""
        opened = None
        for part in content:
            look = None if isinstance(part, str) or (self._base and part.look == self._base.look) else part.look
            if opened is not None and look != opened:
                builder.close()
                opened = None
            if isinstance(part, str):
                builder.text(part)
            elif part.role == "styled":
                if look is not None and opened is None and any(part.content):
                    builder.open(part)
                    opened = look
                builder.text(_text(part))
            elif part.role == "span":
                builder.open(part)
                self._build(builder, part.content)
                builder.close()
            elif part.role == "kept":
                builder.kept(part, _text(part))
            else:
                builder.point(part)
        if opened is not None:
            builder.close()

    def fill(self, holder: Element) -> None:
        """Append the translation to the content of an element; elements are moved there."""
        self._fill(holder, parse(self.fragment if self.translation is None else self.translation), self._base)

    def _fill(self, holder: Element, pieces: Sequence[Piece], style: Node | None) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                if text := ILLEGAL.sub("", piece):
                    self._model.put(holder, text, style.elements[0] if style else None)
                continue
            node = self._nodes[piece.number]
            if node.role == "styled":
                self._fill(holder, piece.content, node)
            elif node.role == "span":
                _extend(holder, node.elements)
                if node.holder is not None:
                    _clear(node.holder, self._model)
                self._fill(holder if node.holder is None else node.holder, piece.content, style)
                _extend(holder, node.after)
            else:
                _extend(holder, node.elements)


def _base(content: Sequence[Content]) -> Node | None:
    """Return a node of the look that most characters have; None if text without a look is among them."""
    counts: Counter[Hashable] = Counter()
    nodes: dict[Hashable, Node] = {}
    waiting = [*content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            return None
        if part.role == "styled":
            counts[part.look] += len(_text(part))
            nodes[part.look] = part
        elif part.role == "span":
            waiting += part.content
    return nodes[counts.most_common(1)[0][0]] if counts else None


def _text(node: Node) -> str:
    return "".join(part for part in node.content if isinstance(part, str))


class Paragraph:
    """An element with its content in segments and dividers; text without words belongs to no segment."""

    def __init__(self, node: Node, model: ContentModel) -> None:
        self.node, self._model = node, model
        self._slots: list[Segment | Paragraph | Content] = []
        for divided, group in groupby(node.content, divides):
            parts = [*group]
            if not divided:
                segment = Segment(parts, model)
                self._slots += [segment] if has_words(segment.fragment) else parts
                continue
            for part in parts:
                inside = isinstance(part, Node) and part.holder is not None
                self._slots.append(Paragraph(part, model) if inside else part)  # type: ignore[arg-type]

    @classmethod
    def of(cls, element: Element, model: ContentModel) -> Paragraph:
        """Return the content of an element."""
        return cls(Node("span", [element], model.content(element), element), model)

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in their order."""
        for slot in self._slots:
            if isinstance(slot, Segment):
                yield slot
            elif isinstance(slot, Paragraph):
                yield from slot.segments()

    def write(self) -> bool:
        """Put the content together again, with the translations of its segments; return whether there are any."""
        inner = [slot.write() for slot in self._slots if isinstance(slot, Paragraph)]
        segments = [slot for slot in self._slots if isinstance(slot, Segment)]
        if not any(inner) and all(segment.translation is None for segment in segments):
            return False
        holder = self.node.holder
        assert holder is not None
        _clear(holder, self._model)
        for slot in self._slots:
            if isinstance(slot, Segment):
                slot.fill(holder)
            elif isinstance(slot, str):
                self._model.put(holder, slot, None)
            else:
                _extend(holder, _elements(slot.node if isinstance(slot, Paragraph) else slot))
        return True

    @property
    def element(self) -> Element:
        """Return the element whose content it is."""
        return self.node.elements[0]


class LoneText:
    """A text in an attribute, or in an element that has nothing else; it is its only segment."""

    def __init__(self, element: Element, attribute: str | None = None) -> None:
        self.element, self._attribute = element, attribute
        self.translation: str | None = None
        self.text = str((element.text if attribute is None else element.get(attribute)) or "")
        self.fragment = escape(self.text)

    def segments(self) -> Iterator[LoneText]:
        """Yield it if it has words."""
        if has_words(self.fragment):
            yield self

    def write(self) -> bool:
        """Write its translation; return whether there is one."""
        if self.translation is None:
            return False
        text = ILLEGAL.sub("", plain(self.translation))
        if self._attribute is None:
            self.element.text = text
        else:
            self.element.set(self._attribute, text)
        return True


class TreeDocument:
    """A packed document, and the parts of it that hold its text."""

    def __init__(self, package: Package, parts: Mapping[str, Element], limits: Limits) -> None:
        self._package, self._parts = package, parts
        self._found: list[tuple[str, Paragraph | LoneText]] = []
        self._segments: list[Segment | LoneText] = []
        self.segments: Sequence[str] = [*limited(self._read(), limits)]

    def _read(self) -> Iterator[str]:
        """Collect the texts of the parts, and yield the fragments of their segments."""
        for name, root in self._parts.items():
            for text in self._texts(name, root):
                if segments := [*text.segments()]:
                    self._found.append((name, text))
                    self._segments += segments
                    yield from (segment.fragment for segment in segments)

    def _texts(self, name: str, root: Element) -> Iterator[Paragraph | LoneText]:
        """Yield the texts of a part."""
        raise NotImplementedError

    def _finish(self, text: Paragraph | LoneText) -> None:
        """Change what is around a text that has been written."""

    def _finish_part(self, root: Element) -> None:
        """Change a part once more before it is written."""

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the document; all parts without a change keep their bytes."""
        for segment, translation in zip(self._segments, translations, strict=True):
            segment.translation = None if translation == segment.fragment else translation
        changed = set()
        for name, text in self._found:
            if text.write():
                self._finish(text)
                changed.add(name)
        for name in changed:
            self._finish_part(self._parts[name])
        return self._package.packed({name: xml_bytes(self._parts[name]) for name in changed})


def _elements(part: Content) -> Iterator[Element]:
    """Yield the elements of a part as they were, outermost ones."""
    if isinstance(part, str):
        return
    yield from part.elements
    if part.role == "span" and part.holder is None:
        for inner in part.content:
            yield from _elements(inner)
    yield from part.after


def _extend(holder: Element, elements: Iterable[Element]) -> None:
    """Append elements, without what followed them, to the content of an element."""
    for element in elements:
        element.tail = None
        holder.append(element)


def _clear(element: Element, model: ContentModel) -> None:
    """Remove the content of an element; its attributes and what follows it stay."""
    for child in list(element):
        if child.tag not in model.stays:
            element.remove(child)
    element.text = None
