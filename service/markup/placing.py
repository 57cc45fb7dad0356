"""Puts inline elements back into a translation, by the links between the tokens of source and target."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from service.markup.document import Node, Unit, escape

if TYPE_CHECKING:
    from service.engine import SentenceDetail


def write(unit: Unit, text: str, sentences: Sequence[SentenceDetail]) -> str:
    """Return a translated unit as HTML; without `sentences` (nothing was translated) every tag keeps its place."""
    places = _Places(unit.text, text, sentences) if sentences else None
    return _write(unit.nodes, text, (0, len(text)), places, (0, len(unit.text)))


Extent = tuple[int, int]


def _write(nodes: Sequence[Node], text: str, within: Extent, places: _Places | None, source: Extent) -> str:
    spots = [(places.of(node, source, within) if places else (node.start, node.end), node) for node in nodes]
    written = []
    at = within[0]
    for (start, end), node in sorted(spots, key=lambda spot: spot[0][0]):  # stable: equal spots keep their order
        begin = max(start, at)
        finish = max(end, begin)
        while begin < finish and begin > start and text[begin].isspace():
            begin += 1
        before = after = ""
        if node.start == node.end and begin == finish:
            begin, before, after = _spaced(node, text, begin, (at, within[1]))
            finish = begin
        inner = _write(node.children, text, (begin, finish), places, (node.start, node.end))
        written += [escape(text[at:begin]), before, node.open, inner, node.close, after]
        at = finish
    return "".join([*written, escape(text[at : within[1]])])


NO_SPACE_BEFORE = ".,;:!?…)]}»”"


def _spaced(node: Node, text: str, place: int, within: Extent) -> tuple[int, str, str]:
    """Return the place of a node without width in a translation, and the spaces to add to keep those it had."""
    low, high = within
    before, after = node.blanks
    blank_left = place > 0 and text[place - 1].isspace()
    blank_right = text[place : place + 1].isspace()
    if after and not before and blank_left and not blank_right and place > low:
        return place - 1, "", ""
    if before and not after and blank_right and not blank_left and place < high:
        return place + 1, "", ""
    left = before and not blank_left and place > 0
    right = after and not blank_right and place < len(text) and text[place] not in NO_SPACE_BEFORE
    return place, " " * left, " " * right


WRITTEN, WORDS = re.compile(r"\S+"), re.compile(r"[^\W_]+")


class _Runs:
    """The runs of some kind of character in a text: a place in it is found without a walk through the text."""

    def __init__(self, kind: re.Pattern[str], text: str) -> None:
        spans = [found.span() for found in kind.finditer(text)]
        self._starts, self._ends = [start for start, _ in spans], [end for _, end in spans]

    def following(self, place: int) -> int:
        """Return the first place from here on that has such a character; an endless one if there is none."""
        run = bisect_right(self._ends, place)
        return max(self._starts[run], place) if run < len(self._starts) else sys.maxsize

    def before(self, place: int) -> int:
        """Return the last place up to here that follows such a character; 0 if there is none."""
        run = bisect_left(self._starts, place) - 1
        return min(self._ends[run], place) if run >= 0 else 0

    def around(self, place: int) -> Extent:
        """Return the run that this place divides, or the place itself if it divides none."""
        run = bisect_left(self._starts, place) - 1
        inside = run >= 0 and place < self._ends[run]
        return (self._starts[run], self._ends[run]) if inside else (place, place)


class _Places:
    """Maps ranges of the source to ranges of the target, by the links between their tokens."""

    def __init__(self, source: str, target: str, sentences: Sequence[SentenceDetail]) -> None:
        self.source = source
        self.target = target
        links = [(one.source_tokens[i], one.target_tokens[j]) for one in sentences for i, j in one.alignment]
        extents = (((left.start, left.end), (right.start, right.end)) for left, right in links)
        self.links = sorted(extents)  # (source, target), in the order of the source
        self.starts = [extent[0] for extent, _ in self.links]
        self.ends = [extent[1] for extent, _ in self.links]
        # For each link: the last target before it, and the first target from it on.
        self.reached = list(accumulate((target[1] for _, target in self.links), max, initial=0))
        firsts = accumulate((target[0] for _, target in reversed(self.links)), min, initial=len(target))
        self.ahead = list(firsts)[::-1]
        self.written, self.target_written = _Runs(WRITTEN, source), _Runs(WRITTEN, target)
        self.target_words = _Runs(WORDS, target)

    def of(self, node: Node, source: Extent, within: Extent) -> Extent:
        """Return the target extent of a node, inside the extent of its parent."""
        if node.start == node.end:
            place = self._point(node.start, source, within)
            return place, place
        if self.written.following(source[0]) >= node.start and self.written.following(node.end) >= source[1]:
            return within
        first, last = bisect_right(self.ends, node.start), bisect_left(self.starts, node.end)
        found = [target for _, target in self.links[first:last]]
        if not found:
            return self._between(node, source, within)
        return self._shaped(node, min(start for start, _ in found), max(end for _, end in found), within)

    def _between(self, node: Node, source: Extent, within: Extent) -> Extent:
        """Return the range of a node without links: the words between those from before it and those from after it."""
        start = self.reached[bisect_right(self.ends, node.start)]
        end = self.ahead[bisect_left(self.starts, node.end)]
        start, end = self.target_written.following(start), self.target_written.before(end)
        if start >= end:
            place = self._point(node.start, source, within)
            return place, place
        return self._shaped(node, start, end, within)

    def _shaped(self, node: Node, start: int, end: int, within: Extent) -> Extent:
        words = self.target_words
        if start < end:
            start = words.around(start)[0]
        end = words.around(end)[1]
        if self.source[node.end - 1].isalnum():
            end = max(words.before(end), min(end, start + 1))
        low, high = within
        start = min(max(start, low), high)
        return start, min(max(end, start), high)

    def _point(self, place: int, source: Extent, within: Extent) -> int:
        low, high = within
        if self.written.following(source[0]) >= place:
            return low
        if self.written.following(place) >= source[1]:
            return high
        after = bisect_left(self.starts, place)
        return min(max(self.links[after][1][0], low), high) if after < len(self.links) else high
