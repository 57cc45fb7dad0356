"""Text that tokens write, the range of each token in it, and the spaces that are only read."""

from __future__ import annotations

import re
from collections.abc import Iterable

import tokenizers

from service.bundle.vocabulary import OPENED
from service.engine.errors import InvalidText

_OPENED = re.compile("|".join(f"{place} " for place in OPENED))


def parts_words(library: tokenizers.Tokenizer) -> bool:
    """Return whether a tokenizer puts a space between an opening sign and a word."""
    normaliser = library.normalizer
    return normaliser is not None and normaliser.normalize_str("(a") == "( a"


def closed_up(text: str) -> str:
    """Return a text without the spaces that a tokenizer puts behind opening signs."""
    return _OPENED.sub("", text)


class WrittenText:
    """Collects decoded text and one span for each token written."""

    def __init__(self, closed_up: bool = False) -> None:
        """Collect text; `closed_up`: without spaces behind opening signs."""
        self._closed_up = closed_up
        self._parts: list[str] = []
        self._length = 0
        self._spaced = True  # at the start, as after a space, no space is written
        self.spans: list[tuple[int, int]] = []

    @property
    def text(self) -> str:
        """Return the text that was written."""
        return "".join(self._parts)

    def write(self, piece: str) -> None:
        """Write one token; spaces before its text do not belong to its span."""
        start = self._length
        for character in piece:
            if not character.isspace():
                self._append(character)
            elif not (self._spaced or self._is_opened()):
                self._append(" ")
                if self._length == start + 1:
                    start += 1
        self.spans.append((start, self._length))

    def write_bytes(self, run: Iterable[int]) -> None:
        """Write a run of byte tokens: those of one character share its span, and invalid bytes write nothing."""
        data = bytes(run)
        position = 0
        while position < len(data):
            size, character = _first_character(data[position:])
            self.write(character)
            self.spans[-1:] = self.spans[-1:] * size
            position += size

    def _append(self, character: str) -> None:
        self._parts.append(character)
        self._length += 1
        self._spaced = character == " "

    def _is_opened(self) -> bool:
        return self._closed_up and _OPENED.search("".join((*self._parts[-2:], " "))) is not None


def _first_character(data: bytes) -> tuple[int, str]:
    """Return the number of bytes of the first character, and the character; one byte and "" if it is not UTF-8."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            return size, data[:size].decode("utf-8")
        except UnicodeDecodeError:
            continue
    return 1, ""


def check_text(text: str) -> None:
    """Raise InvalidText if the text holds a lone surrogate, which no encoding can carry."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"The text contains a lone surrogate (U+{ord(text[error.start]):04X}) at character {error.start}; "
            "it is not valid Unicode."
        ) from None
