"""Markdown (CommonMark with tables and strikethrough): the text of each block is translated in its place.

markdown-it finds the blocks and their inline markup. Code, front matter but for its title and description, link
addresses, footnote marks and definitions stay as they are. A paragraph that is translated becomes one line, which means
the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

from service.documents.encodings import Encoding, decode
from service.documents.format import ReadOptions, check_characters, edited
from service.documents.formats.html import HtmlDocument
from service.documents.formats.markdown_extensions import readable
from service.documents.formats.markdown_inline import ATTRIBUTES, BEFORE, Target, fragment_of, split_at_breaks, written
from service.documents.fragments import has_words, plain
from service.markup.document import escape

FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?^(?:\1|\.\.\.)[ \t]*$\r?\n?", re.DOTALL | re.MULTILINE)
DESCRIBED = re.compile(
    r"""^(?:title|description)[ \t]*[:=][ \t]*"""
    r"""(?P<value>"(?P<double>(?:[^"\\\r\n]|\\["\\])*)"|'(?P<single>(?:[^'\r\n]|'')*)'"""
    r"""|(?P<plain>[^\s"'>|&*!%@`\[\]{}#,?:-](?:(?![ \t]#|:[ \t])[^\r\n]){0,300}?))[ \t]{0,9}(?:[ \t]#[^\r\n]*)?\r?$""",
    re.MULTILINE,
)
ESCAPE = re.compile(r'\\(["\\])')
QUOTED = re.compile(r'["\\]')
MEANS_MORE = re.compile(r"""^["'>|&*!%@`\[\]{}#,?:-]|[ \t]#|:(?:[ \t]|$)""")  # in YAML, without quotes
FOOTNOTE = "\ue000^"  # instead of [^ for the parser, which would take a footnote for a link
TEMPLATE = re.compile(r"\{\{|\{%")  # of Hugo, Jinja and the like, which HTML would escape
LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
HEADING = re.compile(r"\A.*?#{1,6}[ \t]+")


def read(data: bytes, options: ReadOptions) -> MarkdownDocument:
    """Return a Markdown text; the parser is slow, so the limit of characters counts all of it, with code and links."""
    text, encoding = decode(data)
    check_characters(len(text), options.limits)
    return MarkdownDocument(text, encoding, options)


@dataclass(frozen=True, slots=True)
class Block:
    """A range of the source, its segments, and how it is written with others in their place."""

    start: int
    end: int
    segments: list[str]
    compose: Callable[[Sequence[str]], str]


