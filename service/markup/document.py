"""An HTML document split into parts that stay as they are, and runs of text with inline elements over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from service.markup.breaks import softened
from service.markup.elements import BLOCK, INLINE, INLINE_OPAQUE, OPAQUE, VOID
from service.markup.tokens import HtmlToken, scan, unescape

LONGEST_RUN = 1_000_000  # characters of source; a longer run of text is divided, as its tags would fill the memory
MAX_DEPTH = 100  # nested inline elements; deeper ones stay near their place, but are not nested


@dataclass(slots=True)
class InlineElement:
    """An inline element, or (without `close` and with no width) a token between two characters."""

    start: int  # code points of the unit's text
    end: int
    open: str
    close: str = ""
    children: list[InlineElement] = field(default_factory=list)
    blanks: tuple[bool, bool] = (False, False)  # no width: whether there is white space before and after it
    opaque: bool = False  # `open` is a whole element, which is not translated
    name: str = ""
    is_break: bool = False  # a blank was added behind it, which separates the words around it


@dataclass(slots=True)
class Unit:
    """A run of text without a block's tag in it, and the inline elements over it."""

    text: str
    nodes: list[InlineElement]


Part = str | Unit  # a piece of the document: kept as it is, or translated


def read(document: str) -> list[Part]:
    """Split a document; the parts joined again, with untranslated units, mean the same."""
    return [*parts_of(document)]


def parts_of(document: str) -> Iterator[Part]:
    """Yield the parts of a document as they are found, so that a caller may stop at a limit of its own."""
    reader = _Reader()
    for token in softened(scan(document)):
        reader.take(token)
        yield from reader.taken()
    reader.flush()
    yield from reader.taken()


