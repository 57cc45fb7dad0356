"""Sentences that are read in another spelling: in capitals, or in small letters or with a space before the final mark.

Models have seldom seen them. A sentence in capitals is read in small ones, and its translation is written in capitals;
one in small letters is read with capitals, and `go .` as `Go.`, unless the model has never seen a capital. A word in
capitals among others is read in small letters if the vocabulary knows it so. A text that was typed without accents gets
them. The functions have no side effects.
"""

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from service.bundle.wrapping import Span
from service.engine.text.accents import accents_by_place, differences, lacks_accents, with_accents
from service.engine.text.german_capitals import is_capitalised, with_polite_forms, with_sharp_s
from service.engine.text.replacements import replaced
from service.engine.text.short_forms import has_short_form, short_forms
from service.engine.text.spelling import WORD, Spelling, Words, overlap
from service.engine.values.locales import language_of
from service.engine.values.value import DIGIT_KINDS, Value

CAPITAL_SHARE = 0.9  # of the letters of a sentence in capitals
LONGEST_ACRONYM = 5
LEAST_EMPHASISED = 4  # letters of a word in capitals in a sentence: shorter ones are US, IT, WHO
LEAST_OF_SENTENCE = 5  # words of a text in small letters that is a sentence without its final mark
NEAR = 20  # characters before a word that say whether it begins a sentence
LEAST_OF_TWO = 8  # of one that the vocabulary has in two parts, as it has many acronyms
_CAPITALS = re.compile(r"[A-ZÀ-ÖØ-Þ]\W?[A-ZÀ-ÖØ-Þ]")
_SPACED_MARK = re.compile(r"(?<=\w)[ \u00a0\u202f]+(?=[.!?…]+$)")
_SPACED_STOP = re.compile(r"(?<=\w)[ \u00a0\u202f]+(?=[.…]+$)")  # French has a space before ! and ?
_MARKS = ".!?…"
_SPACED = re.compile(r"[ \u00a0\u202f][.!?…]")
_SMALL = re.compile(r"\W*[^\W\d_A-ZÀ-ÖØ-Þ]")
_PART = re.compile(r"[^\W\d_]+")  # of a word with apostrophes
_AROUND = " \u00a0\u202f\t\"'“”»«()[]–—-"  # what may stand between a mark and the next sentence
_TITLES = ("mr", "mrs", "ms", "miss", "dr", "prof", "monsieur", "madame", "mademoiselle", "herr", "herrn", "frau")
_QUESTION = re.compile(
    r"(?:how|what|when|where|who|why|wann|warum|was|wer|wie|wieso|wo|woher|wohin"
    r"|combien|comment|où|ou|pourquoi|quand|quelle|quel|qui)\b"
)
_USUAL = re.compile(  # English words that have a capital where they stand
    r"\bi\b(?!\.)|(?<=\bthe )us\b"
    r"|(?<=\d )may\b|\bmay(?= \d)|(?<=\b(?:in|of|by) )may\b|(?<=\b(?:last|next) )may\b|(?<=\bsince )may\b"
)


@functools.cache
def _english_names() -> frozenset[str]:
    """Return names that our own text hardly has without a capital."""
    return frozenset((Path(__file__).parent / "english_names.txt").read_text("utf-8").split())


def may_be_respelled(text: str, language: str) -> bool:
    """Return whether a text may have such a sentence; other texts pay no more than this for it."""
    language = language_of(language)
    odd = _CAPITALS.search(text) or _SPACED.search(text) or _SMALL.match(text)
    return bool(odd) or _is_small(text, language) or lacks_accents(text, language) or has_short_form(text, language)


def respelled(text: str, languages: tuple[str, str], tokenizer: Words, values: Sequence[Value] = ()) -> Spelling | None:
    """Return how a sentence is read and written if it is respelled; None for any other.

    ``languages`` are those of the text and of its translation; ``values`` of the text are left alone.
    """
    protected = [(value.start, value.end) for value in values if value.kind not in DIGIT_KINDS]
    words = [word for word in WORD.finditer(text) if not any(overlap(word.span(), span) for span in protected)]
    language = language_of(languages[0])
    capitals = is_in_capitals([word[0] for word in words], tokenizer)
    careless = not capitals and text[-1:] in _MARKS and _knows_capitals(text, tokenizer)
    read = text
    spans = [word.span() for word in words]
    loud = [] if capitals else [number for number, word in enumerate(words) if _is_emphasised(word[0], tokenizer)]
    if is_all_small(text, spans, tokenizer, language):
        read = with_capitals(text, spans, tokenizer, language)
    elif capitals or loud:
        read = usual_spelling(text, spans, tokenizer, language, chosen=loud)
    mark = (_SPACED_STOP if language == "fr" else _SPACED_MARK).search(read) if capitals or careless else None
    forms = short_forms_of(text, languages[0], protected)
    letters = sorted([*letters_of(read, without(spans, forms), language, respelled=read != text), *forms])
    if read == text and mark is None and not letters:
        return None
    read, replacements = replaced(read, letters if mark is None else [*letters, (mark.span(), "")])
    kept = tuple(value.written for value in values if not value.is_soft and value.kind not in DIGIT_KINDS)
    return Spelling(text=text, read=read, replacements=tuple(replacements), capitals=capitals, kept=kept)


def short_forms_of(text: str, language: str, protected: Sequence[Span]) -> list[tuple[Span, str]]:
    """Return the ranges of a text's short forms outside of protected ranges, and what is read there."""
    return [form for form in short_forms(text, language) if not any(overlap(form[0], span) for span in protected)]


