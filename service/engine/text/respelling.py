"""Sentences that are read in another spelling: in capitals, or in small letters or with a space before the final mark.

Models have seldom seen them. A sentence in capitals is read in small ones, and its translation is written in capitals;
one in small letters is read with capitals, and `go .` as `Go.`, unless the model has never seen a capital. A word in
capitals among others is read in small letters if the vocabulary knows it so. A text that was typed without accents gets
them. The functions have no side effects.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from service.bundle.wrapping import Span
from service.engine.text.accents import accents_by_place, differences, lacks_accents, with_accents, with_letters
from service.engine.text.draft import Draft, Lexicon
from service.engine.text.edits import Edit, Edits, letter_edits
from service.engine.text.noun_capitals import is_capitalised, with_capitals_by_place, writes_nouns_with_capitals
from service.engine.text.short_forms import has_short_form, short_forms
from service.engine.text.style import PLAIN, WORD, Style, overlap
from service.engine.values.value import DIGIT_KINDS
from service.languages import Language, language_of

CAPITAL_SHARE = 0.9  # of the letters of a sentence in capitals
LONGEST_ACRONYM = 5
LEAST_EMPHASISED = 4  # letters of a word in capitals in a sentence: shorter ones are US, IT, WHO
LEAST_OF_SENTENCE = 5  # words of a text in small letters that is a sentence without its final mark
NEAR = 20  # characters before a word that say whether it begins a sentence
LEAST_OF_TWO = 8  # of one that the vocabulary has in two parts, as it has many acronyms
_UPPER = r"A-Z\u00c0-\u00d6\u00d8-\u00de"
_CAPITALS = re.compile(rf"[{_UPPER}]\W?[{_UPPER}]")
_MARKS = ".!?…"
_SPACED = re.compile(r"[ \u00a0\u202f][.!?…]")
_SMALL = re.compile(rf"\W*[^\W\d_{_UPPER}]")
_CAPITAL = f"[{_UPPER}]"
_WRONG_CAPITALS = re.compile(rf"{_CAPITAL}{{2,3}}[^\W\d_A-Z]{{2,}}|[^\W\d_A-Z]{_CAPITAL}{{2,}}")
_PART = re.compile(r"[^\W\d_]+")  # of a word with apostrophes
_AROUND = " \u00a0\u202f\t\"'“”»«()[]–—-"  # what may stand between a mark and the next sentence


@functools.cache
def _spaced_mark(language: Language) -> re.Pattern[str]:
    """Return a blank before a final mark that has none in a language."""
    marks = "".join(mark for mark in _MARKS if mark not in language.blank_before)
    return re.compile(rf"(?<=\w)[ \u00a0\u202f]+(?=[{marks}]+$)")


@functools.cache
def _question(language: Language) -> re.Pattern[str]:
    words = "|".join(map(re.escape, language.capitals.questions))
    return re.compile(rf"(?:{words})\b" if words else "(?!)")


def may_be_respelled(text: str, language: str) -> bool:
    """Return whether a text may have such a sentence; other texts pay no more than this for it."""
    odd = _CAPITALS.search(text) or _SPACED.search(text) or _SMALL.match(text)
    return bool(odd) or _is_small(text, language) or lacks_accents(text, language) or has_short_form(text, language)


def respelled(draft: Draft, languages: tuple[str, str], tokenizer: Lexicon) -> Draft | None:
    """Return a sentence in its usual spelling; None if it is in that already.

    `languages` are those of the text and of its translation. Values keep their letters, but for numbers and times.
    """
    text, protected = draft.text, [(value.start, value.end) for value in draft.values if value.kind not in DIGIT_KINDS]
    words = [word for word in WORD.finditer(text) if not any(overlap(word.span(), span) for span in protected)]
    language = languages[0]
    capitals = is_in_capitals([word[0] for word in words], tokenizer)
    careless = not capitals and text[-1:] in _MARKS and _knows_capitals(text, tokenizer)
    read = text
    spans = [word.span() for word in words]
    loud = [] if capitals else [number for number, word in enumerate(words) if is_loud(word[0], tokenizer)]
    if is_all_small(text, spans, tokenizer, language):
        read = with_capitals(text, spans, tokenizer, language)
    elif capitals or loud:
        read = usual_spelling(text, spans, tokenizer, language, chosen=loud)
    mark = _spaced_mark(language_of(language)).search(read) if capitals or careless else None
    forms = short_forms_of(text, languages[0], protected)
    edits = [*letters_of(read, without(spans, forms), language, respelled=read != text), *forms]
    edits += [] if mark is None else [Edit(*mark.span(), "")]
    if read == text and not edits:
        return None
    spelling = Edits(letter_edits(text, read)).over(edits)
    return replace(draft, spelling=spelling, style=Style(capitals=True) if capitals else PLAIN)


def short_forms_of(text: str, language: str, protected: Sequence[Span]) -> list[Edit]:
    """Return the edits of a text's short forms outside of protected ranges."""
    return [
        form
        for form in short_forms(text, language)
        if not any(overlap((form.start, form.end), span) for span in protected)
    ]


def without(words: Sequence[Span], forms: Sequence[Edit]) -> Sequence[Span]:
    """Return the words of a text that are no part of its short forms."""
    return [word for word in words if not any(overlap(word, (form.start, form.end)) for form in forms)]


