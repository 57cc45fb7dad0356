"""Messages of programs: places in a file whose texts are translated; everything else keeps its bytes.

A message is a list of parts: a string stays as it is, a line is translated. Placeholders stay, and markup inside a line
follows its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from service.documents.encodings import Encoding, decode
from service.documents.errors import DocumentTooLarge
from service.documents.format import Limits, check_file_size, edited, limited
from service.documents.fragments import MARKUP, PLACEHOLDER, Tags, as_it_is, from_markup, has_words, render

ESCAPE = re.compile(r"\\(?:[uU]([0-9a-fA-F]{4})|(.))", re.DOTALL)
CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
NO_TEXT = re.compile("[\0\ud800-\udfff]")
LONGEST = 100_000
MOST_BYTES = 2  # of a file, for each character that may be translated; a parsed file takes fifty times its size


def text_of(data: bytes, limits: Limits, named: str | None = None) -> tuple[str, Encoding]:
    """Return the text of a file of messages and its encoding; raise DocumentError, also for one that is too large."""
    check_file_size(len(data), Limits(file_bytes=MOST_BYTES * limits.characters))
    return decode(data, named)


@dataclass(frozen=True, slots=True)
class Notation:
    """How the lines of a message are written."""

    tag: re.Pattern[str] = MARKUP
    kept: re.Pattern[str] = PLACEHOLDER
    decode: Callable[[str], str] = as_it_is  # of the text between tags
    encode: Callable[[str], str] = as_it_is
    divider: re.Pattern[str] = re.compile(r"(?<!\s)\s*\n\s*")  # between two lines
    counts: Mapping[str, str] = field(default_factory=dict)  # what the engine is shown of kept parts that are counts


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is translated: a fragment, and what its tags stand for."""

    fragment: str
    tags: Sequence[Tags]
    encode: Callable[[str], str]


Part = str | Line
Edit = tuple[int, int, str]  # start, end, and the new text


def parts_of(text: str, notation: Notation) -> list[Part]:
    """Return a message in parts; raise DocumentTooLarge."""
    if len(text) > LONGEST:
        raise DocumentTooLarge(f"A message has {len(text)} characters; the most are {LONGEST}. Split it into several.")
    if NO_TEXT.search(text):
        return [text]
    parts: list[Part] = []
    at = 0
    for divider in [*notation.divider.finditer(text), None]:
        line = text[at : divider.start() if divider else len(text)]
        fragment, tags = from_markup(line, notation.tag, notation.decode, notation.kept, notation.counts)
        parts.append(Line(fragment, tags, notation.encode) if has_words(_spoken(fragment)) else line)
        if divider:
            parts.append(divider[0])
            at = divider.end()
    return parts


KEPT = re.compile(r'<b \d+ translate="no">[^<]*</b>')


def _spoken(fragment: str) -> str:
    """Return a fragment without what is kept, so that a line of placeholders has no words."""
    return KEPT.sub("", fragment)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands in a file."""

    start: int
    end: int
    parts: Sequence[Part]
    write: Callable[[str], str] = as_it_is  # a new message as the file has it
    is_open: bool = False  # it has no translation yet, so that one is written even if it equals the original

    @property
    def lines(self) -> list[Line]:
        """Return what is translated."""
        return [part for part in self.parts if isinstance(part, Line)]


class MessagesDocument:
    """A file and the places of its messages; `edits` are other changes.

    Raise DocumentTooLarge as soon as there are too many messages.
    """

    def __init__(
        self,
        text: str,
        encoding: Encoding,
        places: Iterable[Place],
        limits: Limits,
        edits: Sequence[Edit] = (),
    ) -> None:
        self._text = text
        self._encoding = encoding
        self._places: list[Place] = []
        self._edits = edits
        self.segments: list[str] = [*limited(self._read(places), limits)]

    def _read(self, places: Iterable[Place]) -> Iterator[str]:
        """Collect the places with text, and yield their fragments."""
        for place in places:
            if lines := place.lines:
                self._places.append(place)
                yield from (line.fragment for line in lines)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the file; a message without a change keeps its bytes."""
        waiting = iter(translations)
        edits = [*self._edits]
        for place in self._places:
            news = [next(waiting) for _ in place.lines]
            if place.is_open or news != [line.fragment for line in place.lines]:
                edits.append((place.start, place.end, place.write(joined(place.parts, iter(news)))))
        return self._encoding.encode(edited(self._text, edits))


def joined(parts: Sequence[Part], news: Iterator[str]) -> str:
    """Return a message with new fragments for its lines."""
    return "".join(part if isinstance(part, str) else render(next(news), part.tags, part.encode) for part in parts)


def unescaped(text: str) -> str:
    r"""Return a text with the escapes of C and Java resolved, such as `\n` and `\u00e9`."""

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else CONTROLS.get(match[2], match[2])

    result = ESCAPE.sub(character, text)
    return result.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def escaped_beyond_ascii(text: str) -> str:
    r"""Return a text with `\uXXXX` for every character that is not in ASCII."""

    def escape(match: re.Match[str]) -> str:
        return "".join(f"\\u{unit[:4]}" for unit in re.findall("....", match[0].encode("utf-16-be").hex().upper()))

    return re.sub(r"[^\x00-\x7f]", escape, text)
