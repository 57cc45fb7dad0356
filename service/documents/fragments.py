"""Fragments: the text of one segment with numbered inline tags, in the dialect that service.markup translates.

`<b 3>…</b>` is a span, `<wbr 4>` a point without width, `<b 5 translate="no">…</b>` a span that is kept as it is. The
numbers refer to a list of the format's own objects: run properties, elements, or strings of markup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, TypeVar

from service.markup.document import escape
from service.markup.tokens import scan

Thing = TypeVar("Thing")

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # in XML
MAX_DEPTH = 50  # spans in spans
NUMBER = re.compile(r"<\w+ ([0-9]{1,9})(?![0-9])")
# In the texts of programs; placeholders must arrive unchanged.
PLACEHOLDER = re.compile(
    r"(?<![\w\\])[A-Za-z]:\\{1,2}[\w$%~][^\s<>\"|*?]{0,300}[\w$%~\\]"  # a path of Windows, whose \n is no line break
    r"|(?<![\w\\])\\{2,4}[A-Za-z][\w.$-]{0,60}\\{1,2}[\w$][^\s<>\"|*?]{0,300}[\w$~\\]"  # on another computer
    r"|%%"
    r"|%\(\w{1,80}\)[-+ #0]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]"  # %(name)s
    r"|%(?:\d{1,3}\$)?[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|h|ll|l|z|j|t|L)?[diouxXeEfFgGcsrap@](?![a-zA-Z])"
    r"|%\{\w{1,80}\}|%L?\d{1,3}|%[nLl]\b"  # Ruby, Qt
    r"|%(?:\d\$)?#@\w{1,80}@|\$t\([^()\n]{1,80}\)"  # stringsdict of Apple, i18next
    r"|\$\{[^{}\n]{1,80}\}|\{\{[^{}\n]{1,80}\}\}|\{[\w.\[\]!:,#<>=^+ -]{0,60}\}"  # ${x}, {{x}}, {0:>4}
    r"|&[a-zA-Z]{1,32}\d{0,4};|&#\d{1,7};"
    r"|\\[nrt\"\\]"
)
MARK = re.compile(r"[\d\[\]*†‡+−-]{1,5}")  # of a footnote, in superscript: no part of the word before it
MARKUP = re.compile(r"</?(?:[A-Za-z][^<>]*|\d{1,3}\s?/?)>")  # <b>, and <0> as i18next has it


@dataclass(slots=True)
class Span:
    """An inline tag with its content; a point has none."""

    number: int
    content: list[Piece] = field(default_factory=list)
    point: bool = False


Piece = str | Span


class FragmentBuilder(Generic[Thing]):
    """Builds one fragment from left to right, and keeps the objects that its tags stand for."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self._written: list[str] = []

    def text(self, text: str) -> None:
        """Add text."""
        self._written.append(escape(text))

    def open(self, thing: Thing) -> None:
        """Begin a span."""
        self._written.append(f"<b {self._number(thing)}>")

    def close(self) -> None:
        """End the innermost span."""
        self._written.append("</b>")

    def point(self, thing: Thing) -> None:
        """Add something between two characters."""
        self._written.append(f"<wbr {self._number(thing)}>")

    def kept(self, thing: Thing, text: str) -> None:
        """Add text that is not translated."""
        self._written.append(f'<b {self._number(thing)} translate="no">{escape(text)}</b>')

    def _number(self, thing: Thing) -> int:
        self.things.append(thing)
        return len(self.things) - 1

    @property
    def fragment(self) -> str:
        """Return the fragment so far."""
        return "".join(self._written)


def parse(fragment: str) -> list[Piece]:
    """Return the tree of a fragment."""
    roots: list[Piece] = []
    stack = [roots]
    for token in scan(fragment):
        if token.kind == "text":
            stack[-1].append(token.text)
        elif token.kind == "close":
            if len(stack) > 1:
                stack.pop()
        elif match := NUMBER.match(token.text):
            span = Span(int(match[1]), point=token.name == "wbr")
            stack[-1].append(span)
            if not span.point:
                stack.append(span.content)
    return roots


