"""Subtitles, SubRip (srt) and WebVTT (vtt): only the text of a cue changes; all other lines stay byte for byte.

The libraries srt and webvtt-py compose a file anew and drop what they do not know: notes, styles, regions, positions.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument
from service.documents.format import Limits, ReadOptions, check_lines, limited
from service.documents.fragments import Tags, as_it_is, from_markup, has_words, render
from service.markup.document import escape
from service.markup.tokens import unescape

TIMING = re.compile(r"\A\s*+(?:\d+:)?\d{1,2}:\d{2}[,.]\d{1,3}\s*-->\s*(?:\d+:)?\d{1,2}:\d{2}[,.]\d{1,3}")
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|</?\d[\d:.]*>|\{\\[^{}]*\}")
DASH = re.compile(r"\A\s*+(?:[-–—]|>>)\s*")


def read(data: bytes, options: ReadOptions) -> SubtitleDocument:
    """Return the cues of a file; a file that begins with WEBVTT is WebVTT, where text has HTML's references."""
    text, encoding = decode(data)
    check_lines(text)
    is_vtt = text.startswith("WEBVTT")
    document = SubtitleDocument(text, encoding, options.limits, is_vtt=is_vtt)
    if text.strip() and not document.cues and not is_vtt:
        raise BrokenDocument("The document has no subtitles: no line has two times with --> between them.")
    return document


@dataclass(frozen=True, slots=True)
class Turn:
    """The lines of one speaker in a cue, without the dash before them."""

    first: int  # number of its first line in the file
    lines: tuple[str, ...]
    dash: str
    fragment: str
    tags: list[Tags]


class SubtitleDocument:
    """A file in lines, and the turns among them."""

    def __init__(self, text: str, encoding: Encoding, limits: Limits, *, is_vtt: bool) -> None:
        self._encoding = encoding
        self._is_vtt = is_vtt
        found = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
        self._lines = [line for line, _ in found]
        self._ends = [end for _, end in found]
        self.cues = self._cues()
        self.turns: list[Turn] = []
        self.segments: Sequence[str] = [*limited(self._read(), limits)]

    def _read(self) -> Iterator[str]:
        """Collect the turns that have words, and yield their fragments."""
        for first, last in self.cues:
            for turn in self._turns(first, last):
                if has_words(turn.fragment):
                    self.turns.append(turn)
                    yield turn.fragment

    def _cues(self) -> list[tuple[int, int]]:
        """Return the ranges of the lines below each timing, up to an empty line."""
        ranges = []
        lines = self._lines
        for number, line in enumerate(lines):
            if TIMING.match(line):
                last = number + 1
                while last < len(lines) and lines[last].strip() and not TIMING.match(lines[last]):
                    last += 1
                ranges.append((number + 1, last))
        return ranges

    def _turns(self, first: int, last: int) -> list[Turn]:
        dashes = [DASH.match(line) for line in self._lines[first:last]]
        begins = {number for number, dash in enumerate(dashes, start=first) if dash}
        if len(begins) < 2:  # one dash may be a sentence that is broken off
            begins = set()
        starts = sorted({first, *begins})
        return [
            self._turn(start, self._lines[start:stop], start in begins)
            for start, stop in zip(starts, [*starts[1:], last], strict=True)
            if start < stop
        ]

    def _turn(self, first: int, lines: Sequence[str], has_dash: bool) -> Turn:
        dash = found[0] if has_dash and (found := DASH.match(lines[0])) else ""
        text = " ".join([lines[0][len(dash) :], *lines[1:]])
        fragment, tags = from_markup(text, TAG, unescape if self._is_vtt else as_it_is)
        return Turn(first, tuple(lines), dash, fragment, tags)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the file; a translation has as many lines as its original, or fewer."""
        lines: list[str | None] = [*self._lines]
        for turn, fragment in zip(self.turns, translations, strict=True):
            if fragment == turn.fragment:
                continue
            text = turn.dash + render(fragment, turn.tags, escape if self._is_vtt else as_it_is)
            new = balanced(text.replace("-->", "->"), len(turn.lines))
            count = len(turn.lines)
            lines[turn.first : turn.first + count] = [*new, *[None] * (count - len(new))]
        pairs = zip(lines, self._ends, strict=True)
        return self._encoding.encode("".join(line + end for line, end in pairs if line is not None))


def balanced(text: str, count: int) -> list[str]:
    """Return a text in at most `count` lines of about the same length; tags are never broken."""
    if count < 2:
        return [text]
    joined = TAG.sub(lambda tag: tag[0].replace(" ", "\0"), text)

    def wrapped(width: int) -> list[str]:
        return textwrap.wrap(joined, width, expand_tabs=False, break_long_words=False, break_on_hyphens=False)

    least = max(1, -(-len(joined) // count))
    widths = range(least, max(least, len(joined)) + 1)
    width = widths[bisect_left(widths, True, key=lambda each: len(wrapped(each)) <= count)]
    return [line.replace("\0", " ") for line in wrapped(width)] or [""]
