"""Words that were typed without accents or apostrophes: *fuer dich*, *ou est le theatre*, *I dont know*.

The lists have the accented words of our own text whose plain form is no other word there; names are not among them
(*Mueller* may be written so), nor participles that lack only the last accent (*tu payes*, *payés*). A word after ~ is
only known as it is written with ae, oe or ue. The contractions are those whose form without an apostrophe is no other
word.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping

from service.engine.text.edits import Edit
from service.languages import Language, language_of
from service.languages.language import AccentedWord

_LETTERS = re.compile("[a-z]+")
_ACCENTED = re.compile(r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff\u0152\u0153\u0300-\u036f]")  # also decomposed


def lacks_accents(text: str, language: str) -> bool:
    """Return whether a text has none of the accents of its language (it may need none), or lacks an apostrophe."""
    rules = language_of(language)
    if rules.contractions and not _plain_forms(rules).keys().isdisjoint(_LETTERS.findall(text.lower())):
        return True
    return rules.accents.lacking and _ACCENTED.search(text) is None


def with_accents(word: str, language: str) -> str:
    """Return a word in small letters with the accents or the apostrophe that it lacks."""
    return _plain_forms(language_of(language)).get(word, word)


def with_letters(word: str, language: str) -> str:
    """Return a word in small letters with the letters that keyboards lack where they have to be: ß for ss."""
    for typed, written, pattern in _letters(language_of(language)):
        word = pattern.sub(written, word) if typed in word else word
    return word


def accents_by_place(text: str, language: str) -> Iterator[Edit]:
    """Yield the edits of words that have an accent only there (*où* as a sentence begins, *à* before some words)."""
    rules = language_of(language)
    for word, pattern in _by_place(rules):
        for match in pattern.finditer(text):
            yield from differences(match[1], word.accented, language, match.start(1))


def differences(plain: str, word: str, language: str, start: int) -> Iterator[Edit]:
    """Yield the edits that lead from a plain form, in any case, at this place to the word, given in small letters."""
    ligatures, both = _tables(language_of(language))
    spelled_out = len(plain) == len(word.translate(both))
    at = 0
    for letter in word:
        width = 1
        if letter == "'":
            width = 0
            yield Edit(start + at, start + at, letter)
        elif plain[at].lower() != letter:
            width = len(letter.translate(both)) if spelled_out else len(_plain(letter, ligatures))
            has_capital = len(letter.upper()) == 1
            written = letter.upper() if plain[at].isupper() and has_capital else letter
            yield Edit(start + at, start + at + width, written)
        at += width


@functools.cache
def _tables(language: Language) -> tuple[dict[int, str], dict[int, str]]:
    """Return how ligatures are typed, and how these and the letters are that can be spelled out."""
    ligatures = dict(language.accents.ligatures)
    return str.maketrans(ligatures), str.maketrans({**ligatures, **language.accents.spelled_out})


@functools.cache
def _plain_forms(language: Language) -> Mapping[str, str]:
    """Return the word of each plain form."""
    words = [*language.accented(), *language.contractions]
    ligatures, both = _tables(language)
    plain_forms = {_plain(word, ligatures).lower().replace("'", ""): word for word in words if not word.startswith("~")}
    spelled_out = [word.lstrip("~") for word in words] if language.accents.spelled_out else []
    return plain_forms | {word.translate(both): word for word in spelled_out}


@functools.cache
def _letters(language: Language) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (letter.typed, letter.written, re.compile("|".join(letter.where))) for letter in language.accents.letters
    )


@functools.cache
def _by_place(language: Language) -> tuple[tuple[AccentedWord, re.Pattern[str]], ...]:
    return tuple((word, _pattern_of(word)) for word in language.accents.words)


def _pattern_of(word: AccentedWord) -> re.Pattern[str]:
    start = r"\A\W{0,9}" if word.begins else r"(?<![\w'’-])"
    after = "".join(rf"(?<!\b{excluded} )" for excluded in word.not_after)
    unlike = f"(?!{'|'.join(word.not_before)})" if word.not_before else ""
    return re.compile(rf"{after}{start}({word.word})(?= {unlike}(?:{'|'.join(word.before)}))", re.IGNORECASE)


def _plain(word: str, ligatures: dict[int, str]) -> str:
    """Return a word in small letters without accents."""
    letters = unicodedata.normalize("NFD", word.translate(ligatures))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
