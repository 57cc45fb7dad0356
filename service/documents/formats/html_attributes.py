"""Attributes of HTML that are text: `alt`, `title`, `placeholder`, labels of buttons, and the descriptions of a page.

Each becomes a mark in its tag. Tags are kept as they are, wherever their words go, and so the marks are found again.
"""

import re
from collections.abc import Iterator, Sequence

from service.documents.fragments import has_words, plain
from service.markup.document import InlineElement, Part, Unit, escape
from service.markup.tokens import TAG, HtmlToken, unescape

SHOWN = frozenset({"alt", "title", "placeholder", "aria-label"})
BUTTONS = frozenset({"submit", "button", "reset"})  # inputs whose value is their label
DESCRIPTIONS = frozenset({"description", "og:title", "og:description", "twitter:title", "twitter:description"})
ATTRIBUTE = re.compile(r"""(?<![^\s"'<>/=])([^\s"'<>/=]++)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'=<>`]++)""")
PRIVATE = "\ue001"
MARK = re.compile(f"{PRIVATE}([0-9]{{1,9}}){PRIVATE}")


def may_have_marks(page: str) -> bool:
    """Return whether a page does not have the character of the marks itself."""
    return PRIVATE not in unescape(page)


class Attributes:
    """The attributes of a page that are translated; the tags of its parts get marks in their places."""

    def __init__(self) -> None:
        self._raw: list[str] = []
        self.segments: list[str] = []

    def marked(self, part: Part) -> Part:
        """Return a part of the page with marks."""
        if isinstance(part, str):
            return self._in_tag(part)
        for node in _nodes(part.nodes):
            node.open = self._in_tag(node.open)
        return Unit(part.text, part.nodes)

    def _in_tag(self, source: str) -> str:
        """Return the source of a tag, or of an element that is kept, with marks in its first tag."""
        tag = TAG.match(source)
        if tag is None or tag[1] or HtmlToken("open", tag[0]).untranslated:
            return source
        pairs = {match[1].lower(): _value(match[2]) for match in ATTRIBUTE.finditer(tag[3])}
        named = {pairs.get("name", "").lower(), pairs.get("property", "").lower()}
        shown_names = {"content"} if tag[2].lower() == "meta" and named & DESCRIPTIONS else SHOWN
        if tag[2].lower() == "input" and pairs.get("type", "").lower() in BUTTONS:
            shown_names = SHOWN | {"value"}

        def marked(match: re.Match[str]) -> str:
            text = escape(_value(match[2]))
            if match[1].lower() not in shown_names or not has_words(text):
                return match[0]
            self.segments.append(text)
            self._raw.append(match[2])
            return f"{match[0][: -len(match[2])]}{PRIVATE}{len(self._raw) - 1}{PRIVATE}"

        start, end = tag.span(3)
        return source[:start] + ATTRIBUTE.sub(marked, tag[3]) + source[end:]

    def restored(self, page: str, translations: Sequence[str]) -> str:
        """Return a written page with its attributes; one that has not changed is written as it was."""

        def value(match: re.Match[str]) -> str:
            number = int(match[1])
            if number >= len(self._raw):
                return match[0]  # a glossary may write anything
            raw, new = self._raw[number], translations[number]
            if new == self.segments[number]:
                return raw
            sign = "'" if raw[0] == "'" else '"'
            return sign + escape(plain(new)).replace(sign, "&#39;" if sign == "'" else "&quot;") + sign

        return MARK.sub(value, page) if self._raw else page


def _value(raw: str) -> str:
    """Return the text of an attribute as it stands in a tag."""
    return unescape(raw[1:-1] if raw[0] in "\"'" else raw)


def _nodes(nodes: Sequence[InlineElement]) -> Iterator[InlineElement]:
    waiting = [*reversed(nodes)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)
