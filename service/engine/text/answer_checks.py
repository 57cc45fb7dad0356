"""Checks of the translation of a short string that need no reference: what a reader would see at once."""

import itertools
import re
from enum import StrEnum

from service.engine.types import Translation

LONGEST = 60  # characters of a text that is checked
MOST_WORDS = 6
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SAME_END = {"...": "…", "。": "."}


class Problem(StrEnum):
    """The faults of a translation."""

    EMPTY = "empty"
    UNTRANSLATED = "untranslated"
    REPETITION = "repetition"
    TOO_LONG = "too_long"
    PUNCTUATION = "punctuation"
    CAPITALS = "capitals"


def is_checked(source: str) -> bool:
    """Return whether a text is short enough that the checks mean something: a few words, one line."""
    return len(source) <= LONGEST and "\n" not in source and 0 < len(_WORD.findall(source)) <= MOST_WORDS


def problems_of(source: str, target: str) -> tuple[Problem, ...]:
    """Return what is wrong with the translation of a short string, the worst first; nothing if it passes."""
    words, own = _WORD.findall(target), _WORD.findall(source)
    if own and not words:
        return (Problem.EMPTY,)
    found = {
        Problem.UNTRANSLATED: _is_copy(own, words),
        Problem.REPETITION: _repeats(words) and not _repeats(own),
        Problem.TOO_LONG: len(words) > 3 * len(own) + 2 or len(target) > 4 * len(source) + 15,
        Problem.PUNCTUATION: _end_of(source) != _end_of(target),
        Problem.CAPITALS: _capitals(own) > _capitals(words),
    }
    return tuple(problem for problem, is_there in found.items() if is_there)


def is_better(source: str, translation: Translation, other: Translation) -> bool:
    """Return whether a translation fails fewer checks than another, or as many with a higher quality."""
    failed, others = len(problems_of(source, translation.text)), len(problems_of(source, other.text))
    return (failed, -(translation.quality or 0.0)) < (others, -(other.quality or 0.0))


def _is_copy(source: list[str], target: list[str]) -> bool:
    """Return whether a text of small letters came back as it was; names and acronyms may."""
    folded = [word.casefold() for word in source]
    plain = any(word[1:].islower() and len(word) > 3 for word in source)
    return plain and folded == [word.casefold() for word in target]


def _repeats(words: list[str]) -> bool:
    """Return whether a word of more than three letters stands there three times, or twice in a row."""
    folded = [word.casefold() for word in words if len(word) > 3]
    return any(folded.count(word) > 2 for word in folded) or any(
        first == second for first, second in itertools.pairwise(folded)
    )


def _end_of(text: str) -> str:
    text = text.rstrip("\"'»”’)] ")
    found = text[len(text.rstrip(".!?:…")) :]
    return _SAME_END.get(found, found[-1:])


def _capitals(words: list[str]) -> int:
    """Return 2 for a text in capitals, 1 for one that begins with a capital, 0 for any other."""
    letters = "".join(words)
    return 2 if len(letters) > 1 and letters.isupper() else int(letters[:1].isupper())