def letters_of(text: str, words: Sequence[Span], language: str, *, respelled: bool) -> list[Edit]:
    """Return the edits of a text's words that are read with other letters: é for e, ü for ue, ß for ss.

    A text that is in its usual spelling otherwise only gets the accents that it lacks altogether.
    """
    plain = lacks_accents(text, language)
    if not (plain or respelled):
        return []
    edits = [*accents_by_place(text, language)] if plain and words else []
    for part in (part for word in words for part in _PART.finditer(text, *word)):
        low = part[0].lower()
        spelling = _known(low, language, plain)
        if spelling != low and len(low) == len(part[0]):  # a few capitals are two characters in small letters
            edits += differences(part[0], spelling, language, part.start())
    return edits


def _known(word: str, language: str, plain: bool) -> str:
    """Return a word in small letters with the letters that keyboards lack and, in a text without any, its accents."""
    return with_letters(with_accents(word, language) if plain else word, language)


def _is_small(text: str, language: str) -> bool:
    """Return whether a text is in small letters alone; where nouns have capitals, after the first letter."""
    return (text[1:] if writes_nouns_with_capitals(language) else text).islower()


def is_all_small(text: str, words: Sequence[Span], tokenizer: Lexicon, language: str) -> bool:
    """Return whether a text was typed in small letters alone, beginning with one of these words."""
    small = _is_small(text, language)
    return small and bool(words) and words[0][0] == 0 and _knows_capitals(text, tokenizer)


def with_capitals(text: str, words: Sequence[Span], tokenizer: Lexicon, language: str) -> str:
    """Return a text in small letters with the capitals of its names and nouns, and that of a sentence if it is one."""
    asks = _question(language_of(language)).match(text) is not None
    sentence = asks or text[:1].isupper() or text[-1:] in _MARKS or len(words) >= LEAST_OF_SENTENCE
    return usual_spelling(text, words, tokenizer, language, sentence=sentence)


def usual_spelling(
    text: str,
    words: Sequence[Span],
    tokenizer: Lexicon,
    language: str,
    *,
    chosen: Sequence[int] = (),
    sentence: bool = True,
) -> str:
    """Return a text with its words, or the chosen ones of them, in their usual spelling; it keeps its length.

    The first word gets a capital if the text is a sentence.
    """
    capitals = language_of(language).capitals
    strings = [text[start:end] for start, end in words]
    begins = [
        before.lower() in capitals.personal or _begins(text[max(0, start - NEAR) : start], capitals.after)
        for before, (start, _) in zip(["", *strings], words, strict=False)
    ]
    if words and not any(map(str.isalnum, text[: words[0][0]])):
        begins[0] = sentence
    plain = lacks_accents(text, language)
    small = (
        (
            words[at],
            _small(strings[at], strings[at - 1] if at else "", tokenizer, language, first=begins[at], plain=plain),
        )
        for at in chosen or range(len(words))
    )
    read = Edits(Edit(*span, word) for span, word in small).edited(text)
    if chosen or (read == text and text[:1].isupper()):  # it was in its usual spelling
        return read
    return with_capitals_by_place(read, language)


def _begins(before: str, signs: tuple[str, ...]) -> bool:
    """Return whether a sentence begins after this text within a sentence; `signs` are those that show it."""
    return before.endswith(signs) or before.rstrip(_AROUND).endswith(tuple(_MARKS))


def _knows_capitals(text: str, tokenizer: Lexicon) -> bool:
    """Return whether the vocabulary has the first letter of a text as a capital: some are of small letters alone."""
    first = next((letter for letter in text if letter.isalpha()), "")
    return len(first.upper()) == 1 and len(tokenizer.word(first.upper())) == 1


def is_in_capitals(words: Sequence[str], tokenizer: Lexicon) -> bool:
    """Return whether words are in capitals, and not one acronym alone."""
    letters = "".join(words)
    upper = sum(map(str.isupper, letters))
    if upper < max(2, CAPITAL_SHARE * sum(map(str.isalpha, letters))):
        return False
    if len(words) > 1:
        return True
    return len(letters) > LONGEST_ACRONYM or len(tokenizer.word(letters.lower())) == 1


def is_loud(word: str, tokenizer: Lexicon) -> bool:
    """Return whether a word in capitals, or with wrong ones (HAllo), is one that the vocabulary knows in small letters.

    Acronyms and names are not.
    """
    is_wrong = _WRONG_CAPITALS.fullmatch(word) is not None
    if not is_wrong and (not word.isupper() or len(word) < LEAST_EMPHASISED):
        return False
    least = min(len(tokenizer.word(spelled)) for spelled in (word.lower(), word.capitalize()))
    return least < len(tokenizer.word(word)) and least <= (1 if len(word) < LEAST_OF_TWO and not is_wrong else 2)


def _small(word: str, before: str, tokenizer: Lexicon, language: str, *, first: bool, plain: bool) -> str:
    """Return a word in its usual spelling, which is that of the vocabulary, or of a list; it keeps its length."""
    low = word.lower()
    if len(low) != len(word) or len(word[:1].upper()) != 1:
        return word
    spelling = _known(low, language, plain)
    pieces = {form: len(tokenizer.word(form)) for form in (spelling, spelling.capitalize(), word)}
    if len(word) > 1 and pieces[word] < min(pieces[spelling], pieces[spelling.capitalize()]):
        return word
    capital = is_capitalised(spelling, before, language)
    if capital is None:  # a vocabulary that English shares with German knows many nouns better with a capital
        capital = pieces[spelling.capitalize()] < pieces[spelling]
    return word[:1].upper() + low[1:] if first or capital else low
