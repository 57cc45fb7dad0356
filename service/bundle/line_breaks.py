"""Line breaks within a sentence, as in text that was copied from a page of fixed width.

Such lines are read as one sentence, and the translation gets as many breaks. The functions have no side effects.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

Span = tuple[int, int]
FULL_LINE = 40  # characters of a line that was broken because it was full
_ENDS = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*\s*$""")
_STOPS = re.compile(r"""[.!?…。！？]["'”’»)\]]*\s*$""")
_ITEM = re.compile(r"\A\s*+(?:[-*+•·–—>#|]|\(?\w{1,3}[.)]\s)")
_BREAK = re.compile(r"\r\n|\n|\r")
_BLANK = re.compile(r"(?<=\S) (?=[^\s?!:;»])")
_BEGIN = re.compile(r"\A\W*+(?:\w{1,3}[.)]\s\W*+)?")  # list marks and quotation marks
_WORD = re.compile(r"[^\W\d_]\w*")


def continued(lines: Sequence[str]) -> list[bool]:
    """Return for each line but the last whether its sentence runs into the next one.

    It does if that one goes on in small letters, and this one is full, ends in a comma, or belongs to a sentence that
    begins with a capital and ends with a stop, some lines further on.
    """
    may_be = [_may_continue(line, following) for line, following in pairwise(lines)]
    continues: list[bool] = []
    first = 0
    while first < len(may_be):
        last = first
        while last < len(may_be) and may_be[last]:
            last += 1
        is_sentence = (
            _STOPS.search(lines[last].rstrip()[-20:]) is not None and _BEGIN.sub("", lines[first][:40])[:1].isupper()
        )
        continues += [is_sentence or _is_full(line) for line in lines[first:last]]
        continues += [False] * (last < len(may_be))
        first = last + 1
    return continues


def joined_lines(text: str, lines: Sequence[Span]) -> list[Span]:
    """Return the lines of a text, those of a sentence that runs over several lines as one."""
    if len(lines) < 2:
        return [*lines]
    contents: list[str] = []
    places: list[int] = []  # of each line in `contents`, which has an empty line where there is no line break
    for number, (start, end) in enumerate(lines):
        if number and _BREAK.fullmatch(text, lines[number - 1][1], start) is None:
            contents.append("")
        places.append(len(contents))
        contents.append(text[start:end])
    goes_on = continued(contents)
    joined: list[Span] = []
    for place, (start, end) in zip(places, lines, strict=True):
        if place and goes_on[place - 1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _is_full(line: str) -> bool:
    stripped = line.rstrip()
    return len(stripped) >= FULL_LINE or stripped.endswith(",")


def _may_continue(line: str, following: str) -> bool:
    """Return whether nothing speaks against a sentence that runs from a line into the next one."""
    end, begin = line.rstrip()[-20:], following.lstrip()
    if not end or not begin or _ENDS.search(end) or _ITEM.match(following) or line.isupper():
        return False
    word = _WORD.match(begin)
    indents = len(line) - len(line.lstrip()), len(following) - len(following.lstrip())
    return word is not None and word[0].islower() and indents[0] == indents[1]


def in_lines(text: str, source: str) -> list[tuple[Span, str]]:
    """Return the blanks of a translation that become the line breaks of its source, in order, each with its break.

    The lines have about the same shares of both texts, and no line is empty.
    """
    blanks = [match.start() for match in _BLANK.finditer(text)]
    breaks = [*_BREAK.finditer(source)]
    placed: list[tuple[Span, str]] = []
    first = 0
    for number, is_break in enumerate(breaks):
        last = len(blanks) - (len(breaks) - number - 1)  # as many remain for those that follow
        if first >= last:
            break
        share = is_break.start() * len(text) / len(source)
        after = min(max(bisect_left(blanks, share), first), last - 1)
        best = after - 1 if after > first and share - blanks[after - 1] < blanks[after] - share else after
        placed.append(((blanks[best], blanks[best] + 1), is_break[0]))
        first = best + 1
    return placed


def has_breaks(text: str) -> bool:
    """Return whether a text has more than one line."""
    return "\n" in text or "\r" in text
