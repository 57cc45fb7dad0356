"""How the translation of a text is written that a model reads in another spelling."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.bundle.wrapping import Span
from service.engine.text.articles import length_of_article
from service.engine.text.edits import NONE, Edit, Edits
from service.engine.text.tokenizer import DecodedText

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Style:
    """How a translation is written."""

    capitals: bool = False  # in capitals
    capital: bool = False  # with a capital at its beginning
    small_in: str = ""  # the target language, if it begins with a small letter unless its first word has a capital
    mark: str = ""  # of the keyboard shortcut
    letter: str = ""  # after the mark
    tail: str = ""  # as the target language writes it
    no_marks: str = ""  # end marks that are left out if the model adds them
    no_article_of: str = ""  # the target language, if an article of it that the model adds is left out

    def write(self, decoded: DecodedText, shift: int = 0) -> DecodedText:
        """Return a translation as it is written; its values stay as they are, and `shift` is added to every span."""
        text, kept = decoded.text, decoded.values
        begin = length_of_article(text, self.no_article_of) if self.no_article_of else 0
        letters = Edits(_capitals(text, kept)) if self.capitals else NONE
        if self.capital and text[begin : begin + 1].islower() and not is_within(begin, kept):
            letters = letters.over(_capital(text, begin))
        others = [Edit(0, begin, "")] if begin else []
        place = _place_of_mark(text, self.letter, kept) if self.mark else None
        if place is not None:
            others.append(Edit(place, place, self.mark))
        stop = re.search(rf"\s?[{self.no_marks}]$", text) if self.no_marks and not text.endswith("..") else None
        if stop is not None and stop.start():
            others.append(Edit(*stop.span(), ""))
        if self.tail and text:
            others.append(Edit(len(text), len(text), self.tail))
        edits = letters.over(others)
        written = edits.edited(text)
        return DecodedText(written, edits.tokens_of_new(decoded.tokens, written, shift))


PLAIN = Style()


def _capitals(text: str, kept: Sequence[Span]) -> Iterator[Edit]:
    """Yield the letters that become capitals; ß and a few others become two."""
    for at, letter in enumerate(text):
        if letter != letter.upper() and not is_within(at, kept):
            yield Edit(at, at + 1, letter.upper())


def _capital(text: str, at: int) -> list[Edit]:
    """Return the edit that gives a word its capital; none for a name such as iPhone."""
    word = WORD.match(text, at)
    capital = text[at].upper()
    if word is not None and (not word[0].islower() or len(capital) > 1):
        return []
    return [Edit(at, at + 1, capital)]


def _place_of_mark(text: str, letter: str, kept: Sequence[Span]) -> int | None:
    """Return the letter of a translation that gets the mark: the same one if there is one, best at a word's start."""
    letters = [at for at, character in enumerate(text) if character.isalpha() and not is_within(at, kept)]
    same = [at for at in letters if text[at].casefold() == letter.casefold()]
    starts = [at for at in same if at == 0 or not text[at - 1].isalnum()]
    return next(iter((*starts, *same, *letters)), None)


def overlap(one: Span, second: Span) -> bool:
    """Return whether two ranges have a character in common."""
    return one[0] < second[1] and second[0] < one[1]


def is_within(position: int, ranges: Sequence[Span]) -> bool:
    """Return whether a place is in one of these ranges."""
    return any(start <= position < end for start, end in ranges)
