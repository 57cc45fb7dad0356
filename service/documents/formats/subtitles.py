"""Subtitles, SubRip (srt) and WebVTT (vtt): only the text of a cue changes; all other lines stay byte for byte.

The libraries srt and webvtt-py compose a file anew and drop what they do not know: notes, styles, regions, positions.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.bundle.line_breaks import continued, in_lines
from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument
from service.documents.format import Limits, ReadOptions, check_lines, limited
from service.documents.fragments import Tags, as_it_is, from_markup, has_words, render
from service.markup.document import escape
from service.markup.tokens import unescape

TIMING = re.compile(r"\A\s*+(?:\d+:)?\d{1,2}:\d{2}[,.]\d{1,3}\s*-->\s*(?:\d+:)?\d{1,2}:\d{2}[,.]\d{1,3}")
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|</?\d[\d:.]*>|\{\\[^{}]*\}")
MOST_CUES = 6  # of a sentence; captions without stops would be one sentence
WHOLE = re.compile(r"(<([A-Za-z]\w*+)>)([^<>]*+)(</\2>)")  # a cue in italics
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
    """The lines of one speaker in a cue, without the dash and the tag before them and the tag behind them."""

    first: int  # number of its first line in the file
    count: int  # of its lines
    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class SubtitleSegment:
    """A segment: one turn, or those of a sentence that runs over several cues."""

    turns: Sequence[Turn]
    fragment: str
    tags: Sequence[Tags]


class SubtitleDocument:
    """A file in lines, and the sentences among them."""

    def __init__(self, text: str, encoding: Encoding, limits: Limits, *, is_vtt: bool) -> None:
        self._encoding = encoding
        self._is_vtt = is_vtt
        pairs = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
        self._lines = [line for line, _ in pairs]
        self._ends = [end for _, end in pairs]
        self.cues = self._cues()
        self._sentences: list[SubtitleSegment] = []
        self.segments: Sequence[str] = [*limited(self._read(), limits)]

    def _read(self) -> Iterator[str]:
        """Collect the sentences that have words, and yield their fragments."""
        turns = [turn for cue in self.cues for turn in self._turns(*cue)]
        goes_on = [False, *continued([turn.text for turn in turns])]
        groups: list[list[Turn]] = []
        for turn, follows in zip(turns, goes_on, strict=False):
            follows = follows and len(groups[-1]) < MOST_CUES and not DASH.match(turn.before)
            if follows and not any(map(TAG.search, (groups[-1][-1].text, turn.text))):
                groups[-1].append(turn)
            else:
                groups.append([turn])
        for group in groups:
            text = " ".join(turn.text for turn in group)
            fragment, tags = from_markup(text, TAG, unescape if self._is_vtt else as_it_is)
            if has_words(fragment):
                self._sentences.append(SubtitleSegment(group, fragment, tags))
                yield fragment

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
        dash = match[0] if has_dash and (match := DASH.match(lines[0])) else ""
        text = " ".join([lines[0][len(dash) :], *lines[1:]])
        if whole := WHOLE.fullmatch(text):
            return Turn(first, len(lines), whole[3], dash + whole[1], whole[4])
        return Turn(first, len(lines), text, dash)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the file; a translation has as many lines as its original, or fewer."""
        lines: list[str | None] = [*self._lines]
        for sentence, fragment in zip(self._sentences, translations, strict=True):
            if fragment == sentence.fragment:
                continue
            text = render(fragment, sentence.tags, escape if self._is_vtt else as_it_is).replace("-->", "->")
            for turn, part in zip(sentence.turns, shared(text, [turn.text for turn in sentence.turns]), strict=True):
                new = balanced(turn.before + part + turn.after, turn.count) if part else []
                lines[turn.first : turn.first + turn.count] = [*new, *[None] * (turn.count - len(new))]
        pairs = zip(lines, self._ends, strict=True)
        return self._encoding.encode("".join(line + end for line, end in pairs if line is not None))


def shared(text: str, sources: Sequence[str]) -> list[str]:
    """Return a text in as many parts as its sources, of about the same shares; the last ones may be empty."""
    if len(sources) == 1:
        return [text]
    cuts = [span for span, _ in in_lines(text, "\n".join(sources))]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return parts + [""] * (len(sources) - len(parts))


def balanced(text: str, count: int) -> list[str]:
    """Return a text in at most `count` lines of about the same length; tags are never broken."""
    if count < 2:
        return [text]
    joined = TAG.sub(lambda tag: tag[0].replace(" ", "\0"), text)

    def wrapped(width: int) -> list[str]:
        return textwrap.wrap(joined, width, expand_tabs=False, break_long_words=False, break_on_hyphens=False)

    least = max(1, -(-len(joined) // count))
    widths = range(least, max(least, len(joined)) + 1)
    width = widths[bisect_left(widths, True, key=lambda candidate: len(wrapped(candidate)) <= count)]
    return [line.replace("\0", " ") for line in wrapped(width)] or [""]
