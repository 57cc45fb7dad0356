"""The machine's fonts as pictures need them: how wide a line of text is, and the outlines of its letters.

The drawing library opens the font's file anew for every letter that it measures or draws. Here every file is opened
once, and HarfBuzz, which browsers shape text with, does the rest.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import uharfbuzz as hb

from service.figures.labels import pictorial, right_to_left, width
from service.figures.theme import families

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")
REGULAR = ("regular", "book", "roman", "normal")
# They join letters into one, or choose between a letter and an emoji.
_JOINING = "\u200c\u200d\ufe0e\ufe0f"
_EMOJI_WIDTH = 1.25  # em


@dataclass(frozen=True, slots=True)
class Glyph:
    """An outline and its place on the line, in ems; y points down."""

    x: float
    y: float
    scale: float  # of the outline's own units
    outline: str  # an SVG path; empty for a space


@dataclass(frozen=True, slots=True)
class Rest:
    """A part of a line that no face of ours has, such as an emoji, and its place."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text: its width in ems, and its parts; None if their order is more than we know."""

    width: float
    parts: tuple[Glyph | Rest, ...] | None


@dataclass(slots=True)
class Face:
    """One font file's face, open."""

    font: hb.Font
    upem: int
    outlines: dict[int, str] = field(default_factory=dict)

    def has(self, character: str) -> bool:
        """Return whether there is a glyph for a character."""
        return bool(self.font.get_nominal_glyph(ord(character)))

    def outline(self, glyph: int) -> str:
        """Return the path of a glyph, in the font's units with y pointing up."""
        if glyph not in self.outlines:
            pen = _Pen()
            self.font.draw_glyph_with_pen(glyph, pen)
            self.outlines[glyph] = "".join(pen.steps)
        return self.outlines[glyph]

    def shape(self, text: str) -> tuple[float, list[tuple[int, float, float]]]:
        """Return the width in ems, and each glyph with its place."""
        buffer = hb.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        hb.shape(self.font, buffer)
        at, placed = 0, []
        for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
            placed.append((info.codepoint, (at + position.x_offset) / self.upem, -position.y_offset / self.upem))
            at += position.x_advance
        return at / self.upem, placed


class _Pen:
    """Writes SVG; takes what HarfBuzz calls."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def _add(self, letter: str, points: Sequence[tuple[float, float]]) -> None:
        self.steps.append(letter + " ".join(f"{x:g} {y:g}" for x, y in points))

    def moveTo(self, point: tuple[float, float]) -> None:
        self._add("M", [point])

    def lineTo(self, point: tuple[float, float]) -> None:
        self._add("L", [point])

    def qCurveTo(self, *points: tuple[float, float]) -> None:
        self._add("Q", points)

    def curveTo(self, *points: tuple[float, float]) -> None:
        self._add("C", points)

    def closePath(self) -> None:
        self.steps.append("Z")


class Fonts:
    """The faces of the families that pictures name, in their order."""

    def __init__(self, folders: Sequence[str | Path] = FOLDERS) -> None:
        """Reads every font file's name, once."""
        found = dict(_faces(folders))
        self._found = found
        # A line may be asked for by both the measuring and the drawing; words come again and again.
        self.line = lru_cache(4096)(self._line)

    def __bool__(self) -> bool:
        return bool(self._found)

    def _chain(self, family_list: str, bold: bool) -> list[Face]:
        styles = (True, False) if bold else (False,)
        wanted = [(name, style) for name in families(family_list) for style in styles]
        return [self._found[key] for key in wanted if key in self._found]

    def _line(self, text: str, family_list: str, bold: bool = False) -> Line:
        """Lay out one line; spaces that follow a space take no room, as in SVG."""
        text = " ".join(filter(None, text.split(" ")))
        chain = self._chain(family_list, bold)
        at, parts = 0.0, list[Glyph | Rest]()
        for segment, backwards in _segments(text):
            runs = list(_runs(segment, chain))
            for face, part in reversed(runs) if backwards else runs:
                if face is None:
                    parts.append(Rest(at, part))
                    at += _guessed(part)
                    continue
                advance, placed = face.shape(part)
                parts += [Glyph(at + x, y, 1 / face.upem, face.outline(glyph)) for glyph, x, y in placed]
                at += advance
        return Line(at, None if _intricate(text) else tuple(parts))


def _intricate(text: str) -> bool:
    """Whether numbers stand among letters written from right to left: their order takes all of Unicode's rules."""
    return right_to_left(text) and any(unicodedata.bidirectional(character) in ("EN", "AN") for character in text)


def _segments(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text that runs from left to right into such parts and those, from letter to letter, that run backwards."""
    start = 0
    for found in _backwards().finditer(text):
        if found.start() > start:
            yield text[start : found.start()], False
        yield found.group(), True
        start = found.end()
    if start < len(text):
        yield text[start:], False


@cache
def _backwards() -> re.Pattern[str]:
    """Letters written from right to left, with what stands between them and has no direction of its own."""
    found = (chr(number) for number in range(0x0590, 0x0900))
    letters = "".join(one for one in found if unicodedata.bidirectional(one) in ("R", "AL"))
    letters += "\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff"
    marks = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    return re.compile(rf"[{letters}](?:[{letters}{marks}{_JOINING}\s.,;:!?'\"()«»…–—-]*[{letters}{marks}])?")


def _guessed(text: str) -> float:
    """About the width of what no face has."""
    if not pictorial(text):
        return width(text, 1.0)
    letters = sum(not character.isspace() and character not in _JOINING for character in text)
    return max(1, letters - text.count("\u200d")) * _EMOJI_WIDTH  # a joiner makes one of two


def _runs(text: str, chain: Sequence[Face]) -> Iterator[tuple[Face | None, str]]:
    """Cut a text where the script changes, or the first face that has a letter."""
    start, current, script = 0, None, ""
    for number, character in enumerate(text):
        joined = unicodedata.category(character).startswith("M") or character in _JOINING
        if number and (joined or (character == " " and current is not None)):
            continue  # stays with the letter before
        emoji = text[number + 1 : number + 2] == "\ufe0f" or text[number - 1 : number] == "\u200d"
        face = None if emoji else next((one for one in chain if one.has(character)), None)
        following = _script(character) or script
        if number and (face is not current or (script and following != script)):
            yield current, text[start:number]
            start = number
        current, script = face, following
    if text:
        yield current, text[start:]


@cache
def _script(character: str) -> str:
    """Return the first word of a letter's name, such as ARABIC; nothing for what is no letter."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""


def _faces(folders: Sequence[str | Path]) -> Iterator[tuple[tuple[str, bool], Face]]:
    """Each face of an upright style with its family and whether it is bold; of two of a name the last one read."""
    for folder in folders:
        for path in sorted(Path(folder).expanduser().rglob("*")):
            if path.suffix.lower() not in SUFFIXES:
                continue
            try:
                blob = hb.Blob.from_file_path(str(path))
                for index in range(max(1, hb.Face(blob).count)):
                    yield from _named(hb.Face(blob, index))
            except (OSError, hb.HarfBuzzError):
                continue  # a broken font is no reason not to draw


def _named(face: hb.Face) -> Iterator[tuple[tuple[str, bool], Face]]:
    names = hb.OTNameIdPredefined
    family, style = (face.get_name(number) or "" for number in (names.FONT_FAMILY, names.FONT_SUBFAMILY))
    if face.upem and (style.lower() in REGULAR or style.lower() == "bold"):
        yield (family, style.lower() == "bold"), Face(hb.Font(face), face.upem)
