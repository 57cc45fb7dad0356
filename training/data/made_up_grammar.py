"""Sentences of a made-up grammar, English–French: small enough to learn in a minute, and hard where attention matters.

About a hundred words on each side. Adjectives change places with nouns, adverbs with verbs, a negation has two words,
articles and adjectives agree with a noun that may be several words away, and sentences have 2 to 16 words.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from training.data.cleaning import Pair

LANGUAGES = ("en", "fr")
LONGEST = 16
"""Longest English sentence, in words."""


class _Phrase(NamedTuple):
    """The same words in both languages."""

    english: str
    french: str


class _Noun(NamedTuple):
    """A noun and the gender of its French word."""

    english: str
    french: str
    feminine: bool


def _words(lines: str) -> list[tuple[str, ...]]:
    """Return the forms of each word: entries are separated by commas, forms by white space."""
    return [tuple(entry.split()) for entry in lines.split(",")]


def _nouns(masculine: str, feminine: str) -> list[_Noun]:
    genders = ((masculine, False), (feminine, True))
    return [_Noun(english, french, gender) for lines, gender in genders for english, french in _words(lines)]


# No French word begins with a vowel, so that only `que` is elided.
_PEOPLE = _nouns(
    "boy garçon, father père, brother frère, man monsieur, doctor docteur, baker boulanger",
    "girl fille, mother mère, sister sœur, woman femme, queen reine, neighbour voisine",
)
_ANIMALS = _nouns("dog chien, cat chat, horse cheval, fish poisson", "cow vache, mouse souris")
_THINGS = _nouns(
    "book livre, bread pain, hat chapeau, bag sac, knife couteau, boat bateau, coat manteau",
    "table table, chair chaise, key clé, letter lettre, lamp lampe, watch montre, spoon cuillère",
)
_PLACES = _nouns(
    "garden jardin, castle château, market marché, village village",
    "house maison, town ville, kitchen cuisine, street rue, forest forêt",
)
# English, French masculine and feminine; the first ones stand before the French noun, the others after it.
_BEFORE = _words(
    "small petit petite, big grand grande, young jeune jeune, pretty joli jolie, new nouveau nouvelle, "
    "bad mauvais mauvaise"
)
_AFTER = _words(
    "red rouge rouge, black noir noire, green vert verte, white blanc blanche, blue bleu bleue, cold froid froide, "
    "heavy lourd lourde, clean propre propre"
)
_DETERMINERS = _words("the le la, the le la, a un une, this ce cette, my mon ma, your ton ta")
# English with `he` and with `does not`, French.
_TRANSITIVE = _words(
    "sees see voit, finds find trouve, wants want veut, takes take prend, shows show montre, sells sell vend, "
    "carries carry porte, washes wash lave, knows know connaît, hides hide cache, loses lose perd, "
    "brings bring rapporte"
)
_INTRANSITIVE = _words(
    "sleeps sleep dort, sings sing chante, comes come vient, falls fall tombe, works work travaille, "
    "laughs laugh rit, leaves leave part"
)
_PLACED = [("in", "dans"), ("behind", "derrière"), ("in front of", "devant")]
_WITH = [("with", "avec"), ("without", "sans")]
_ADVERBS = [("often", "souvent"), ("always", "toujours"), ("rarely", "rarement")]
_TIMES = [("now", "maintenant"), ("tomorrow", "demain"), ("this evening", "ce soir"), ("on Monday", "lundi")]
_JOINED = [("and", "et"), ("but", "mais"), ("when", "quand"), ("while", "pendant que")]


class _Speaker:
    """Draws phrases of the grammar."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self) -> Pair:
        """Return a sentence of one to three clauses, as a pair of texts."""
        if self._chance(0.1):
            return self._question()
        clauses = [self._clause() for _ in range(self._random.choices([1, 2, 3], [6, 3, 1])[0])]
        english, french = clauses[0]
        for clause in clauses[1:]:
            word = self._random.choice(_JOINED)
            english, french = f"{english} {word[0]} {clause.english}", f"{french} {word[1]} {clause.french}"
        if self._chance(0.2):
            time = self._random.choice(_TIMES)
            if self._chance(0.5):
                english, french = f"{time[0]} {english}", f"{time[1]} {french}"
            else:
                english, french = f"{english} {time[0]}", f"{french} {time[1]}"
        return _capital(f"{english}."), _capital(f"{french}.")

    def _question(self) -> Pair:
        subject, (verb, rest) = self._noun_phrase(_PEOPLE + _ANIMALS, 0.5), self._predicate()
        return (
            _capital(f"does {subject.english} {verb[1]}{rest.english}?"),
            _capital(f"est-ce que {subject.french} {verb[2]}{rest.french} ?"),
        )

    def _clause(self) -> _Phrase:
        subject = self._subject()
        verb, rest = self._predicate()
        third, plain, french = verb
        kind = self._random.random()
        if kind < 0.2:
            return _Phrase(
                f"{subject.english} does not {plain}{rest.english}", f"{subject.french} ne {french} pas{rest.french}"
            )
        if kind < 0.45:  # before the verb in English, after it in French
            adverb = self._random.choice(_ADVERBS)
            return _Phrase(
                f"{subject.english} {adverb[0]} {third}{rest.english}",
                f"{subject.french} {french} {adverb[1]}{rest.french}",
            )
        return _Phrase(f"{subject.english} {third}{rest.english}", f"{subject.french} {french}{rest.french}")

    def _subject(self) -> _Phrase:
        if self._chance(0.2):
            return _Phrase(*self._random.choice([("he", "il"), ("she", "elle")]))
        phrase = self._noun_phrase(_PEOPLE + _ANIMALS, 0.5)
        if self._chance(0.15):
            third, _, french = self._random.choice(_INTRANSITIVE)
            return _Phrase(f"{phrase.english} who {third}", f"{phrase.french} qui {french}")
        return phrase

    def _predicate(self) -> tuple[tuple[str, ...], _Phrase]:
        """Return a verb and what follows it, each with a space before it."""
        english, french = "", ""
        if self._chance(0.75):
            verb = self._random.choice(_TRANSITIVE)
            what = self._noun_phrase(_THINGS + _ANIMALS, 0.7)
            english, french = f" {what.english}", f" {what.french}"
        else:
            verb = self._random.choice(_INTRANSITIVE)
        if self._chance(0.35):
            words, nouns = (_PLACED, _PLACES) if self._chance(0.6) else (_WITH, _PEOPLE)
            where, place = self._random.choice(words), self._noun_phrase(nouns, 0.3)
            english, french = f"{english} {where[0]} {place.english}", f"{french} {where[1]} {place.french}"
        return verb, _Phrase(english, french)

    def _noun_phrase(self, nouns: list[_Noun], described: float) -> _Phrase:
        noun = self._random.choice(nouns)
        determiner, *forms = self._random.choice(_DETERMINERS)
        english, french = [noun.english], [noun.french]
        if self._chance(described / 2):
            adjective = self._random.choice(_AFTER)
            english.insert(0, adjective[0])
            french.append(adjective[1 + noun.feminine])
        if self._chance(described / 2):
            adjective = self._random.choice(_BEFORE)
            english.insert(0, adjective[0])
            french.insert(0, adjective[1 + noun.feminine])
        article = forms[noun.feminine]
        return _Phrase(" ".join([determiner, *english]), " ".join([article, *french]))

    def _chance(self, share: float) -> bool:
        return self._random.random() < share


def _capital(text: str) -> str:
    text = text.replace("que un", "qu'un")
    return text[0].upper() + text[1:]


def made_up_pairs(source: str, target: str, count: int, seed: int) -> Iterator[Pair]:
    """Yield ``count`` different pairs, always the same for the same seed.

    Raises ValueError for languages that the grammar does not have.
    """
    if {source, target} != set(LANGUAGES):
        raise ValueError(f"the made-up grammar has en and fr, not {source} and {target}")
    speaker, seen = _Speaker(seed), set[str]()
    while len(seen) < count:
        english, french = speaker.sentence()
        if english in seen or len(english.split()) > LONGEST:
            continue
        seen.add(english)
        yield (english, french) if source == "en" else (french, english)
