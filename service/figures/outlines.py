"""Shorter paths for the rasteriser, which takes as long to read a picture as to draw it.

A letter is written in whole hundredths of a pixel and relative to where it begins, so that the same letter of the same
size is the same string wherever it stands, and is made once. What has one colour becomes one path.
"""

from __future__ import annotations

import re
from functools import lru_cache

FINE = 100  # steps in a pixel of the SVG; a PNG has at most four pixels for one
SHRUNK = f"scale({1 / FINE:g})"

_STEP = re.compile(r"([MLQCZ])([^MLQCZ]*)")
_CELLS = re.compile(r'(<g class="mark-rect [^>]*>)((?:<path d="[^"]*" fill="[^"]*"/>){2,})(?=</g>)')
_CELL = re.compile(r'<path d="([^"]*)" fill="([^"]*)"/>')


def placed(outline: str, scale: float, x: float, y: float) -> str:
    """Return an outline of a font, y pointing up, as a path in steps (`FINE`) at a place in pixels, y pointing down."""
    (left, top), rest = _relative(outline, scale)
    return f"M{round(x * FINE) + left} {round(y * FINE) + top}{rest}"


@lru_cache(8192)  # letters of a size; some hundred characters each
def _relative(outline: str, scale: float) -> tuple[tuple[int, int], str]:
    """Return where an outline begins, and how it goes on from there."""
    at = begin = first = (0, 0)
    steps = list[str]()
    for letter, numbers in _STEP.findall(outline):
        if letter == "Z":
            steps.append("z")
            at = begin
            continue
        flat = [float(number) for number in numbers.split()]
        points = [
            (round(x * scale * FINE), round(-y * scale * FINE)) for x, y in zip(flat[::2], flat[1::2], strict=True)
        ]
        if steps or letter != "M":
            steps.append(letter.lower() + " ".join(f"{x - at[0]} {y - at[1]}" for x, y in points))
        else:
            steps.append("")
            first = points[0]
        at = points[-1]
        if letter == "M":
            begin = at
    return first, "".join(steps)


def joined(svg: str) -> str:
    """Return the same picture with cells of one colour as one path; no two cells lie on each other."""
    return _CELLS.sub(lambda found: found.group(1) + _by_colour(found.group(2)), svg)


def _by_colour(cells: str) -> str:
    paths: dict[str, str] = {}
    for path, colour in _CELL.findall(cells):
        paths[colour] = paths.get(colour, "") + path
    return "".join(f'<path d="{path}" fill="{colour}"/>' for colour, path in paths.items())
