"""Words that were typed without accents or apostrophes: *fuer dich*, *ou est le theatre*, *I dont know*.

The lists have the accented words of our own text whose plain form is no other word there; names are not among them
(*Mueller* may be written so), nor participles that lack only the last accent (*tu payes*, *payés*). A word after ~ is
only known as it is written with ae, oe or ue. The English words are those whose form without an apostrophe is no other
word.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from service.bundle.wrapping import Span

_FILES = {"en": "english_contractions.txt", "fr": "french_accents.txt", "de": "german_accents.txt"}
_LETTERS = re.compile("[a-z]+")
_ACCENTED = re.compile(r"[À-ÖØ-öø-ÿŒœ\u0300-\u036f]")  # also decomposed, as macOS writes them
_WHERE = re.compile(r"\A\W{0,9}[Oo](u) (?!bien|alors|celles?|celui|ceux|les?|un)")  # as a sentence begins
_TO = re.compile(  # a that means to, not has
    r"(?<!\bil )(?<!\belle )(?<!\bon )(?<!\by )(?<!\bqui )(?<!\bnous )(?<!\blui )(?<!\ben )(?<!\bca )(?<!\bage )"
    r"(?<![\w'’-])a(?= (?:l['’](?!air\b|esprit|intention)|[sm]['’]|(?:la|ce|cette|cet|[mts](?:a|on|es|e)|[nv]otre"
    r"|[nv]os|leurs?|chaque|quelle|quel|quoi|qui|cause (?:de|du|d['’])|partir|cote|peine|jour|pied|velo|gauche|droite"
    r"|midi|minuit|temps|[mt]oi|vous|travers|part|table|noel|paques|bord|condition|propos|domicile|demain|bientot|nouveau"
    r"|elle|eux|(?!entre)[^\W\d_]{2,}(?:er|ir|[nr]dre|ttre|aire|oire|uire|[dlr]ire|crire|suivre|vivre))\b))",
    re.IGNORECASE,
)
_LIGATURES = {"ß": "ss", "œ": "oe", "æ": "ae"}
_WITHOUT_LIGATURES = str.maketrans(_LIGATURES)
_SPELLED_OUT = str.maketrans({**_LIGATURES, "ä": "ae", "ö": "oe", "ü": "ue"})


def lacks_accents(text: str, language: str) -> bool:
    """Return whether a text has none of the accents of its language (it may need none), or lacks an apostrophe."""
    if language == "en":
        return not _accented("en").keys().isdisjoint(_LETTERS.findall(text.lower()))
    return language in _FILES and _ACCENTED.search(text) is None


def with_accents(word: str, language: str) -> str:
    """Return a word in small letters with the accents or the apostrophe that it lacks."""
    return _accented(language).get(word, word)


def accents_by_place(text: str, language: str) -> Iterator[tuple[Span, str]]:
    """Yield the places of the accents of *où* at the beginning of a sentence, and of *à* before some words.

    In our own text 441 of 445 of the former mean where, and 15,300 of 15,400 of the
    latter mean to, of 24,500 in all.
    """
    if language != "fr":
        return
    where = _WHERE.match(text)
    if where is not None:
        yield where.span(1), "ù"
    for found in _TO.finditer(text):
        yield found.span(), "À" if found[0] == "A" else "à"


def differences(plain: str, word: str) -> Iterator[tuple[Span, str]]:
    """Yield the ranges of a plain form, in any case, that differ from the word in small letters, and its letters."""
    spelled_out = len(plain) == len(word.translate(_SPELLED_OUT))
    at = 0
    for letter in word:
        width = 1
        if letter == "'":
            width = 0
            yield (at, at), letter
        elif plain[at].lower() != letter:
            width = len(letter.translate(_SPELLED_OUT)) if spelled_out else len(_plain(letter))
            yield (at, at + width), letter.upper() if plain[at].isupper() and letter != "ß" else letter
        at += width


@functools.cache
def _accented(language: str) -> Mapping[str, str]:
    """Return the word of each plain form."""
    words = (Path(__file__).parent / _FILES[language]).read_text("utf-8").split()
    found = {_plain(word).lower().replace("'", ""): word for word in words if not word.startswith("~")}
    umlauts = [word.lstrip("~") for word in words] if language == "de" else []
    return found | {word.translate(_SPELLED_OUT): word for word in umlauts}


def _plain(word: str) -> str:
    """Return a word in small letters without accents."""
    letters = unicodedata.normalize("NFD", word.translate(_WITHOUT_LIGATURES))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
