"""Plain text: every line is a segment, and so is a paragraph whose lines were wrapped in mid-sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.documents.encodings import Encoding, decode
from service.documents.format import ReadOptions
from service.documents.fragments import has_words, plain
from service.documents.wrapping import paragraphs, rewrapped
from service.markup.document import escape

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")


def read(data: bytes, _options: ReadOptions) -> TextDocument:
    """Return a text in UTF-8, or in UTF-16 with a byte order mark."""
    return TextDocument(*decode(data))


class TextDocument:
    """A text in groups of lines."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._encoding = encoding
        found = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
        groups = paragraphs([line for line, _ in found])
        self._ends = [end for _, end in found]
        self._groups = groups
        joined = [escape(group[0] if len(group) == 1 else " ".join(map(str.strip, group))) for group in groups]
        self._translated = [number for number, fragment in enumerate(joined) if has_words(fragment)]
        self.segments: Sequence[str] = [joined[number] for number in self._translated]

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
