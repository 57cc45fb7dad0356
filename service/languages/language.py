"""A language as the rules of the engine see it; the defaults are those of a language that has no folder.

Where a comment says *patterns*, each entry is a regular expression; all other entries are text.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Words = tuple[str, ...]
Pattern = re.Pattern[str]
NEVER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers, shares and sums of money are written, and the words beside them."""

    group: str = ""  # between thousands
    decimal: str = ""  # "": it is not known how the language writes numbers
    currency_after: bool = False  # 20 €
    percent_blank: bool = False  # 20 %
    endings: Words = ()  # patterns, behind a number that is no code: 1st
    ordinals: tuple[Words, ...] = ()  # the ending of an ordinal, and a pattern of its figures; the first that fits
    magnitudes: Words = ()  # patterns, behind a sum: million
    numbered: Words = ()  # patterns, before a number that is a name: chapter 2.1


@dataclass(frozen=True, slots=True)
class Clock:
    """How times of day are written, and the words that tell them from other figures; all words are patterns."""

    whole: str = "{hour}:00"
    minutes: str = "{hour}:{minute:02}"
    afternoon_whole: str = ""  # of a language with a clock of twelve hours
    afternoon: str = ""
    morning_whole: str = ""
    sign: str = ""  # behind figures that may be a time or a length: 10 h
    certain_sign: str = ""  # behind a time of day alone: 10 Uhr
    hours: Words = ()  # a length of time, one hour and several
    day_words: Words = ()  # before a time, beside the days of the week
    before: Words = ()
    after: Words = ()
    not_before: Words = ()  # figures behind these are no time
    not_after: Words = ()
    halves: Words = ()  # halves of the day, behind a time
    to: Words = ()  # between two times
    since: Words = ()  # before a length of time, unless `to` follows
    ranges: Words = ()  # before two ends of a range
    lengths: Words = ()  # behind a length of time


@dataclass(frozen=True, slots=True)
class SpokenClock:
    """Times of day in words: the hours from one, and a phrase for every five minutes.

    @ is the hour and + the hour that follows.
    """

    hours: Words = ()
    other_hours: Mapping[str, int] = field(default_factory=dict)  # further words for an hour
    phrases: Words = ()
    read: Mapping[str, str] = field(default_factory=dict)  # a part of a phrase: the pattern that is read for it
    written: Mapping[str, str] = field(default_factory=dict)  # a part of a time: how it is spelled
    optional: str = ""  # the beginning of a phrase that may be left out
    hour_in_figures: bool = False  # whether a whole hour may be in figures
    signs: Words = ()  # patterns without which a text has no such time; @ is any hour
    certain: Words = ()  # patterns in phrases that are nothing but times


@dataclass(frozen=True, slots=True)
class ShortForms:
    """Short forms, whose stops end no sentence; one that begins with a small letter may have a capital."""

    read: Mapping[str, str] = field(default_factory=dict)  # short form: the words that a model reads in its place
    read_before_numbers: Mapping[str, str] = field(default_factory=dict)  # the same, where a number follows
    kept: Words = ()  # short forms that are copied
    may_end: Words = ()  # also at the end of a sentence, as the ones that are copied
    before_numbers: Words = ()  # without their stop, in small letters
    before_ordinals: Words = ()  # patterns; an ordinal has a stop behind these words


@dataclass(frozen=True, slots=True)
class Articles:
    """The articles at the beginning of a text."""

    words: Words = ()
    before_one_word: bool = False  # an adjective behind an article would have to change


@dataclass(frozen=True, slots=True)
class CapitalRule:
    """Words that have a capital by their place."""

    words: Pattern
    behind: Pattern | None = None  # only behind the first place of this
    all_letters: bool = False


@dataclass(frozen=True, slots=True)
class Capitals:
    """The capitals of words, which the vocabulary of a model shows too; word lists stand in files."""

    nouns: bool = False  # nouns have a capital
    titles: bool = False  # each word of a title has a capital
    rules: tuple[CapitalRule, ...] = ()
    after: Words = ()  # signs before the beginning of a sentence within another
    personal: Words = ()  # titles before a name
    questions: Words = ()  # words at the beginning of a question
    never_after: Words = ()  # no noun stands behind these words
    noun_endings: Pattern = NEVER
    not_nouns: Pattern = NEVER  # words with such an ending that are none
    adjective_endings: Pattern = NEVER
    articles: Pattern = NEVER  # words before a noun


@dataclass(frozen=True, slots=True)
class AccentedWord:
    """A word that has an accent in some places only."""

    word: str
    accented: str
    begins: bool = False  # only at the beginning of a sentence
    not_after: Words = ()
    before: Words = ()  # patterns
    not_before: Words = ()  # patterns


@dataclass(frozen=True, slots=True)
class Letters:
    """Letters that are typed in another way, where one of the patterns holds."""

    typed: str
    written: str
    where: Words


@dataclass(frozen=True, slots=True)
class Accents:
    """Letters that keyboards lack; the accented words stand in `accents.txt`."""

    lacking: bool = False  # whether texts are typed without accents, which words of a list get then
    ligatures: Mapping[str, str] = field(default_factory=dict)  # letter: the two that it is typed as
    spelled_out: Mapping[str, str] = field(default_factory=dict)  # the same, for letters that may also lose their mark
    words: tuple[AccentedWord, ...] = ()
    letters: tuple[Letters, ...] = ()


