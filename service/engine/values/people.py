"""Names of people, in whose places the model reads names of the same gender that it knows; it spells rare ones anew."""

import re
from collections.abc import Iterator

from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

GENDERS = ("female", "male")
_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_a-z][^\W\d_]+)*")  # Jean-Pierre
_FAMILY_NAME = re.compile(r"[ \u00a0][^\W\d_a-z]\w*[a-z]\w*")
_VOWELS = frozenset("aeiouyh")  # before which French leaves letters out; h may be silent


def find_people(sentence: str, source: str, target: str) -> Iterator[Value]:
    """Yield the first names of a sentence that are in the list, while there are known ones that stand in for them.

    A word with a capital behind a name belongs to it, unless that may be an ordinary word.
    """
    ours, theirs = language_of(source), language_of(target)
    named = [(name, gender) for name in _NAME.finditer(sentence) if (gender := _gender(name, ours)) is not None]
    if not named or not theirs.known_names.male:
        return
    free = {gender: _pairs(ours, theirs, gender, sentence) for gender in GENDERS}
    is_title = not any(word[:1].islower() for word in sentence.split())
    taken = 0
    for match, gender in named:
        name, start, end = match[0], *match.span()
        if start < taken:
            continue
        family = _FAMILY_NAME.match(sentence, end)
        is_alone = family is not None and not sentence[:start].strip() and not sentence[family.end() :].strip()
        if name in ours.names_in_sentences and not (is_alone or name == sentence):
            continue
        if family is not None and (is_alone or not (is_title or ours.capitals.nouns)):
            end = family.end()
        pairs = free[gender if gender in GENDERS else GENDERS[1]]
        alike = [pair for pair in pairs if _begins_with_vowel(pair[1]) == _begins_with_vowel(name)] or pairs
        if not alike:
            continue
        taken = end
        ours_known, theirs_known = alike[0]
        pairs.remove(alike[0])
        whole, genitive = sentence[start:end], theirs.known_names.genitive
        forms = (theirs_known, theirs_known + genitive) if genitive else (theirs_known,)
        others = (whole + genitive,) if genitive else ()
        yield Value(Kind.PERSON, start, end, whole, whole, others, stand_in=(ours_known, *forms))


def _gender(match: re.Match[str], language: Language) -> str | None:
    """Return the gender of a first name; None for any other word, and within an address or a tag."""
    name = match[0]
    first = name.split("-")[0]
    gender = language.names.get(name) or language.names.get(first.capitalize() if first.isupper() else first)
    before = match.string[match.start() - 1 : match.start()]
    return None if before in ("-", "@", "#", "_", ".") and before else gender


def _pairs(ours: Language, theirs: Language, gender: str, sentence: str) -> list[tuple[str, str]]:
    """Return the known names of a gender in both languages that a sentence does not have."""
    name_pairs = zip(getattr(ours.known_names, gender), getattr(theirs.known_names, gender), strict=False)
    return [pair for pair in name_pairs if pair[0] not in sentence]


def _begins_with_vowel(name: str) -> bool:
    return name[0].lower() in _VOWELS or not name[0].isascii()
