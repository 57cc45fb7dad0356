"""Text that is written token by token, and the range of each token in it."""

from __future__ import annotations

from collections.abc import Iterable


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
