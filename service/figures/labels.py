"""Prepares texts of users for a picture: nothing invisible, and nothing invalid for XML or the drawing library."""

import unicodedata
from collections.abc import Iterable
from itertools import groupby

from service.engine import TokenOrWord

LONGEST = 40  # characters of a label; a word may be a URL
# Invisible, but words of some scripts and many emoji (families, flags) contain them.
_MARKS = "\u200c\u200d\ufe0e\ufe0f"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: str) -> str:
    r"""Return the text with plain spaces only, and with an escape such as \n or \u202e for an invisible character."""
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if " " <= character <= "~" or character in _MARKS or "\U000e0020" <= character <= "\U000e007f":
        return character
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category not in _UNSEEN:
        return character
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    return f"\\u{ord(character):04x}"


def shorten(text: str, longest: int) -> str:
    """Return at most `longest` characters, the last of which is … if something was left out."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def label(token: TokenOrWord) -> str:
    """Return the label of a row or a column; never empty."""
    shown = token.special or token.text or token.piece
    return shorten(clean(shown), LONGEST).strip() or "␣"


def labels(tokens: Iterable[TokenOrWord]) -> tuple[str, ...]:
    """Return the labels of an axis; tokens that are bytes of one character are numbered, such as "🐶 2/4"."""
    shown: list[str] = []
    for _, group in groupby(enumerate(tokens), key=_place):
        same = [token for _, token in group]
        shown += [label(token) if len(same) == 1 else f"{label(token)} {number}/{len(same)}"
                  for number, token in enumerate(same, start=1)]  # fmt: skip
    return tuple(shown)


def _place(numbered: tuple[int, TokenOrWord]) -> tuple[int, int, int]:
    """Return the place of a token in the text; only bytes of one character share a place that is not empty."""
    number, token = numbered
    alone = token.special is not None or token.start >= token.end
    return (token.start, token.end, number if alone else -1)


def right_to_left(text: str) -> bool:
    """Return whether a text has letters of a script that is written from right to left."""
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)


def pictorial(text: str) -> bool:
    """Return whether a text has emoji, which no bold face has."""
    return any(character > "\uffff" or unicodedata.category(character) == "So" for character in text)


def width(text: str, font_size: float) -> float:
    """Return the approximate width of a text, in pixels."""
    return sum(_em(character) for character in text) * font_size


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.68 if character.isupper() or character in "mwMW" else 0.54
