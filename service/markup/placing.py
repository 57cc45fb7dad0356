"""Puts inline elements back into a translation, by the links between the tokens of source and target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from service.markup.document import InlineElement, Unit, escape
from service.markup.places import Extent, PlaceMap

if TYPE_CHECKING:
    from service.engine import SentenceDetail


def write(unit: Unit, text: str, sentences: Sequence[SentenceDetail]) -> str:
    """Return a translated unit as HTML; without `sentences` (nothing was translated) every tag keeps its place."""
    places = PlaceMap(unit.text, text, sentences) if sentences or text != unit.text else None
    return _write(unit.nodes, text, (0, len(text)), places, (0, len(unit.text)))


Spot = tuple[Extent, InlineElement]


def _write(nodes: Sequence[InlineElement], text: str, within: Extent, places: PlaceMap | None, source: Extent) -> str:
    if places is None:
        spots = [((node.start, node.end), node) for node in nodes]
    else:
        ordered = sorted(((places.of(node, source, within), node) for node in nodes), key=_start)  # stable
        spots = [*_apart(ordered, within, places)]
    written: list[str] = []
    at = within[0]
    for (start, end), node in spots:
        begin = max(start, at)
        finish = max(end, begin)
        while begin < finish and begin > start and text[begin].isspace():
            begin += 1
        before = after = ""
        if node.start == node.end and begin == finish:
            if places is not None and node.blanks == (True, True):  # it stands between words, not within one
                begin = min(places.target_written.around(begin)[1], within[1])
            begin, before, after = _spaced(node, text, begin, (at, within[1]), begins=begin == 0 and not written)
            finish = begin
        inner = _write(node.children, text, (begin, finish), places, (node.start, node.end))
        written += [escape(text[at:begin]), before, node.open, inner, node.close, after]
        at = finish + (node.is_break and text[finish : finish + 1] == " ")
    return "".join([*written, escape(text[at : within[1]])])


def _start(spot: Spot) -> int:
    return spot[0][0]


def _apart(spots: Sequence[Spot], within: Extent, places: PlaceMap) -> Iterator[Spot]:
    """Yield nodes that have no character in common, in their order; one with text gets a word if there is any left."""
    last: Spot | None = None  # the last one with text
    points: list[Spot] = []  # those after it
    at = within[0]
    for (start, end), node in spots:
        if node.start == node.end:
            points.append(((start, end), node))
            continue
        if last is not None and start < at:
            last, (start, end), node = _parted(last, ((start, end), node), within, places)
        if last is not None:
            yield last
        yield from points
        points, last, at = [], ((start, end), node), max(at, end)
    if last is not None:
        yield last
    yield from points


def _parted(one: Spot, second: Spot, within: Extent, places: PlaceMap) -> tuple[Spot | None, Extent, InlineElement]:
    """Return two nodes that overlap without their common part; the second is put into the first if there is no word."""
    (begin, finish), node = one
    (start, end), later = second
    words = places.target_words
    if end > finish and words.following(finish) < end:
        return one, (words.following(finish), end), later
    if begin < start and words.before(start) > begin:
        return ((begin, words.before(start)), node), (start, end), later
    if words.following(end) < finish:
        return (second[0], later), (words.following(end), finish), node
    written = places.target_written
    word = written.nearest(finish, (start, finish))
    if word is not None and words.before(word[0]) > begin:
        return ((begin, written.before(word[0])), node), word, later
    free = places.nearest(finish, (finish, within[1]))
    if free is not None:
        return one, free, later
    if node.name == later.name == "a":  # no link may hold another one
        return one, (finish, finish), later
    both = replace(node, open=node.open + _tags(later)[0], close=_tags(later)[1] + node.close)
    return None, (begin, finish), both


def _tags(node: InlineElement) -> tuple[str, str]:
    """Return the tags of a node and of those in it, as if one were in the other."""
    opens, closes = node.open, node.close
    for child in node.children:
        inner = _tags(child)
        opens, closes = opens + inner[0], inner[1] + closes
    return opens, closes


NO_SPACE_BEFORE = ".,;:!?…)]}»”"


def _spaced(node: InlineElement, text: str, place: int, within: Extent, *, begins: bool) -> tuple[int, str, str]:
    """Return the place of a node without width in a translation, and the spaces to add to keep those it had."""
    low, high = within
    before, after = node.blanks
    blank_left = place > 0 and text[place - 1].isspace()
    blank_right = text[place : place + 1].isspace()
    if after and not before and blank_left and not blank_right and place > low:
        return place - 1, "", ""
    if before and not after and blank_right and not blank_left and place < high:
        return place + 1, "", ""
    left = before and not blank_left and not begins
    right = after and not blank_right and place < len(text) and text[place] not in NO_SPACE_BEFORE
    return place, " " * left, " " * right