class MarkdownDocument:
    """A text, and the blocks in it that are translated."""

    def __init__(self, text: str, encoding: Encoding, options: ReadOptions) -> None:
        self._text = text
        self._encoding = encoding
        front = FRONT_MATTER.match(text)
        begin = front.end() if front else 0
        self._blocks = [*(described(text[:begin]) if options.metadata else ()), *Finder(text, begin, options).blocks()]
        self.segments: Sequence[str] = [segment for block in self._blocks for segment in block.segments]

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the text with the blocks that have changed."""
        waiting = iter(translations)
        news = [[*islice(waiting, len(block.segments))] for block in self._blocks]
        edits = [
            (block.start, block.end, block.compose(new))
            for block, new in zip(self._blocks, news, strict=True)
            if new != block.segments
        ]
        return self._encoding.encode(edited(self._text, edits))


def described(front_matter: str) -> Iterator[Block]:
    """Yield the title and the description in front matter, if they are on one line."""
    for match in DESCRIBED.finditer(front_matter):
        text, quote = match["plain"], ""
        if text is None:
            quote = match["value"][0]
            text = ESCAPE.sub(r"\1", match["double"]) if quote == '"' else match["single"].replace("''", "'")
        if not has_words(escape(text)):
            continue

        def compose(translations: Sequence[str], quote: str = quote) -> str:
            new = plain(translations[0])
            if not quote and not MEANS_MORE.search(new):
                return new
            if quote == "'" and "'" not in new:
                return f"'{new}'"
            return '"' + QUOTED.sub(r"\\\g<0>", new) + '"'

        yield Block(*match.span("value"), [escape(text)], compose)


class Finder:
    """Finds the places of blocks in the source, which the parser knows by line only."""

    def __init__(self, text: str, begin: int, options: ReadOptions) -> None:
        self._text = text
        self._with_attributes = options.metadata
        self._lines = [(begin + line.start(), line[1]) for line in LINE.finditer(text[begin:])]
        lines, self._titles = readable([line for _, line in self._lines])
        source = "\n".join(lines)
        md = MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"])
        self._tokens = md.parse(source.replace("[^", FOOTNOTE))
        self._cursor = (0, 0)  # in a row of a table: its line, and the end of the last cell

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks that have words."""
        for number, start, end in self._titles:
            at, line = self._lines[number]
            if has_words(title := escape(line[start:end])):
                yield Block(at + start, at + end, [title], lambda new: plain(new[0]).replace('"', "\u201d"))
        parents: list[str] = []
        for token in self._tokens:
            if token.nesting == 1:
                parents.append(token.type)
            elif token.nesting == -1:
                parents.pop()
            block = self._block(token, parents)
            if block is not None and block.segments:
                yield block

    def _block(self, token: Token, parents: Sequence[str]) -> Block | None:
        if token.map is None:
            return None
        if token.type == "html_block" and not parents:
            return self._html(*token.map)
        if token.type != "inline":
            return None
        kind = parents[-1] if parents else ""
        if kind in {"th_open", "td_open"}:
            place = self._cell(token)
        elif kind == "heading_open" and HEADING.match(self._lines[token.map[0]][1]):
            place = self._heading(token)
        else:
            place = self._paragraph(token)
        return None if place is None else self._inline(token, place, kind)

    def _inline(self, token: Token, place: tuple[int, int], kind: str) -> Block | None:
        children = token.children or []
        before = BEFORE.match(children[0].content) if kind == "paragraph_open" and children else None
        if before is not None:
            children[0].content = children[0].content[before.end() :]
            place = place[0] + len(self._original(before[0])), place[1]
        parts = [fragment_of(part) for part in split_at_breaks(children)]
        words = [has_words(fragment) for fragment, _ in parts]
        with_words = [fragment for (fragment, _), has in zip(parts, words, strict=True) if has]
        attributes = [
            (tags, number, name, text)
            for _, tags in (parts if self._with_attributes else ())
            for number, tag in enumerate(tags)
            if isinstance(tag, Target)
            for name in ATTRIBUTES
            if has_words(text := escape(tag.text(name)))
        ]
        stop = "\\" if "\\\n" in token.content else "  "
        line = self._lines[token.map[0] + 1] if token.map and len(parts) > 1 else (0, "")
        content = token.content.split("\n")
        indent = line[1][: len(line[1].rstrip()) - len(content[1].strip())] if len(content) > 1 else ""
        in_table, begins_line = kind in {"th_open", "td_open"}, kind == "paragraph_open" and before is None

        def compose(translations: Sequence[str]) -> str:
            waiting = iter(translations)
            for (tags, number, name, _), new in zip(attributes, translations[len(with_words) :], strict=True):
                tag = tags[number]
                assert isinstance(tag, Target)
                tags[number] = tag.with_text(name, plain(new))
            texts = [
                written(next(waiting) if has else fragment, tags, in_table=in_table, begins_line=begins_line)
                for (fragment, tags), has in zip(parts, words, strict=True)
            ]
            return f"{stop}\n{indent}".join(texts)

        return Block(*place, [*with_words, *(text for *_, text in attributes)], compose)

    def _html(self, first: int, last: int) -> Block | None:
        """Return a block of HTML, whose text is translated as that of a page; None for one with templates in it."""
        start = self._lines[first][0]
        end = self._lines[last - 1][0] + len(self._lines[last - 1][1])
        if TEMPLATE.search(self._text, start, end):
            return None
        page = HtmlDocument(self._text[start:end], Encoding(), ReadOptions("", metadata=False))
        return Block(start, end, [*page.segments], page.text)

    def _heading(self, token: Token) -> tuple[int, int] | None:
        assert token.map is not None
        start, line = self._lines[token.map[0]]
        marks = HEADING.match(line)
        at = line.find(self._original(token.content), marks.end()) if marks else -1
        return None if at < 0 else (start + at, start + at + len(self._original(token.content)))

    def _cell(self, token: Token) -> tuple[int, int] | None:
        assert token.map is not None
        number = token.map[0]
        start, line = self._lines[number]
        after = self._cursor[1] if self._cursor[0] == number else 0
        content = self._original(token.content)
        for spelling in (content, content.replace("|", "\\|")):
            at = line.find(spelling, after) if spelling else -1
            if at >= 0:
                self._cursor = (number, at + len(spelling))
                return start + at, start + at + len(spelling)
        return None

    def _paragraph(self, token: Token) -> tuple[int, int] | None:
        """Return the range from the first to the last line of a paragraph; marks of lists and quotes stay before it."""
        assert token.map is not None
        content = [self._original(line) for line in token.content.split("\n")]
        number = token.map[0]
        start, first = self._lines[number]
        if number + len(content) > len(self._lines) or not first.rstrip().endswith(content[0].rstrip()):
            return None
        end, last = self._lines[number + len(content) - 1]
        return start + len(first.rstrip()) - len(content[0].rstrip()), end + len(last.rstrip())

    @staticmethod
    def _original(text: str) -> str:
        return text.replace(FOOTNOTE, "[^")
