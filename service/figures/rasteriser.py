"""SVG to PNG, so that each character of a text in several fonts is drawn."""

import re
import unicodedata

_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
_FOREIGN = re.compile(r"[\u2600-\u27bf\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\ufe0f\U00010000-\U0003ffff]")
_PICTORIAL = re.compile(r"[\u200d\ufe0e\ufe0f\u20e3\u2600-\u27bf\U0001f000-\U0001faff\U000e0020-\U000e007f]+")
_SELECTORS = re.compile(r"[\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]")
_LIGATED = re.compile(r"(?<=f)(?=[filt])|\u200d|(?=[\U0001f3fb-\U0001f3ff\U0001f1e6-\U0001f1ff])")
NON_JOINER = "\u200c"  # invisible, and a glyph in every font


def drawable(svg: str) -> str:
    """Return an SVG in which each character of a text with several fonts has its own glyph.

    If the main font lacks a character, vl-convert takes a glyph of another font only if both fonts produce the same
    number of glyphs for the whole text (https://github.com/linebender/resvg/issues/861). One ligature, one combining
    mark or one emoji of several characters elsewhere in the text would leave empty boxes. Browsers draw it correctly.
    """
    return _TEXT.sub(lambda match: _separated(match.group()), svg)


def _separated(text: str) -> str:
    if not _FOREIGN.search(text) or _PICTORIAL.fullmatch(text):
        return text
    return _LIGATED.sub(NON_JOINER, _SELECTORS.sub("", unicodedata.normalize("NFC", text)))
