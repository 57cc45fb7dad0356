"""Short strings, such as titles, buttons and entries of menus: what the model reads, and how the answer is written.

Models of sentences have seldom seen them. So the model reads "Save changes" for "SAVE CHANGES" and for "Save Changes",
and "Open" for "_Open…". Capitals, the mark of the keyboard shortcut and the end are put back afterwards; no target
language but English has titles with a capital for each word. Texts that end like a sentence are no short strings. The
functions have no side effects.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.bundle.wrapping import Span
from service.engine.text.replacements import Replacement, inverse, moved, replaced
from service.engine.text.tokenizer import Decoded
from service.engine.types import Token
from service.engine.values.value import Value

LONGEST = 100  # characters; nothing else is looked at in a longer text
MOST_WORDS = 6  # of a string that gets no final stop; a title in capitals may have more
LEAST_CAPITALS = 3
LONGEST_SMALL_WORD = 3  # letters of a word that has no capital in a title
LONGEST_ACRONYM = 5  # letters of a word that stays in capitals unless its small form is one subword
_TAIL = re.compile(r"[ \u00a0\u202f]?(?::|…|\.\.\.)$")
_ACCELERATOR = re.compile(
    r"(?<![\w&])[&~_](?=[^\W\d_]{2})"  # at the start of a word: &File, ~File, _File
    r"|(?<=[^\W\d_])&(?=[a-z])"  # within one: E&xit, but not R&D
    r"|(?<=\b[A-Z])[_~](?=[a-z])|(?<=\b[A-Z][a-z])[_~](?=[a-z])"  # E_xit, Re_name, but not file_name
)
_ENTITY = re.compile(r"&#?\w{1,31};")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?。！？]['\"»”’)\]]*$")
_ENDS = frozenset(".!?。！？")
_BREAK = re.compile(r"[\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]")
_STOP = re.compile(r"\s?[.]$")
_SPACED_COLON = ("fr",)


class Words(Protocol):
    """The part of a tokenizer that decides about capitals."""

    def word(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text at the start of a word."""


@dataclass(frozen=True, slots=True)
class ShortString:
    """A short string: what the model reads, and how its translation is written."""

    text: str
    read: str
    replacements: tuple[Replacement, ...]  # from `text` to `read`
    capitals: bool = False  # the translation is in capitals
    capital: bool = False  # it begins with a capital
    mark: str = ""  # of the keyboard shortcut
    letter: str = ""  # after the mark
    tail: str = ""  # as the target language writes it
    no_stop: bool = False  # a full stop that the model adds is left out
    kept: tuple[str, ...] = ()  # what stays as it is: values as the translation holds them

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
        kept = _ranges(text, self.kept)
        edits: list[tuple[Span, str]] = []
        if self.capitals:
            # ß and a few others become two letters.
            edits += [
                ((at, at + 1), character.upper())
                for at, character in enumerate(text)
                if len(character.upper()) > 1 and not _is_within(at, kept)
            ]
            text = "".join(
                character if _is_within(at, kept) or len(character.upper()) > 1 else character.upper()
                for at, character in enumerate(text)
            )
        if self.capital and text[:1].islower() and not _is_within(0, kept):
            text = _with_capital(text)
        place = _place_of_mark(text, self.letter, kept) if self.mark else None
        if place is not None:
            edits.append(((place, place), self.mark))
        edits.sort()
        stop = _STOP.search(text) if self.no_stop and not text.endswith("..") else None
        end = len(text)
        if stop is not None and stop.start():
            edits.append((stop.span(), ""))
        if self.tail and text:
            edits.append(((end, end), self.tail))
        written, replacements = replaced(text, edits)
        return Decoded(written, moved(decoded.tokens, replacements, written, shift))


def may_be_short(text: str) -> bool:
    """Return whether a text may be a short string; other texts pay no more than this for it."""
    if len(text) > LONGEST:
        return False
    end = text[-4:].rstrip()
    return end[-1:] not in _ENDS or end.endswith("...")