class _Reader:
    """Collects runs of text and inline tags, and keeps everything else verbatim."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._source = 0  # characters of the run's source
        self._text: list[str] = []
        self._size = 0
        self._nodes: list[InlineElement] = []  # roots of the run
        self._stack: list[tuple[str, InlineElement]] = []  # inline elements that are open
        self._opaque: list[str] = []  # names of the elements within the outermost opaque one
        self._kept: list[str] = []  # its source so far
        self._inline = False  # whether it is within a sentence

    def take(self, token: HtmlToken) -> None:
        """Take the next token."""
        self._source += len(token.text)
        if self._source > LONGEST_RUN:
            self.flush()
        if self._opaque:
            self._take_opaque(token)
        elif token.kind == "raw":
            self._raw(token)
        elif token.kind == "text":
            self._text.append(token.text)
            self._size += len(token.text)
        elif token.kind == "other":
            self._point(token.text)
        elif token.kind == "break":
            self._break(token.text)
        elif token.kind == "close":
            self._close(token)
        else:
            self._open(token)

    def _open(self, token: HtmlToken) -> None:
        name = token.name
        is_void = token.kind == "void" or name in VOID
        if not is_void and (name in INLINE_OPAQUE or name in OPAQUE or token.untranslated):
            self._inline = name in INLINE_OPAQUE or not (name in OPAQUE or name in BLOCK)
            self._kept = [token.text]
            self._opaque = [name]
        elif name in BLOCK:
            self._block(token.text)
        elif is_void or len(self._stack) >= MAX_DEPTH:
            self._point(token.text)
        else:
            node = InlineElement(self._size, self._size, token.text, name=name)
            self._siblings().append(node)
            self._stack.append((name, node))

    def _close(self, token: HtmlToken) -> None:
        if token.name in BLOCK:
            self._block(token.text)
            return
        if any(name == token.name for name, _ in self._stack):
            self._forget_unclosed(token.name)
        if not self._stack or self._stack[-1][0] != token.name:
            self._point(token.text)  # the document's own error is kept
        else:
            node = self._stack.pop()[1]
            node.end = self._size
            node.close = token.text

    def _forget_unclosed(self, name: str = "") -> None:
        """Make points of open elements that HTML does not know, down to one with this name: "Dear <name>"."""
        while self._stack and self._stack[-1][0] not in INLINE and self._stack[-1][0] != name:
            _, node = self._stack.pop()
            node.end = node.start
            self._siblings().extend(node.children)
            node.children = []

    def _raw(self, token: HtmlToken) -> None:
        """Take text in which tags are text but entities are not (RCDATA): a title, or the lines of a <textarea>."""
        for number, line in enumerate(token.text.split("\n") if token.name == "textarea" else [token.text]):
            if number:
                self._block("\n")
            text = unescape(line)
            self._text.append(text)
            self._size += len(text)

    def _break(self, raw: str) -> None:
        """Take a break of a line within a sentence; a blank separates the words around it."""
        self._siblings().append(InlineElement(self._size, self._size, raw, is_break=True))
        self._text.append(" ")
        self._size += 1

    def _take_opaque(self, token: HtmlToken) -> None:
        self._kept.append(escape(token.text) if token.kind == "text" else token.text)
        if token.kind == "open" and token.name == self._opaque[0]:
            self._opaque.append(token.name)
        elif token.kind == "close" and token.name == self._opaque[0]:
            self._opaque.pop()
            if not self._opaque:
                self._keep()

    def _siblings(self) -> list[InlineElement]:
        return self._stack[-1][1].children if self._stack else self._nodes

    def _point(self, raw: str) -> None:
        self._siblings().append(InlineElement(self._size, self._size, raw))

    def _keep(self) -> None:
        raw, self._kept = "".join(self._kept), []
        if self._inline:
            self._siblings().append(InlineElement(self._size, self._size, raw, opaque=True))
        else:
            self._block(raw)

    def _block(self, raw: str) -> None:
        self.flush()
        self._parts.append(raw)

    def flush(self) -> None:
        """End the run of text; open elements stay open."""
        if self._opaque:
            self._opaque = []
            self._keep()
        self._forget_unclosed()
        for _, node in self._stack:
            node.end = self._size
        if self._text or self._nodes:
            text = "".join(self._text)
            _note_blanks(self._nodes, text, 0, len(text))
            self._parts += divided(Unit(text, self._nodes))
        self._text, self._size, self._nodes, self._stack, self._source = [], 0, [], [], 0

    def taken(self) -> list[Part]:
        """Return the parts that have ended since the last call."""
        parts, self._parts = self._parts, []
        return parts


def divided(unit: Unit) -> list[Part]:
    """Return a unit in parts if it is no sentence but a row of elements, such as links, buttons or those of XML."""
    rows = [node for node in unit.nodes if node.close and node.name not in INLINE]
    if not rows or (len(rows) == 1 and rows[0].end - rows[0].start < len(unit.text.strip())):
        return [unit]
    edges = [0, *(place for node in rows for place in (node.start, node.end)), len(unit.text)]
    if any(map(str.isalpha, "".join(unit.text[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2)))):
        return [unit]
    parts: list[Part] = []
    at = number = 0
    for node in [*rows, None]:
        before = []
        while number < len(unit.nodes) and unit.nodes[number] is not node:
            before.append(unit.nodes[number])
            number += 1
        number += 1
        parts += _piece(unit, before, (at, len(unit.text) if node is None else node.start))
        if node is not None:
            parts += [node.open, *_piece(unit, node.children, (node.start, node.end)), node.close]
            at = node.end
    return parts


def _piece(unit: Unit, nodes: Sequence[InlineElement], span: tuple[int, int]) -> list[Part]:
    """Return a range of a unit, with the nodes in it, in parts."""
    text = unit.text[slice(*span)]
    _shift(nodes, -span[0])
    return divided(Unit(text, [*nodes])) if text or nodes else []


def _shift(nodes: Sequence[InlineElement], by: int) -> None:
    waiting = [*nodes] if by else []
    while waiting:
        node = waiting.pop()
        node.start, node.end = node.start + by, node.end + by
        waiting += node.children


def _note_blanks(nodes: Sequence[InlineElement], text: str, start: int, end: int) -> None:
    """Record the white space around nodes without width, within text[start:end], the range of their parent.

    `collapse_spaces` turns the two spaces around such a node into one, and a translation has at most one.
    """
    for index, node in enumerate(nodes):
        if node.start < node.end:
            _note_blanks(node.children, text, node.start, node.end)
            continue
        follows = index > 0 and nodes[index - 1].end == node.start
        followed = index + 1 < len(nodes) and nodes[index + 1].start == node.end
        before = not follows and node.start > start and text[node.start - 1].isspace()
        after = not followed and node.end < end and text[node.end].isspace()
        node.blanks = before, after


def escape(text: str) -> str:
    """Return a text as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


BLANKS = re.compile(r"[ \t\r\n\f]+")
BLANK_OR_CHARACTER = re.compile(r"[ \t\r\n\f]+|.", re.DOTALL)


def collapse_spaces(unit: Unit) -> Unit:
    """Return the unit with one space for each run of white space, as in HTML: a line break does not end a sentence."""
    text = BLANKS.sub(" ", unit.text)
    if text == unit.text:
        return unit
    places = [0]  # the new offset of each old one
    for size, match in enumerate(BLANK_OR_CHARACTER.finditer(unit.text), start=1):
        places.extend([size] * len(match[0]))
    return Unit(text, [_moved(node, places) for node in unit.nodes])


def _moved(node: InlineElement, places: Sequence[int]) -> InlineElement:
    children = [_moved(child, places) for child in node.children]
    return replace(node, start=places[node.start], end=places[node.end], children=children)
