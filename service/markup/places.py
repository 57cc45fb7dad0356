"""Where the ranges of a source stand in its translation: by the links of its tokens, its values, and its gaps."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from service.markup.document import InlineElement

if TYPE_CHECKING:
    from service.engine import SentenceDetail

Extent = tuple[int, int]

WRITTEN = re.compile(r"\S+")
# An apostrophe ends a word of one letter, as in French, but not one within: "l'homme" is two words, "aujourd'hui" one.
WORDS = re.compile(r"(?<![^\W_])(?:[^\W\d_]|[^\W\d_]{0,6}qu)['’](?=[^\W_]{3})|[^\W_]+(?:['’][^\W_]+)*")
LETTERS = re.compile(r"[^\W_]+")
LONGEST_ENDING = 3  # characters: 21<sup>st</sup>
CLOSING, OPENING = ".,;:!?…)]}»”'’\" \t\n\u00a0\u202f", "([{«“„-–—"


class Link(NamedTuple):
    """A range of the source, and the range of the target that means the same."""

    source: Extent
    target: Extent
    same: bool  # both have the same characters


class CharacterRuns:
    """The runs of some kind of character in a text: a place in it is found without a walk through the text."""

    def __init__(self, kind: re.Pattern[str], text: str) -> None:
        spans = [match.span() for match in kind.finditer(text)]
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

    def has_gap(self, extent: Extent) -> bool:
        """Return whether a range is not within one run."""
        run = bisect_right(self._starts, extent[0]) - 1
        return run < 0 or self._ends[run] < extent[1]

    def nearest(self, place: int, within: Extent) -> Extent | None:
        """Return the first run from a place on within a range, else the last one before it; None if there is none."""
        run = bisect_left(self._starts, place)
        if run < len(self._starts) and self._ends[run] <= within[1]:
            return self._starts[run], self._ends[run]
        run = bisect_right(self._ends, place) - 1
        return (self._starts[run], self._ends[run]) if run >= 0 and self._starts[run] >= within[0] else None


class PlaceMap:
    """Maps ranges of the source to ranges of the target."""

    def __init__(self, source: str, target: str, sentences: Sequence[SentenceDetail]) -> None:
        self.source = source
        self.target = target
        self.links = sorted(_links(source, target, sentences))  # in the order of the source
        self.starts = [link.source[0] for link in self.links]
        self.ends = [link.source[1] for link in self.links]
        # For each link: the last target before it, and the first target from it on.
        self.reached = list(accumulate((link.target[1] for link in self.links), max, initial=0))
        firsts = accumulate((link.target[0] for link in reversed(self.links)), min, initial=len(target))
        self.ahead = list(firsts)[::-1]
        self.written, self.target_written = CharacterRuns(WRITTEN, source), CharacterRuns(WRITTEN, target)
        self.source_words, self.target_words = CharacterRuns(LETTERS, source), CharacterRuns(WORDS, target)

    def of(self, node: InlineElement, source: Extent, within: Extent) -> Extent:
        """Return the target extent of a node, inside the extent of its parent."""
        if node.start == node.end:
            place = self._point(node.start, source, within)
            if node.is_break:
                place = self._break(node.start, place, within)
            return place, place
        if self.written.following(source[0]) >= node.start and self.written.following(node.end) >= source[1]:
            return within
        first, last = bisect_right(self.ends, node.start), bisect_left(self.starts, node.end)
        nearby = self.links[first:last]
        parts = [self._part(link, node) for link in nearby]
        if any(link.same and link.source[0] <= node.start and node.end <= link.source[1] for link in nearby):
            return self._shaped(node, *parts[0], within)
        word = self.source_words.around(node.start)[0], self.source_words.around(node.end)[1]
        if word != (node.start, node.end) and not self.written.has_gap(word):
            return self._in_word(node, word, source, within)
        if not parts:
            return self._between(node, source, within)
        return self._shaped(node, min(start for start, _ in parts), max(end for _, end in parts), within)

    def _in_word(self, node: InlineElement, word: Extent, source: Extent, within: Extent) -> Extent:
        """Return the range of a part of a word: its ending, its first letter, or else all of the word."""
        start, end = self.of(replace(node, start=word[0], end=word[1]), source, within)
        size = node.end - node.start
        if node.start > word[0] and node.end == word[1] and size <= LONGEST_ENDING:
            ending = self._end_of(node.start)
            if ending == end and end < within[1] and not self.target[end].isspace():
                end += 1  # the point of a German ordinal
            return (ending, end) if start < ending < end else (start, end)
        return (start, start + 1) if size == 1 and node.start == word[0] else (start, end)

    def _break(self, source: int, place: int, within: Extent) -> int:
        """Return the place of a line break: where its words are, if there are words before and after it."""
        low, high = within
        words = self.target_words
        if words.before(place) > low and words.following(place) < high:
            return place
        run = self.target_written.around(source * len(self.target) // len(self.source))
        return min(max(run[1] if run[1] < high else self.target_written.before(run[0]), low), high)

    def _part(self, link: Link, node: InlineElement) -> Extent:
        """Return the part of a link's target that stands for what a node has of its source."""
        begin, end = max(link.source[0], node.start), min(link.source[1], node.end)
        if (begin, end) == link.source:
            return link.target
        shift = link.target[0] - link.source[0]
        if link.same:
            return begin + shift, end + shift
        position = self.target.find(self.source[begin:end], *link.target)
        return link.target if position < 0 else (position, position + end - begin)

    def _between(self, node: InlineElement, source: Extent, within: Extent) -> Extent:
        """Return the range of a node without links: the words between those from before it and those from after it."""
        start = self.reached[bisect_right(self.ends, node.start)]
        end = self.ahead[bisect_left(self.starts, node.end)]
        start, end = self.target_written.following(start), self.target_written.before(end)
        if start >= end:
            start = end = self._point(node.start, source, within)
        return self._shaped(node, start, end, within)

    def _shaped(self, node: InlineElement, start: int, end: int, within: Extent) -> Extent:
        """Return a range of whole words for a node of whole words, without the punctuation that the node lacks."""
        low, high = within
        inside = self.source_words.around
        begins, ends = (inside(place) == (place, place) for place in (node.start, node.end))
        first, last = self.written.following(node.start), self.written.before(node.end) - 1
        if first > last:  # white space
            return min(max(start, low), high), min(max(end, start, low), high)
        words = self.target_words
        if start < end and begins:
            start = words.around(start)[0]
        if ends:
            end = words.around(end)[1]
        start, end = min(max(start, low), high), min(max(end, low), high)
        while start < end and self.target[start] in CLOSING and self.source[first].isalnum():
            start += 1
        while start < end and self.target[end - 1] in CLOSING + OPENING and self.source[last].isalnum():
            end -= 1
        has_word = any(map(str.isalnum, self.source[first : last + 1]))
        if start >= end or (has_word and words.following(start) >= end):
            start, end = self.nearest(start, within) or (start, max(start, end))
        return start, end

    def nearest(self, place: int, within: Extent) -> Extent | None:
        """Return the nearest word within a range, with all that is written together with it but punctuation."""
        spot = self.target_written.nearest(place, within)
        if spot is None:
            return self.target_words.nearest(place, within)
        start, end = spot
        while start < end and self.target[start] in CLOSING + OPENING:
            start += 1
        while start < end and self.target[end - 1] in CLOSING + OPENING:
            end -= 1
        return (start, end) if start < end else self.target_words.nearest(place, within)

    def _point(self, place: int, source: Extent, within: Extent) -> int:
        low, high = within
        if self.written.following(source[0]) >= place:
            return low
        if self.written.following(place) >= source[1]:
            return high
        return min(max(self._spot(place), low), high)

    def _spot(self, place: int) -> int:
        """Return the place in the target of what stands between two characters of the source."""
        after = bisect_left(self.starts, place)
        following = self.links[after].target[0] if after < len(self.links) else sys.maxsize
        if not after or place > self.links[after - 1].source[1]:
            return following
        end = self._end_of(place)
        if place < self.links[after - 1].source[1]:
            return end
        return following if end <= following < sys.maxsize else self.target_words.around(end)[1]

    def _end_of(self, place: int) -> int:
        """Return where the target of what ends at a place of the source ends; 0 if nothing does."""
        after = bisect_left(self.starts, place)
        link = self.links[after - 1] if after else None
        if link is not None and link.same and place < link.source[1]:
            return place - link.source[0] + link.target[0]
        return max((link.target[1] for link in self.links[bisect_left(self.ends, place) : after]), default=0)