def short_string(
    text: str, languages: tuple[str, str], tokenizer: Words, values: Sequence[Value] = ()
) -> ShortString | None:
    """Return how a text is read and written if it is a short string; None for any other text.

    `languages` are those of the text and of its translation; `values` of the text are left alone.
    """
    if len(text) > LONGEST or _BREAK.search(text):
        return None
    marked = _marked_word(text)
    values = [value for value in values if marked is None or value.end <= marked[0] or marked[1] <= value.start]
    protected = [(value.start, value.end) for value in values]
    tail = _TAIL.search(text)
    if tail is not None and (tail.start() == 0 or _is_within(tail.start(), protected)):
        tail = None
    end = len(text) if tail is None else tail.start()
    if _SENTENCE_END.search(text, 0, end):
        return None
    words = [word.span() for word in _WORD.finditer(text, 0, end)]
    free = [span for span in words if not any(span[0] < stop and start < span[1] for start, stop in protected)]
    mark = _accelerator(text, end, protected)
    parts = [span for span in free if mark is None or not span[0] <= mark < span[1]]
    capitals = sum(end - start for start, end in free) >= LEAST_CAPITALS and all(
        text[start:end].isupper() for start, end in free
    )
    if capitals:
        small = _of_capitals(text, parts, tokenizer)
    else:
        small = _of_title(text, parts, tokenizer) if _is_english(languages[0]) and len(parts) == len(words) else None
    no_stop = 0 < len(words) <= MOST_WORDS
    if mark is None and tail is None and small is None and not no_stop:
        return None
    edits = [] if mark is None else [((mark, mark + 1), "")]
    edits += [] if tail is None else [(tail.span(), "")]
    read, replacements = replaced(small or text, edits)
    return ShortString(
        text=text,
        read=read,
        replacements=tuple(replacements),
        capitals=capitals and small is not None,
        capital=bool(free) and free[0] == words[0] and text[free[0][0]].isupper(),
        mark="" if mark is None else text[mark],
        letter="" if mark is None else text[mark + 1],
        tail="" if tail is None else _tail(tail[0], languages[1]),
        no_stop=no_stop,
        kept=tuple(value.written for value in values if not value.is_soft),
    )


def _marked_word(text: str) -> Span | None:
    """Return the range of the word with the mark of a keyboard shortcut, which is no value although it may look so."""
    mark = _accelerator(text, len(text), ())
    if mark is None:
        return None
    start, end = mark, mark + 1
    while start > 0 and text[start - 1].isalpha():
        start -= 1
    while end < len(text) and text[end].isalpha():
        end += 1
    return start, end


def _accelerator(text: str, end: int, protected: Sequence[Span]) -> int | None:
    """Return the place of the one mark of a keyboard shortcut; a text with more of them has none."""
    if not any(mark in text for mark in "&_~") or _ENTITY.search(text):
        return None
    found = [match.start() for match in _ACCELERATOR.finditer(text, 0, end)]
    if len(found) != 1 or text.count(text[found[0]]) > 1 or _is_within(found[0], protected):
        return None
    return found[0]


def _of_capitals(text: str, words: Sequence[Span], tokenizer: Words) -> str | None:
    """Return a text in capitals in small letters, with a capital at its beginning; None if it stays as it is.

    A word that the vocabulary knows better in capitals, such as PDF, stays. So does a single word that may be an
    acronym. The text keeps its length.
    """
    small = text
    for number, (start, end) in enumerate(words):
        word = text[start:end]
        low = word.lower()
        known, unknown = len(tokenizer.word(word)), len(tokenizer.word(low))
        stays = known < unknown if len(words) > 1 else unknown > 1 and len(word) <= LONGEST_ACRONYM
        if not stays and len(low) == len(word):
            small = small[:start] + (word[:1] + low[1:] if number == 0 else low) + small[end:]
    return None if small == text else small


def _of_title(text: str, words: Sequence[Span], tokenizer: Words) -> str | None:
    """Return a title with a capital for each word in small letters, but for the first; None for any other text.

    A title has only words that the vocabulary knows in small letters: others, such as Smith, are names. The text keeps
    its length.
    """
    own = [text[start:end] for start, end in words]
    if not any(word[0].isupper() for word in own[1:]):
        return None
    if any(len(word) > LONGEST_SMALL_WORD and not word[0].isupper() for word in own):
        return None
    if not all(word[1:].islower() or word.islower() for word in own):
        return None
    small = text
    for number, (word, (start, end)) in enumerate(zip(own, words, strict=True)):
        low = word.lower()
        known, unknown = len(tokenizer.word(word)), len(tokenizer.word(low))
        if len(low) != len(word) or (unknown > 1 and unknown >= known):
            return None
        small = small if number == 0 else small[:start] + low + small[end:]
    return small


def _is_english(language: str) -> bool:
    return language.partition("-")[0].lower() == "en"


def _tail(tail: str, target: str) -> str:
    if not tail.endswith(":"):
        return tail
    return " :" if target.partition("-")[0].lower() in _SPACED_COLON else ":"


def _with_capital(text: str) -> str:
    """Return a text whose first word begins with a capital; a name such as iPhone stays."""
    word = _WORD.match(text)
    first = text[0].upper()
    return text if word is None or not word[0].islower() or len(first) > 1 else first + text[1:]


def _place_of_mark(text: str, letter: str, kept: Sequence[Span]) -> int | None:
    """Return the letter of a translation that gets the mark: the same one if there is one, best at a word's start."""
    letters = [at for at, character in enumerate(text) if character.isalpha() and not _is_within(at, kept)]
    same = [at for at in letters if text[at].casefold() == letter.casefold()]
    starts = [at for at in same if at == 0 or not text[at - 1].isalnum()]
    return next(iter((*starts, *same, *letters)), None)


def _ranges(text: str, parts: Sequence[str]) -> list[Span]:
    found = []
    for part in parts:
        at = text.find(part)
        if at >= 0:
            found.append((at, at + len(part)))
    return found


def _is_within(position: int, ranges: Sequence[Span]) -> bool:
    return any(start <= position < end for start, end in ranges)
