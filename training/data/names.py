"""Names of people and made-up names, which training pairs exchange: a name is copied, whatever it is."""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from training.data.cleaning import Pair

_NAME = re.compile(r"\b(?!April|August|September|November)[A-GI-XZ][a-z]{2,}\b")
_ONSETS = [*"bcdfghjklmnprstvwxyz", "br", "ch", "dr", "gr", "kh", "kl", "pr", "sch", "sh", "st", "th", "tr"]
_VOWELS = [*"aaaaeeeiiioouué", "ai", "au", "ee", "ia", "ie", "oo", "ou", "y"]
_VOWELS_UPPER = "AEIOUÄÖÜÉ"
_CODAS = [*4 * [""], *"dgklmnnrstvxz", "ck", "ll", "ng", "nn", "rt", "sh", "sk", "th"]


def renamed(pair: Pair, draw: random.Random) -> Pair | None:
    """Replace a name that occurs on both sides: that of a person by one of the same gender, any other by a made-up one.

    Where other letters depend on it (*d'Anna*, *de Nina*, *Annas*), the new name begins with a vowel if the old one
    does, and takes a German genitive in -s.
    """
    copied = _copied(pair)
    if not copied:
        return None
    return _exchanged(pair, draw.choice(copied), draw, 0.7)


def people_renamed(pairs: Sequence[Pair], count: int, seed: int) -> Iterator[Pair]:
    """Yield ``count`` pairs with another person in them; none if no pair has a listed name on both sides.

    The result depends only on the arguments.
    """
    named = [(pair, names) for pair in pairs if (names := [name for name in _copied(pair) if name in _classes()])]
    draw = random.Random(seed)
    for pair, names in draw.choices(named, k=count) if named else ():
        yield _exchanged(pair, draw.choice(names), draw, 1.0)


def _exchanged(pair: Pair, old: str, draw: random.Random, listed: float) -> Pair:
    """Return a pair with another name: with the probability ``listed`` one of the same class, if there is one."""
    vowel, inflected = old[0] in _VOWELS_UPPER, _is_inflected(old, pair)
    alike = _listed()[-1] if _is_surname(old, pair) else _classes().get(old, ())
    similar = [name for name in alike if not inflected or (_is_regular(name) and (name[0] in _VOWELS_UPPER) == vowel)]
    new = draw.choice(similar) if similar and draw.random() < listed else made_up_name(draw, vowel)
    return pair[0].replace(old, new), pair[1].replace(old, new)


def _copied(pair: Pair) -> list[str]:
    return [name for name in _NAME.findall(pair[0]) if _is_copied(name, pair)]


def _is_copied(name: str, pair: Pair) -> bool:
    """Return whether a word stands once on each side, in the target perhaps with the German genitive's s."""
    return [side.count(name) for side in pair] == [1, 1] and re.search(rf"\b{name}s?\b", pair[1]) is not None


def _is_inflected(name: str, pair: Pair) -> bool:
    """Return whether a side has an elision or a word that may be elided before a name, or an ending behind it."""
    around = re.compile(rf"(?:'|\b(?:de|que) ){name}\b|\b{name}(?:s|')")
    return any(around.search(side) for side in pair)


def _is_surname(name: str, pair: Pair) -> bool:
    """Return whether a name stands behind a form of address on one side."""
    addressed = re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|M|Mme|[Mm]onsieur|[Mm]adame|Herrn?|Frau|Familie)\.? {name}\b")
    return any(addressed.search(side) for side in pair)


@cache
def _listed() -> list[tuple[str, ...]]:
    """Return the names of women, those of men, and surnames."""
    lines = files(__package__).joinpath("names.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.partition(": ")[2].split()) for line in lines if not line.startswith("#")]


@cache
def _classes() -> dict[str, tuple[str, ...]]:
    """Return the names of the class of each name; a first name that is also a surname is a first name."""
    return {name: names for names in reversed(_listed()) for name in names}


def _is_regular(name: str) -> bool:
    """Return whether a name has a German genitive in -s, and *de* or *d'* before it by its first letter alone."""
    return name[-1] not in "sxz" and name[0] not in "HY"


def person(draw: random.Random) -> str:
    """Return a first name, half of the time with a surname."""
    women, men, surnames = _listed()
    first = draw.choice(draw.choice((women, men)))
    return first if draw.random() < 0.5 else f"{first} {draw.choice(surnames)}"


def made_up_name(draw: random.Random, vowel: bool = False) -> str:
    """Return a name of one to three syllables that nobody has."""
    syllables = [draw.choice(part) for _ in range(draw.choice((1, 2, 2, 3))) for part in (_ONSETS, _VOWELS, _CODAS)]
    return "".join([draw.choice("aeiou"), *syllables[2:]] if vowel else syllables).capitalize()
