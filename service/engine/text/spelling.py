"""How a text is spelled for the model, and how its translation is written then."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.bundle.wrapping import Span
from service.engine.text.articles import length_of_article
from service.engine.text.replacements import Replacement, inverse, moved, replaced
from service.engine.text.tokenizer import Decoded
from service.engine.types import Token

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_STOP = re.compile(r"\s?[.]$")
_STOP_OR_CALL = re.compile(r"\s?[.!]$")


class Words(Protocol):
    """The part of a tokenizer that decides about capitals."""

    def word(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text at the start of a word."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """What the model reads of a text, and how its translation is written."""

    text: str
    read: str
    replacements: tuple[Replacement, ...]  # from `text` to `read`
    capitals: bool = False  # the translation is in capitals
    capital: bool = False  # it begins with a capital
    mark: str = ""  # of the keyboard shortcut
    letter: str = ""  # after the mark
    tail: str = ""  # as the target language writes it
    no_stop: bool = False  # a full stop or an exclamation mark that the model adds is left out
    no_article_of: str = ""  # the target language, if an article of it that the model adds is left out
    kept: tuple[str, ...] = ()  # values that stay as they are, as the translation holds them

    def source_tokens(self, tokens: Sequence[Token], shift: int = 0) -> tuple[Token, ...]:
        """Return the tokens that the model reads at their places in the text."""
        return moved(tokens, inverse(self.replacements), self.text, shift)

    def span(self, start: int, end: int) -> Span:
        """Return where a range of `read` stands in the text."""
        first, last = start, end
        for old, new in self.replacements:
            first = start + old[1] - new[1] if new[1] <= start else first
            last = end + old[1] - new[1] if new[1] < end else last
        return first, last

    def write(self, decoded: Decoded, shift: int = 0) -> Decoded:
        """Return a translation of `read` as that of the text; `shift` is added to every span."""
        text = decoded.text
        kept = [span for span in decoded.values if text[slice(*span)] in self.kept]
        edits: list[tuple[Span, str]] = []
        if self.capitals:
            # ß and a few others become two letters.
            edits += [
                ((at, at + 1), character.upper())
                for at, character in enumerate(text)
                if len(character.upper()) > 1 and not is_within(at, kept)
            ]
            text = "".join(
                character if is_within(at, kept) or len(character.upper()) > 1 else character.upper()
                for at, character in enumerate(text)
            )
        begin = length_of_article(text, self.no_article_of) if self.no_article_of else 0
        if begin:
            edits.append(((0, begin), ""))
        if self.capital and text[begin : begin + 1].islower() and not is_within(begin, kept):
            text = text[:begin] + _with_capital(text[begin:])
        place = _place_of_mark(text, self.letter, kept) if self.mark else None
        if place is not None:
            edits.append(((place, place), self.mark))
        edits.sort()
        ending = _STOP if "!" in self.read else _STOP_OR_CALL
        stop = ending.search(text) if self.no_stop and not text.endswith("..") else None
        end = len(text)
        if stop is not None and stop.start():
            edits.append((stop.span(), ""))
        if self.tail and text:
            edits.append(((end, end), self.tail))
        written, replacements = replaced(text, edits)
        return Decoded(written, moved(decoded.tokens, replacements, written, shift))


def _with_capital(text: str) -> str:
    """Return a text whose first word begins with a capital; a name such as iPhone stays."""
    word = WORD.match(text)
    first = text[0].upper()
    return text if word is None or not word[0].islower() or len(first) > 1 else first + text[1:]


def _place_of_mark(text: str, letter: str, kept: Sequence[Span]) -> int | None:
    """Return the letter of a translation that gets the mark: the same one if there is one, best at a word's start."""
    letters = [at for at, character in enumerate(text) if character.isalpha() and not is_within(at, kept)]
    same = [at for at in letters if text[at].casefold() == letter.casefold()]
    starts = [at for at in same if at == 0 or not text[at - 1].isalnum()]
    return next(iter((*starts, *same, *letters)), None)


def overlap(one: Span, other: Span) -> bool:
    """Return whether two ranges have a character in common."""
    return one[0] < other[1] and other[0] < one[1]


def is_within(position: int, ranges: Sequence[Span]) -> bool:
    """Return whether a place is in one of these ranges."""
    return any(start <= position < end for start, end in ranges)
