"""Parts of a line that are translated apart: those of a title, the points of a list, and the tags behind a text.

What is between the parts stays as it is.
"""

import re
from collections.abc import Sequence

from service.bundle.wrapping import Span
from service.engine.values.value import Kind, Value

LONGEST_TITLE = 200  # characters
SEPARATOR = r"\s(?:[|/>»›→⇒·•●▪⋅‣⁃]|\\|[\ue000-\uf8ff])\s|;\s"
_SEPARATOR = re.compile(SEPARATOR)
_ROW = re.compile(r"\W{0,3}[^\W\d_]{2,}(?:/[^\W\d_]{2,}){2,}\W{0,3}")  # (dog/cat/mouse)
_BETWEEN = re.compile(r"\W+")
_ENDS = re.compile(r"[.!?。！？]['\"»”’)\]]*\s*$|[.!?]\s")
_POINT = re.compile(r"(?<!\S)(\(?)(\d{1,2}|[a-zA-Z])\)(?=\s)")
_TAGS = frozenset({Kind.MENTION, Kind.EMOJI})
_MARKED = re.compile(r"(\*\*|~~|==|__(?=[^_]+ ))((?:(?!\1).){1,200})\1")
_BLANKS = re.compile(r"[\s\u200d\ufe0f]*")
LEAST_TAGS = 2  # one alone may be a word of its sentence


def separators(text: str, start: int, end: int, values: Sequence[Value] = ()) -> list[Span]:
    """Return the separators of a title such as *Red | Green | Blue*, outside of values; none of a sentence.

    A slash without blanks is one in a row of single words: models drop the third.
    """
    if end - start > LONGEST_TITLE or _ENDS.search(text[start:end]) or "«" in text[start:end]:
        return []
    is_row = _ROW.fullmatch(text, start, end) is not None and not text[start:end].isupper()
    spans = [match.span() for match in (_BETWEEN if is_row else _SEPARATOR).finditer(text, start, end)]
    return [span for span in spans if not any(value.start < span[1] and span[0] < value.end for value in values)]


def points(text: str, marker: Span, end: int) -> list[Span]:
    """Return the marks of the further points of a list in one line, behind the marker at its beginning."""
    first = _POINT.search(text, marker[0], end)
    if first is None or first.end() > marker[1]:
        return []
    spans: list[Span] = []
    number = first[2]
    for match in _POINT.finditer(text, marker[1], end):
        if match[1] == first[1] and match[2] == _next(number):
            spans.append(match.span())
            number = match[2]
    return spans


def length_of_tags(text: str, start: int, end: int, values: Sequence[Value]) -> int:
    """Return the length of several hashtags, mentions or emoji at the end of a line."""
    first, count = end, 0
    for value in reversed(values):
        if value.kind not in _TAGS or value.start < start or not _BLANKS.fullmatch(text, value.end, first):
            break
        first, count = value.start, count + 1
    return end - first if count >= LEAST_TAGS else 0


def within_marks(text: str, part: Span) -> Span:
    """Return a part without the marks of a style around all of it: **bold**, ~~gone~~."""
    start, end = part
    marks = _MARKED.fullmatch(text, start, end)
    return part if marks is None else marks.span(2)


def _next(mark: str) -> str:
    return str(int(mark) + 1) if mark.isdecimal() else chr(ord(mark) + 1)