def plain(fragment: str) -> str:
    """Return the text of a fragment without its tags."""
    return "".join(token.text for token in scan(fragment) if token.kind == "text")


def has_words(fragment: str) -> bool:
    """Return whether a fragment has a letter, and so something to translate."""
    texts = (token.text for token in scan(fragment) if token.kind == "text")
    return any(character.isalpha() for text in texts for character in text)


# The markup before and after a span. A point has all of it in the first; so has a span that is kept, with None.
Tags = tuple[str, str | None]


def as_it_is(text: str) -> str:
    """Return text as it is."""
    return text


def render(fragment: str, tags: Sequence[Tags], encode: Callable[[str], str] = as_it_is) -> str:
    """Return a fragment in a format whose inline markup is text; `encode` writes text between the tags."""

    def rendered(pieces: Sequence[Piece]) -> str:
        written = []
        for piece in pieces:
            if isinstance(piece, str):
                written.append(encode(piece))
            else:
                before, after = tags[piece.number]
                written += [before] if after is None else [before, rendered(piece.content), after]
        return "".join(written)

    return rendered(parse(fragment))


def from_markup(
    text: str,
    tag: re.Pattern[str],
    decode: Callable[[str], str] = as_it_is,
    kept: re.Pattern[str] | None = None,
    counts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, list[Tags]]:
    """Return text with markup as a fragment, and what its tags stand for.

    `<x …>` and its `</x>` become a span, and every other match of `tag` a point; what `kept` matches is not translated.
    `counts` says what the engine is shown of kept parts that are counts.
    """
    either = tag if kept is None else re.compile(f"{tag.pattern}|{kept.pattern}")
    matches = [*either.finditer(text)]
    is_tag = [kept is None or tag.fullmatch(match[0]) is not None for match in matches]
    closing = closing_tags([match[0] if is_one else "" for match, is_one in zip(matches, is_tag, strict=True)])
    closers = {*closing.values()}
    builder: FragmentBuilder[Tags] = FragmentBuilder()
    at = 0
    for number, match in enumerate(matches):
        builder.text(decode(text[at : match.start()]))
        at = match.end()
        if number in closing:
            builder.open((match[0], matches[closing[number]][0]))
        elif number in closers:
            builder.close()
        elif is_tag[number]:
            builder.point((match[0], ""))
        else:
            builder.kept((match[0], None), counts.get(match[0], match[0]))
    builder.text(decode(text[at:]))
    return builder.fragment, builder.things


NAME = re.compile(r"<(/?)(\w+)")


def closing_tags(tags: Sequence[str]) -> dict[int, int]:
    """Return the number of the closing tag of each opening tag that has one, properly nested."""
    closing: dict[int, int] = {}
    stack: list[tuple[int, str]] = []
    waiting: Counter[str] = Counter()  # the names in the stack
    for number, tag in enumerate(tags):
        named = NAME.match(tag)
        if named is None or tag.endswith("/>"):
            continue
        if not named[1]:
            stack.append((number, named[2]))
            waiting[named[2]] += 1
        elif waiting[named[2]]:
            while stack:
                opener, name = stack.pop()
                waiting[name] -= 1
                if name == named[2]:
                    closing[opener] = number
                    break
    return _shallow(closing)


def _shallow(closing: dict[int, int]) -> dict[int, int]:
    """Return the pairs that are nested at most MAX_DEPTH deep; the tags of deeper ones are points."""
    kept: dict[int, int] = {}
    ends: list[int] = []
    for first, last in sorted(closing.items()):
        while ends and ends[-1] < first:
            ends.pop()
        if len(ends) < MAX_DEPTH:
            kept[first] = last
            ends.append(last)
    return kept
