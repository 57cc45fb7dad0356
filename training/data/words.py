"""The words and marks of a text with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD = re.compile(r"(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu)'(?=\w)|\w+(?:[-'.,]\w+)*|[^\w\s]", re.IGNORECASE)
"""A French elision (l'ami) is two words, an English one (don't) one."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text and the places of its words and marks."""

    text: str
    places: list[tuple[int, int]]

    @property
    def texts(self) -> list[str]:
        """Return the words and marks."""
        return [self.text[start:end] for start, end in self.places]

    def can_stand_alone(self, span: tuple[int, int]) -> bool:
        """Return whether words, from the first to before the last number, have no mark and no elision at their ends."""
        start, end = self.places[span[0]][0], self.places[span[1] - 1][1]
        part = self.text[start:end]
        whole = not self.text[:start][-1:].strip() and part[-1] != "'" and self.text[end : end + 1] != "'"
        return whole and all(word[0].isalnum() for word in self.texts[slice(*span)])

    def within(self, span: tuple[int, int], before: str, behind: str) -> str:
        """Return the text with signs before and behind some words."""
        start, end = self.places[span[0]][0], self.places[span[1] - 1][1]
        return f"{self.text[:start]}{before}{self.text[start:end]}{behind}{self.text[end:]}"


def words_of(text: str) -> Words:
    """Return the words and marks of a text."""
    return Words(text, [match.span() for match in WORD.finditer(text)])
