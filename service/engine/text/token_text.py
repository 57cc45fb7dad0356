"""Text that is written token by token, and the range of each token in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from service.bundle.vocabulary import SPACE_PIECE
from service.engine.types import Token


class WrittenText:
    """Collects decoded text and one span for each token written."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._spaced = True  # at the start, as after a space, no space is written
        self.spans: list[tuple[int, int]] = []

    @property
    def text(self) -> str:
        """Return the text that was written."""
        return "".join(self._parts)

    def ahead(self) -> WrittenText:
        """Return an empty text that continues this one: its ranges begin where this one ends."""
        following = WrittenText()
        following._length, following._spaced = self._length, self._spaced
        return following

    def write(self, piece: str) -> None:
        """Write one token; spaces before its text do not belong to its span."""
        start = self._length
        for character in piece:
            if not character.isspace():
                self._append(character)
            elif not self._spaced:
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


def _first_character(data: bytes) -> tuple[int, str]:
    """Return the number of bytes of the first character, and the character; one byte and "" if it is not UTF-8."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            return size, data[:size].decode("utf-8")
        except UnicodeDecodeError:
            continue
    return 1, ""


class TokenWriter:
    """Writes the tokens of one translation as they are chosen, each in about the same time."""

    def __init__(
        self, pieces: Callable[[int], str], values: Mapping[int, int], specials: Mapping[int, str], shift: int
    ) -> None:
        """Take the piece of each id, the value of each id of a byte, and the names of special ids."""
        self._pieces, self._bytes, self._specials, self._shift = pieces, values, specials, shift
        self._written = WrittenText()
        self._run: list[int] = []  # bytes that may continue a character

    def add(self, number: int) -> tuple[Token, str]:
        """Write a token, and return it with the text so far; the bytes of an incomplete character write nothing yet."""
        text = self._written
        if number in self._bytes:
            self._run.append(self._bytes[number])
            text = self._written.ahead()
            text.write_bytes(self._run)
            whole = self._written.text + text.text
        else:
            if self._run:
                text.write_bytes(self._run)
                self._run = []
            text.write("" if number in self._specials else self._pieces(number).replace(SPACE_PIECE, " "))
            whole = text.text
        whole = whole.rstrip(" ")
        start, end = (min(place, len(whole)) for place in text.spans[-1])
        own, special = whole[start:end], self._specials.get(number)
        return Token(number, self._pieces(number), own, start + self._shift, end + self._shift, special), whole
