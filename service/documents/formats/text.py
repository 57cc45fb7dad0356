"""Plain text: every line is a segment, and so is a paragraph whose lines were wrapped in mid-sentence.

The lines of such a paragraph are joined for translation, and the translation is wrapped as wide.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from service.bundle.line_breaks import continued
from service.documents.encodings import Encoding, decode
from service.documents.format import ReadOptions, check_lines, limited
from service.documents.fragments import plain
from service.markup.document import escape

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")


def read(data: bytes, options: ReadOptions) -> TextDocument:
    """Return a text in UTF-8, or in UTF-16 with a byte order mark."""
    return TextDocument(*decode(data), options)


class TextDocument:
    """A text in groups of lines."""

    def __init__(self, text: str, encoding: Encoding, options: ReadOptions) -> None:
        check_lines(text)
        self._encoding = encoding
        found = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
        groups = paragraphs([line for line, _ in found])
        self._ends = [end for _, end in found]
        self._groups = groups
        self._translated: list[int] = []  # numbers of groups
        self.segments: Sequence[str] = [*limited(self._read(), options.limits)]

    def _read(self) -> Iterator[str]:
        """Yield the groups that have words as fragments."""
        for number, group in enumerate(self._groups):
            text = group[0] if len(group) == 1 else " ".join(map(str.strip, group))
            if any(map(str.isalpha, text)):
                self._translated.append(number)
                yield escape(text)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the text with the same line ends, as far as there are as many lines."""
        groups = [*self._groups]
        for number, old, new in zip(self._translated, self.segments, translations, strict=True):
            if new != old:
                groups[number] = rewrapped(plain(new), groups[number])
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


def rewrapped(text: str, lines: Sequence[str]) -> list[str]:
    """Return text in lines that are about as wide as the lines it stands for, with their indent."""
    if len(lines) == 1:
        return [text]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    width = max(map(len, lines))
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
