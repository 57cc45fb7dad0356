"""Sentences with fresh nouns: articles, pronouns, adjectives and participles agree in English, French and German.

Parallel text has most nouns a few times only, so a model guesses their gender. The frames (``noun_frames.tsv``) and
nouns (``nouns.txt``) are our own; each slot is filled with a noun of the frame's class, in the form that the slot's
name shows: ``{ce}`` is *ce*, *cet* or *cette* with the noun, ``{einen}`` the accusative.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from training.data.cleaning import Pair
from training.data.number_templates import templates

FRAMES = "noun_frames.tsv"
"""The classes of the nouns of each frame, and the sentence in each language."""
_SLOT = re.compile(r"\{([a-zäöüß-]+)(\d?)\}")
_BEGINNING = re.compile(r"^\w|(?<=[.!?] )\w")
_VOWEL = re.compile(r"[aeiouyhéèêâàîôûœ]", re.IGNORECASE)
_ASPIRATE = re.compile(r"ha(?!bit)|hérisson|hêtre|hibou|héros|hockey|homard|honte|hoquet|ya")
"""French nouns of the list whose first letter allows no elision."""


@dataclass(frozen=True, slots=True)
class Noun:
    """One noun: singular and plural of each language, genders, and the German accusative and dative."""

    en: tuple[str, str]
    fr: tuple[str, str]
    fr_gender: str
    de: tuple[str, str]
    de_gender: str
    de_oblique: str

    @property
    def elides(self) -> bool:
        """Return whether the French noun takes l' and d'."""
        return bool(_VOWEL.match(self.fr[0])) and not _ASPIRATE.match(self.fr[0])


def noun_pairs(source_language: str, target_language: str, count: int, seed: int) -> Iterator[Pair]:
    """Yield ``count`` pairs, of each frame equally many; the same arguments give the same pairs.

    Raises ValueError for a language without frames.
    """
    by_kind, listed = nouns(), templates(FRAMES, source_language, target_language)
    for at in range(count):
        draw, frame = random.Random(f"{seed} {at}"), listed[at % len(listed)]
        chosen = [draw.choice(by_kind[draw.choice(names.split("|"))]) for names in frame["classes"].split()]
        yield filled(frame, source_language, chosen), filled(frame, target_language, chosen)


def filled(frame: dict[str, str], language: str, chosen: list[Noun]) -> str:
    """Return a frame in one language; the slot ``{ce2}`` has the second noun, ``{ce}`` the first."""
    form = {"en": _english, "fr": _french, "de": _german}[language]
    text = _SLOT.sub(lambda slot: form(slot[1], chosen[int(slot[2] or 1) - 1]), frame[language])
    return _BEGINNING.sub(lambda letter: letter[0].upper(), text) if text[-1] in ".?!" else text


def nouns() -> dict[str, list[Noun]]:
    """Return the nouns of each class."""
    by_kind: dict[str, list[Noun]] = {}
    for line in files(__package__).joinpath("nouns.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            listed = by_kind.setdefault(line.removeprefix("# "), [])
        else:
            listed.append(_noun(*line.split(",")))
    return by_kind


def _noun(english: str, french: str, german: str, plural: str = "") -> Noun:
    en, en_plural = [*english.split("/"), ""][:2]
    fr, fr_gender = french.rsplit(" ", 1)
    singular, fr_plural = [*fr.split("/"), ""][:2]
    de, de_gender = german.rsplit(" ", 1)
    gender, oblique = [*de_gender.split("~"), ""][:2]
    return Noun(
        (en, en_plural or _english_plural(en)),
        (singular, fr_plural or _french_plural(singular)),
        fr_gender,
        (de, plural),
        gender,
        oblique or de,
    )


def _english_plural(noun: str) -> str:
    if re.search(r"(?:s|x|ch|sh)$", noun):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y$", noun) else f"{noun}s"


def _french_plural(noun: str) -> str:
    if noun[-1] in "sxz":
        return noun
    if re.search(r"(?:eau|eu)$", noun):
        return f"{noun}x"
    return f"{noun[:-2]}aux" if noun.endswith("al") else f"{noun}s"


def _english(form: str, noun: Noun) -> str:
    if form == "a":
        return f"{'an' if re.match('[aeiou](?!niv|nif)', noun.en[0], re.IGNORECASE) else 'a'} {noun.en[0]}"
    return noun.en[form == "pl"]


_ADJECTIVES = {
    "nouveau": "nouvelle",
    "vieux": "vieille",
    "beau": "belle",
    "petit": "petite",
    "grand": "grande",
    "bon": "bonne",
    "autre": "autre",
}
_FRENCH = {form: (f"un {form}", f"une {feminine}") for form, feminine in _ADJECTIVES.items()} | {
    "un": ("un", "une"),
    "ce": ("ce", "cette"),
    "mon": ("mon", "ma"),
    "ton": ("ton", "ta"),
    "son": ("son", "sa"),
    "notre": ("notre", "notre"),
    "votre": ("votre", "votre"),
    "quel": ("quel", "quelle"),
}
"""What stands before a masculine and a feminine noun."""
_BEFORE_VOWEL = {"ce": "cet", "nouveau": "un nouvel", "vieux": "un vieil", "beau": "un bel"}
_ALONE = {
    "e": ("", "e"),
    "x": ("x", "se"),
    "cher": ("cher", "chère"),
    "il": ("il", "elle"),
    "le-": ("le", "la"),
    "gentil": ("gentil", "gentille"),
    "ancien": ("ancien", "ancienne"),
}
"""Endings, pronouns and adjectives that stand without the noun."""


def _french(form: str, noun: Noun) -> str:
    feminine, (singular, plural) = noun.fr_gender == "f", noun.fr
    if form in _ALONE:
        return _ALONE[form][feminine]
    if form in ("pl", "s"):
        return plural if form == "pl" else singular
    if form in ("le", "du", "au"):
        if noun.elides:
            return {"le": "l'", "du": "de l'", "au": "à l'"}[form] + singular
        articles = {"le": ("le", "la"), "du": ("du", "de la"), "au": ("au", "à la")}
        return f"{articles[form][feminine]} {singular}"
    if form in ("de", "depl"):
        return ("d'" if noun.elides else "de ") + (singular if form == "de" else plural)
    masculine_word = noun.elides and (form in ("mon", "ton", "son") or (form in _BEFORE_VOWEL and not feminine))
    if masculine_word:
        return f"{_BEFORE_VOWEL.get(form, form)} {singular}"
    return f"{_FRENCH[form][feminine]} {singular}"


_ENDINGS = {
    "nom": {"m": "", "n": "", "f": "e"},
    "acc": {"m": "en", "n": "", "f": "e"},
    "dat": {"m": "em", "n": "em", "f": "er"},
}
_DEFINITE = {"nom": "der das die", "acc": "den das die", "dat": "dem dem der"}
_ADJECTIVE = {"nom": "er es e", "acc": "en es e", "dat": "en en en"}
_CASES = {"": "nom", "er": "nom", "en": "acc", "em": "dat"}
"""The slot shows the case by the ending of the masculine: ``{ein}``, ``{einen}``, ``{einem}``."""
_WITH_ENDING = re.compile(r"(ein|kein|mein|dein|sein|unser|ihr)(|en|em)")
_CONTRACTED = {
    "zum": "zum|zum|zur",
    "ins": "in den|ins|in die",
    "im": "im|im|in der",
    "am": "am|am|an der",
    "vom": "vom|vom|von der",
}
_DIES = {"nom": "er es e", "acc": "en es e", "dat": "em em er"}


def _german(form: str, noun: Noun) -> str:
    gender, at = noun.de_gender, "mnf".index(noun.de_gender)
    if form in ("pl", "s"):
        return noun.de[form == "pl"]
    if form in ("er", "ihn", "ihm"):
        return {"er": "er es sie", "ihn": "ihn es sie", "ihm": "ihm ihm ihr"}[form].split()[at]
    if form == "pln":
        return noun.de[1] if noun.de[1][-1] in "ns" else f"{noun.de[1]}n"
    if form in ("der", "den", "dem"):
        case = _CASES[form[1:]]
        return f"{_DEFINITE[case].split()[at]} {_cased(noun, case)}"
    if form in _CONTRACTED:
        return f"{_CONTRACTED[form].split('|')[at]} {noun.de_oblique}"
    if form == "dernächste":
        return f"{_DEFINITE['nom'].split()[at]} nächste {noun.de[0]}"
    if match := re.fullmatch(r"(dies|welch|jed)(er|en|em)", form):
        case = _CASES[match[2]]
        return f"{match[1]}{_DIES[case].split()[at]} {_cased(noun, case)}"
    if match := re.fullmatch(r"(neu|alt|schön|klein|groß|gut|ander)(er|en|em)", form):
        case = _CASES[match[2]]
        return f"ein{_ENDINGS[case][gender]} {match[1]}{_ADJECTIVE[case].split()[at]} {_cased(noun, case)}"
    match = _WITH_ENDING.fullmatch(form)
    assert match, form
    case = _CASES[match[2]]
    return f"{match[1]}{_ENDINGS[case][gender]} {_cased(noun, case)}"


def _cased(noun: Noun, case: str) -> str:
    return noun.de[0] if case == "nom" else noun.de_oblique
