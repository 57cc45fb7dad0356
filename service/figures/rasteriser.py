"""SVG to PNG: with libvips where it is installed (the extra `png`), else with the drawing library, which is slower.

libvips draws with librsvg, Pango and FreeType. The drawing library maps the file of a font anew for each letter, but
draws emoji in colour, which librsvg cannot.
"""

import importlib
import re
import unicodedata
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
_EMOJI = re.compile(r"[\u20e3\u2600-\u27bf\ufe0f\U00010000-\U0010ffff]")
_FOREIGN = re.compile(r"[\u2600-\u27bf\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\ufe0f\U00010000-\U0003ffff]")
_PICTORIAL = re.compile(r"[\u200d\ufe0e\ufe0f\u20e3\u2600-\u27bf\U0001f000-\U0001faff\U000e0020-\U000e007f]+")
_SELECTORS = re.compile(r"[\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]")
_LIGATED = re.compile(r"(?<=f)(?=[filt])|\u200d|(?=[\U0001f3fb-\U0001f3ff\U0001f1e6-\U0001f1ff])")
NON_JOINER = "\u200c"  # invisible, and a glyph in every font

Rasteriser = Callable[[str, float], bytes]
"""Makes a PNG of an SVG, with so many pixels for each of the SVG's."""


def open_rasteriser(drawing_library: Any) -> Rasteriser:
    """Return the fastest rasteriser that is installed; it leaves emoji to the drawing library."""

    def coloured(svg: str, scale: float) -> bytes:
        return bytes(drawing_library.svg_to_png(drawable(svg), scale=scale))

    try:
        pyvips: Any = importlib.import_module("pyvips")
    except (ImportError, OSError):  # not installed, or without the library itself
        return coloured
    pyvips.cache_set_max(0)  # it would keep the pictures of users

    def rasterise(svg: str, scale: float) -> bytes:
        if _EMOJI.search(svg):
            return coloured(svg, scale)
        return bytes(pyvips.Image.svgload_buffer(svg.encode("utf-8"), scale=scale, unlimited=True).pngsave_buffer())

    return rasterise


def rasteriser_version() -> str:
    """Return the name and version of what makes PNGs; another one gives other bytes."""
    for name in ("pyvips-binary", "vl-convert-python"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return ""


def drawable(svg: str) -> str:
    """Return an SVG in which each character of a text with several fonts has its own glyph.

    If the main font lacks a character, vl-convert takes a glyph of another font only if both fonts produce the same
    number of glyphs for the whole text (https://github.com/linebender/resvg/issues/861). One ligature, one combining
    mark or one emoji of several characters elsewhere in the text would leave empty boxes. Browsers draw it correctly.
    """
    return _TEXT.sub(lambda found: _separated(found.group()), svg)


def _separated(text: str) -> str:
    if not _FOREIGN.search(text) or _PICTORIAL.fullmatch(text):
        return text
    return _LIGATED.sub(NON_JOINER, _SELECTORS.sub("", unicodedata.normalize("NFC", text)))