@dataclass(frozen=True, slots=True)
class Commands:
    """What a command to a friend begins with; all words are patterns."""

    before: str = ""  # a pattern: what may stand before the verb
    verbs: Words = ()
    ending: str = ""  # a pattern: the last letters of a verb that is not among them
    not_verbs: Words = ()
    followers: Words = ()  # behind such a verb
    anywhere: str = ""  # a pattern of a command within a sentence
    first_verb: str = r"\w+"  # a pattern, of the part that may become polite


@dataclass(frozen=True, eq=False, slots=True)
class Registers:
    """The words that show whether a text is familiar or polite."""

    familiar: Words  # patterns
    polite: Pattern
    polite_at_start: Pattern = NEVER  # polite, unless the source shows that nobody is addressed
    commands: Commands = field(default_factory=Commands)
    polite_verbs: tuple[Words, ...] = ()  # the end of a familiar verb, a pattern, and that of its polite form


@dataclass(frozen=True, slots=True)
class Ending:
    """The ending of a form, and what it is replaced by in the form that a dictionary has."""

    ending: str
    becomes: str = ""
    least: int = 1  # letters of the word
    not_in: Words = ()  # endings of words that have another


@dataclass(frozen=True, slots=True)
class Inflection:
    """The endings of words, of which the first that fits is taken, and letters that change with them."""

    endings: tuple[Ending, ...] = ()
    letters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """Cities and countries: names that models know, by class; the others stand in `places.tsv`."""

    known: Mapping[str, Words] = field(default_factory=dict)  # the same number of names in the same order everywhere
    ambiguous: Words = ()  # ordinary words in capitals


@dataclass(frozen=True, slots=True)
class Names:
    """First names that models know, which may stand in for those of `names.tsv`."""

    female: Words = ()  # the same number of names in the same order everywhere
    male: Words = ()
    genitive: str = ""  # the ending of a name that possesses, without an apostrophe


@dataclass(frozen=True, slots=True)
class Context:
    """The words that tie a sentence to the one before it: pronouns, and what stands before the nouns they mean."""

    pronouns: Pattern = NEVER
    determiners: Pattern = NEVER


@dataclass(frozen=True, eq=False)
class Language:
    """What is known of a language. There is one object of each language, so it is compared and hashed as such."""

    tag: str
    name: str = ""  # in English
    folder: Path | None = None  # of the word lists
    months: Words = ()
    days: Words = ()
    blank_before: str = ""  # marks with a blank before them
    numbers: Numbers = field(default_factory=Numbers)
    clock: Clock = field(default_factory=Clock)
    spoken_clock: SpokenClock = field(default_factory=SpokenClock)
    short_forms: ShortForms = field(default_factory=ShortForms)
    articles: Articles = field(default_factory=Articles)
    capitals: Capitals = field(default_factory=Capitals)
    accents: Accents = field(default_factory=Accents)
    registers: Registers | None = None  # None: the language has none, or none that is known
    you: Pattern | None = None  # words that address somebody, if both registers have the same
    context: Context = field(default_factory=Context)
    no_commands: Words = ()  # patterns of words with which no command begins
    inflection: Inflection = field(default_factory=Inflection)
    places: PlaceNames = field(default_factory=PlaceNames)
    known_names: Names = field(default_factory=Names)

    @functools.cached_property
    def nouns(self) -> frozenset[str]:
        """Return nouns in small letters, for a language that writes them with a capital."""
        return self._words("nouns")

    @functools.cached_property
    def nominal_words(self) -> frozenset[str]:
        """Return words that are nouns behind an article, and something else elsewhere."""
        return self._words("nominal_words")

    @functools.cached_property
    def small_words(self) -> frozenset[str]:
        """Return words that a vocabulary knows better as the beginning of a noun."""
        return self._words("small_words")

    @functools.cached_property
    def false_endings(self) -> frozenset[str]:
        """Return nouns that are no last part of a word that ends like them."""
        return self._words("false_endings")

    @functools.cached_property
    def capitalised(self) -> frozenset[str]:
        """Return all words that have a capital everywhere, in small letters; empty: only vocabularies know."""
        return self._words("capitalised")

    @functools.cached_property
    def contractions(self) -> frozenset[str]:
        """Return words with an apostrophe whose form without it is no other word."""
        return self._words("contractions")

    def accented(self) -> list[str]:
        """Return accented words whose plain form is no other word; one after ~ only as it is spelled out."""
        return self._text("accents.txt").split()

    @functools.cached_property
    def place_names(self) -> Mapping[str, tuple[str, str]]:
        """Return the name and the class of each place, by its English name."""
        rows = (line.split("\t") for line in self._text("places.tsv").splitlines())
        return {place: (name, kind) for place, name, kind in rows}

    @functools.cached_property
    def names(self) -> Mapping[str, str]:
        """Return the gender of first names that are no other word: female, male or either."""
        return {name: gender for name, gender, *_ in self._names}

    @functools.cached_property
    def names_in_sentences(self) -> frozenset[str]:
        """Return the first names that models copy within a sentence, although perhaps not alone."""
        return frozenset(name for name, _, *genders in self._names if genders)

    @functools.cached_property
    def _names(self) -> list[list[str]]:
        return [line.split("\t") for line in self._text("names.tsv").splitlines()]

    def _words(self, name: str) -> frozenset[str]:
        return frozenset(self._text(f"{name}.txt").split())

    def _text(self, name: str) -> str:
        file = self.folder / name if self.folder else None
        return file.read_text("utf-8") if file and file.exists() else ""
