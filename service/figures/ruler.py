"""A font of blank measures: its letter number k is a bar k hundredths of an em wide.

The drawing library takes a tenth of a millisecond to measure one letter. A text whose width is known is therefore given
to it as a letter or two of this font, which have that very width; afterwards the text is put in their place.
"""

from __future__ import annotations

import struct
from itertools import chain
from pathlib import Path

FAMILY = "Translucent Ruler"
UNITS = 100  # in an em
WIDEST = 4096  # units of one letter
FIRST = 0xE000  # private use: labels show such characters of a user as escapes
LETTERS = rf"[{chr(FIRST)}-{chr(FIRST + WIDEST)}]+"


def letters(width: int, variant: int = 0) -> str:
    """A text of this font, `width` units wide (at least one); each variant is another, as wide or hardly wider."""
    width = max(1, width)
    whole, rest = divmod(width, WIDEST)
    parts = [WIDEST] * whole + [rest] * bool(rest)
    if variant and parts[-1] // 2 >= variant:
        parts[-1:] = [variant, parts[-1] - variant]
    elif variant:
        return letters(width + 1, variant - parts[-1] // 2 - 1)
    return "".join(chr(FIRST + part) for part in parts)


def write(folder: Path) -> None:
    """Write the font into a folder."""
    (folder / "ruler.ttf").write_bytes(font())


def font() -> bytes:
    """The font as a TrueType file; https://learn.microsoft.com/typography/opentype/spec/otff names its fields."""
    count = WIDEST + 1
    outlines = [b"", *map(_bar, range(1, count))]
    places = [0]
    for outline in outlines:
        places.append(places[-1] + len(outline))
    tables = {
        b"cmap": _characters(),
        b"glyf": b"".join(outlines),
        b"head": struct.pack(
            ">4L2H2q4h2H3h", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, UNITS, 0, 0, 0, 0, WIDEST, 1, 0, 8, 2, 1, 0
        ),
        b"hhea": struct.pack(">L3hH11hH", 0x10000, 80, -20, 0, WIDEST, 0, 0, WIDEST, 1, *[0] * 7, count),
        b"hmtx": struct.pack(f">{2 * count}H", *chain.from_iterable((width, 0) for width in range(count))),
        b"loca": struct.pack(f">{count + 1}L", *places),
        b"maxp": struct.pack(">L14H", 0x10000, count, 4, 1, *[0] * 11),
        b"name": _names({1: FAMILY, 2: "Regular", 6: FAMILY.replace(" ", "")}),
    }
    at = 12 + 16 * len(tables)
    header, body = struct.pack(">L4H", 0x10000, len(tables), 128, 3, 16 * len(tables) - 128), b""
    for tag, table in tables.items():
        header += tag + struct.pack(">3L", 0, at + len(body), len(table))  # nobody here looks at checksums
        body += table + bytes(-len(table) % 4)
    return header + body


def _bar(width: int) -> bytes:
    """Return the outline of a letter: a bar, because what is blank is taken for a missing letter."""
    flags = bytes([0x31, 0x21, 0x35, 0x21])  # on the curve; which coordinates are left out or short
    outline = struct.pack(">5h2H", 1, 0, 0, width, 1, 3, 0) + flags + struct.pack(">2hB", width, -width, 1)
    return outline + bytes(-len(outline) % 4)


def _characters() -> bytes:
    ends, starts = (FIRST + WIDEST, 0xFFFF), (FIRST, 0xFFFF)
    shifts = (-FIRST & 0xFFFF, 1)
    segments = struct.pack(">2HH2H2H2H", *ends, 0, *starts, *shifts, 0, 0)
    table = struct.pack(">7H", 4, 14 + len(segments), 0, 4, 4, 1, 0) + segments
    return struct.pack(">4HL", 0, 1, 3, 1, 12) + table


def _names(texts: dict[int, str]) -> bytes:
    records, data = b"", b""
    for number, text in texts.items():
        encoded = text.encode("utf-16-be")
        records += struct.pack(">6H", 3, 1, 1033, number, len(encoded), len(data))
        data += encoded
    return struct.pack(">3H", 0, len(texts), 6 + len(records)) + records + data