def without(words: Sequence[Span], forms: Sequence[tuple[Span, str]]) -> Sequence[Span]:
    """Return the words of a text that are no part of its short forms."""
    return [word for word in words if not any(overlap(word, span) for span, _ in forms)] if forms else words


def letters_of(text: str, words: Sequence[Span], language: str, *, respelled: bool) -> list[tuple[Span, str]]:
    """Return the ranges of a text's words that are read with other letters: é for e, ü for ue, ß for ss.

    A text that is in its usual spelling otherwise only gets the accents that it lacks altogether.
    """
    language = language_of(language)
    plain = lacks_accents(text, language)
    if not (plain or respelled):
        return []
    found = [*accents_by_place(text, language)] if plain and words else []
    for part in (part for word in words for part in _PART.finditer(text, *word)):
        low = part[0].lower()
        known = _known(low, language, plain)
        if known != low and len(low) == len(part[0]):  # a few capitals are two characters in small letters
            at = part.start()
            found += (((at + start, at + end), letters) for (start, end), letters in differences(part[0], known))
    return sorted(found)


def _known(word: str, language: str, plain: bool) -> str:
    """Return a word in small letters with its ß and, in a text without any, its accents."""
    accented = with_accents(word, language) if plain else word
    return with_sharp_s(accented) if language == "de" else accented


def _is_small(text: str, language: str) -> bool:
    """Return whether a text is in small letters alone; in German, whose nouns have capitals, after the first letter."""
    return (text[1:] if language == "de" else text).islower()


def is_all_small(text: str, words: Sequence[Span], tokenizer: Words, language: str) -> bool:
    """Return whether a text was typed in small letters alone, beginning with one of these words."""
    small = _is_small(text, language_of(language))
    return small and bool(words) and words[0][0] == 0 and _knows_capitals(text, tokenizer)


def with_capitals(text: str, words: Sequence[Span], tokenizer: Words, language: str) -> str:
    """Return a text in small letters with the capitals of its names and nouns, and that of a sentence if it is one."""
    asks = _QUESTION.match(text) is not None
    sentence = asks or text[:1].isupper() or text[-1:] in _MARKS or len(words) >= LEAST_OF_SENTENCE
    return usual_spelling(text, words, tokenizer, language, sentence=sentence)


def usual_spelling(
    text: str,
    words: Sequence[Span],
    tokenizer: Words,
    language: str,
    *,
    chosen: Sequence[int] = (),
    sentence: bool = True,
) -> str:
    """Return a text with its words, or the chosen ones of them, in their usual spelling; it keeps its length.

    The first word gets a capital if the text is a sentence.
    """
    language = language_of(language)
    own = [text[start:end] for start, end in words]
    begins = [
        before.lower() in _TITLES or _begins(text[max(0, start - NEAR) : start])
        for before, (start, _) in zip(["", *own], words, strict=False)
    ]
    begins[:1] = [sentence]
    plain = lacks_accents(text, language)
    small = [
        (words[at], _small(own[at], own[at - 1] if at else "", tokenizer, language, first=begins[at], plain=plain))
        for at in chosen or range(len(words))
    ]
    read, _ = replaced(text, small)
    if chosen or (read == text and text[:1].isupper()):  # it was in its usual spelling
        return read
    if language == "de":
        return with_polite_forms(read)
    return _USUAL.sub(lambda found: "US" if found[0] == "us" else found[0].title(), read) if language == "en" else read


def _begins(before: str) -> bool:
    """Return whether a sentence begins after this text within a sentence."""
    return before.endswith("„") or before.rstrip(_AROUND).endswith(tuple(_MARKS))


def _knows_capitals(text: str, tokenizer: Words) -> bool:
    """Return whether the vocabulary has the first letter of a text as a capital: some are of small letters alone."""
    first = next((letter for letter in text if letter.isalpha()), "")
    return len(first.upper()) == 1 and len(tokenizer.word(first.upper())) == 1


def is_in_capitals(words: Sequence[str], tokenizer: Words) -> bool:
    """Return whether words are in capitals, and not one acronym alone."""
    letters = "".join(words)
    upper = sum(map(str.isupper, letters))
    if upper < max(2, CAPITAL_SHARE * sum(map(str.isalpha, letters))):
        return False
    if len(words) > 1:
        return True
    return len(letters) > LONGEST_ACRONYM or len(tokenizer.word(letters.lower())) == 1


def _is_emphasised(word: str, tokenizer: Words) -> bool:
    """Return whether a word in capitals is one that the vocabulary knows in small letters: no acronym or name."""
    if not word.isupper() or len(word) < LEAST_EMPHASISED:
        return False
    known = min(len(tokenizer.word(each)) for each in (word.lower(), word.capitalize()))
    return known < len(tokenizer.word(word)) and known <= (1 if len(word) < LEAST_OF_TWO else 2)


def _small(word: str, before: str, tokenizer: Words, language: str, *, first: bool, plain: bool) -> str:
    """Return a word in its usual spelling, which is that of the vocabulary, or of a list; it keeps its length."""
    low = word.lower()
    if len(low) != len(word) or len(word[:1].upper()) != 1:
        return word
    known = _known(low, language, plain)
    pieces = {each: len(tokenizer.word(each)) for each in (known, known.capitalize(), word)}
    if len(word) > 1 and pieces[word] < min(pieces[known], pieces[known.capitalize()]):
        return word
    capital = is_capitalised(known, before) if language == "de" else None
    if language == "en":
        capital = re.split("['’]", known)[0] in _english_names()
    elif capital is None:  # a vocabulary that English shares with German knows many nouns better with a capital
        capital = pieces[known.capitalize()] < pieces[known]
    return word[:1].upper() + low[1:] if first or capital else low