def _links(source: str, target: str, sentences: Sequence[SentenceDetail]) -> Iterator[Link]:
    """Yield what belongs together: gaps between sentences, which are copied; values; and tokens outside of values."""
    ends = [(0, 0)]
    for one in sentences:
        yield from _gap((source, target), ends[-1], (one.source_start, one.target_start))
        ends.append((one.source_start + len(one.source_text), one.target_start + len(one.target_text)))
        for old, new in one.value_spans:
            yield Link(old, new, source[slice(*old)] == target[slice(*new)])
        old_values, new_values = (
            (sorted(spans) for spans in zip(*one.value_spans, strict=True)) if one.value_spans else ([], [])
        )
        for i, j in one.alignment:
            left, right = one.source_tokens[i], one.target_tokens[j]
            here, there = (left.start, left.end), (right.start, right.end)
            if (
                here[0] < here[1]
                and there[0] < there[1]
                and not (_touches(old_values, here) or _touches(new_values, there))
            ):
                yield Link(here, there, source[slice(*here)] == target[slice(*there)])
    yield from _gap((source, target), ends[-1], (len(source), len(target)))


def _gap(texts: tuple[str, str], start: Extent, end: Extent) -> Iterator[Link]:
    """Yield the words between two sentences, which stand in both texts; amounts may be written otherwise."""
    gap, second = (text[begin:finish] for text, begin, finish in zip(texts, start, end, strict=True))
    if gap == second:
        for word in WRITTEN.finditer(gap):
            spans = [(place + word.start(), place + word.end()) for place in start]
            yield Link(spans[0], spans[1], same=True)
    elif gap.strip() and second.strip():
        yield Link(_trimmed(gap, start[0]), _trimmed(second, start[1]), same=False)


def _trimmed(text: str, at: int) -> Extent:
    """Return the range of a text without the blanks around it, in a longer text where it begins at a place."""
    return at + len(text) - len(text.lstrip()), at + len(text.rstrip())


def _touches(spans: Sequence[Extent], extent: Extent) -> bool:
    """Return whether one of these ranges, which are in order, has a character of another one."""
    at = bisect_left(spans, extent[1], key=lambda span: span[0]) - 1
    return at >= 0 and spans[at][1] > extent[0]
