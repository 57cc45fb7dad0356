"""Plain text: every line is a segment, and so is a paragraph whose lines were wrapped in mid-sentence.

The lines of such a paragraph are joined for translation, and the translation is wrapped as wide. Columns that wide
spaces or tabs divide are translated one by one, and begin where they began.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from service.bundle.line_breaks import continued
from service.documents.encodings import Encoding, decode
from service.documents.format import ReadOptions, check_lines, limited
from service.documents.fragments import plain
from service.markup.document import escape

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
GAP = re.compile(r"(?<=\S)(?: {3,}|(?<! ) *+\t[ \t]*+)(?=\S)")  # between two columns


def read(data: bytes, options: ReadOptions) -> TextDocument:
    """Return a text in UTF-8, or in UTF-16 with a byte order mark."""
    return TextDocument(*decode(data), options)


class TextDocument:
    """A text in groups of lines."""

    def __init__(self, text: str, encoding: Encoding, options: ReadOptions) -> None:
        check_lines(text)
        self._encoding = encoding
        pairs = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
        groups = paragraphs([line for line, _ in pairs])
        self._ends = [end for _, end in pairs]
        self._groups = groups
        self._translated: list[tuple[int, int]] = []  # numbers of a group and of a column in it
        self.segments: Sequence[str] = [*limited(self._read(), options.limits)]

    def _read(self) -> Iterator[str]:
        """Yield the groups, or their columns, that have words as fragments."""
        for number, group in enumerate(self._groups):
            for column, text in enumerate(columns_of(group)):
                if any(map(str.isalpha, text)):
                    self._translated.append((number, column))
                    yield escape(text)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the text with the same line ends, as far as there are as many lines."""
        news: dict[int, dict[int, str]] = {}
        for (number, column), old, new in zip(self._translated, self.segments, translations, strict=True):
            if new != old:
                news.setdefault(number, {})[column] = plain(new)
        groups = [
            rewritten(group, news[number]) if number in news else group for number, group in enumerate(self._groups)
        ]
        written = []
        first = 0
        for group, old_group in zip(groups, self._groups, strict=True):
            last = first + len(old_group) - 1
            inner = self._ends[first] if len(old_group) > 1 else "\n"
            written += [inner.join(group), self._ends[last]]
            first = last + 1
        return self._encoding.encode("".join(written))


def paragraphs(lines: Sequence[str]) -> list[list[str]]:
    """Return lines in groups: the lines of one sentence together, every other line alone."""
    groups: list[list[str]] = []
    for line, goes_on in zip(lines, [False, *continued(lines)], strict=False):
        if goes_on:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def columns_of(lines: Sequence[str]) -> list[str]:
    """Return the columns of a line, or the text of a sentence that runs over several."""
    return GAP.split(lines[0]) if len(lines) == 1 else [" ".join(map(str.strip, lines))]


def rewritten(lines: Sequence[str], news: Mapping[int, str]) -> list[str]:
    """Return lines with new texts in some columns; each column begins where it began, if there is room."""
    if len(lines) > 1:
        return rewrapped(news[0], lines)
    [line] = lines
    gaps = [*GAP.finditer(line)]
    written = ""
    for number, text in enumerate(columns_of(lines)):
        if number:
            gap = gaps[number - 1]
            blanks = max(2, gap.end() - len(written)) * " "
            written += gap[0] if "\t" in gap[0] else blanks
        written += news.get(number, text)
    return [written]


def rewrapped(text: str, lines: Sequence[str]) -> list[str]:
    """Return text in lines that are about as wide as the lines it stands for, with their indent."""
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    width = max(map(len, lines))
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
