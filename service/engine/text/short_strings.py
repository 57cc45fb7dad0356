"""Short strings, such as titles, buttons and entries of menus: what the model reads, and how the answer is written.

Models of sentences have seldom seen them. So the model reads "Save changes" for "SAVE CHANGES" and for "Save Changes",
and "Open" for "_Open…". Capitals, the mark of the keyboard shortcut and the end are put back afterwards; no target
language but English has titles with a capital for each word. Texts that end like a sentence are no short strings.

One to three words with a capital are the hardest: models have seldom seen `World` alone, and often `world`. Both are
read, and the likelier translation is taken. The functions have no side effects.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from service.bundle.vocabulary import INVISIBLE, UNSEEN
from service.bundle.wrapping import Span
from service.engine.text.articles import begins_with_article
from service.engine.text.draft import Draft, Lexicon
from service.engine.text.edits import NONE, Edit, Edits, letter_edits
from service.engine.text.line_parts import SEPARATOR
from service.engine.text.respelling import (
    LEAST_EMPHASISED,
    LEAST_OF_SENTENCE,
    LONGEST_ACRONYM,
    is_all_small,
    is_in_capitals,
    is_loud,
    letters_of,
    short_forms_of,
    usual_spelling,
    with_capitals,
    without,
)
from service.engine.text.style import WORD, Style, is_within, overlap
from service.languages import language_of

LONGEST = 100  # characters; nothing else is looked at in a longer text
MOST_WORDS = 6  # of a string that gets no final stop; a title in capitals may have more
MOST_OF_RIVALS = 3  # words of a string that is also read in small letters
NEAR = 12  # characters around a range that say whether it is a line
LEAST_CAPITALS = 3  # letters of a string in capitals: R&D is none
LONGEST_SMALL_WORD = 3  # letters of a word that has no capital in a title
_TAIL = re.compile(r"[ \u00a0\u202f]?(?::|…|\.\.\.)$")
_ACCELERATOR = re.compile(
    r"(?<![\w&])[&~_](?=[^\W\d_]{2})"  # at the start of a word: &File, ~File, _File
    r"|(?<=[^\W\d_])&(?=[a-z])"  # within one: E&xit, but not R&D
    r"|(?<=\b[A-Z])[_~](?=[a-z])|(?<=\b[A-Z][a-z])[_~](?=[a-z])"  # E_xit, Re_name, but not file_name
)
_ENTITY = re.compile(r"&#?\w{1,31};")
_UNSEEN = re.compile(f"[{UNSEEN}{INVISIBLE}]")
_SENTENCE_END = re.compile(rf"[.!?。！？]['\"»”’)\]{UNSEEN}{INVISIBLE}]*$")
_ENDS = frozenset(".!?。！？")
_LINE_START = re.compile(rf"(?:^|[\n\r]|{SEPARATOR})\s*(?:\d{{1,3}}[.)])?[^\w\n\r]*$")
_LINE_END = re.compile(rf"\s*(?:[\n\r]|$)|{SEPARATOR}")
_BREAK = re.compile(r"[\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]")


def may_be_short(text: str) -> bool:
    """Return whether a text may be a short string; other texts pay no more than this for it."""
    if len(text) > LONGEST:
        return False
    end = _UNSEEN.sub("", text[-8:]).rstrip()
    return end[-1:] not in _ENDS or end.endswith("...")


def is_short(text: str, part: Span, *, alone: bool) -> bool:
    """Return whether a part of a text may be a short string; among other parts, only one of a few words."""
    return may_be_short(text) if alone else is_short_line(text, *part)


def is_short_line(text: str, start: int, end: int) -> bool:
    """Return whether a range of a text is a whole line of so few words with a capital that it has two readings."""
    if (
        end - start > LONGEST
        or text[start:end].islower()
        or text.count(" ", start, end) >= MOST_OF_RIVALS
        or not may_be_short(text[start:end])
    ):
        return False
    before, after = text[max(0, start - NEAR) : start], text[end : end + NEAR]
    return _LINE_START.search(before) is not None and _LINE_END.match(after) is not None and len(text) > end - start


def in_small_letters(short: Draft, source: str, tokenizer: Lexicon) -> Draft | None:
    """Return the other reading of a few words of which the first alone has a capital: in small letters.

    None for any other string, and where the word has its capital in every place: German nouns, names, English months.
    One short word in capitals, which may be an acronym, has another reading, too.
    """
    read = short.spelled
    if read.isalpha() and read.isupper() and LEAST_EMPHASISED <= len(read) <= LONGEST_ACRONYM:
        small = usual_spelling(read, [(0, len(read))], tokenizer, source, sentence=False)
        spelling = short.spelling.over(letter_edits(short.text, small)) if len(small) == len(short.text) else NONE
        return replace(short, spelling=spelling, style=replace(short.style, capitals=True)) if spelling else None
    words = [word.span() for word in WORD.finditer(read)]
    first, low = read[:1], read[:1].lower()
    if not short.style.capital or not 0 < len(words) <= MOST_OF_RIVALS or words[0][0] > 0:
        return None
    if low == first or len(low) != 1 or not read[1:].islower():
        return None
    if usual_spelling(low + read[1:], words, tokenizer, source, sentence=False)[:1] != low:
        return None
    return replace(short, spelling=short.spelling.over([Edit(*short.spelling.to_old(0, 1), low)]))


def short_string(draft: Draft, languages: tuple[str, str], tokenizer: Lexicon) -> Draft | None:
    """Return a text as it is read and written if it is a short string; None for any other text.

    `languages` are those of the text and of its translation; values are left alone.
    """
    text = draft.text
    if len(text) > LONGEST or _BREAK.search(text):
        return None
    marked = _marked_word(text)
    protected = [
        (value.start, value.end)
        for value in draft.values
        if marked is None or value.end <= marked[0] or marked[1] <= value.start
    ]
    tail = _TAIL.search(text)
    if tail is not None and (tail.start() == 0 or is_within(tail.start(), protected)):
        tail = None
    end = len(text) if tail is None else tail.start()
    if _SENTENCE_END.search(text, 0, end):
        return None
    words = [word.span() for word in WORD.finditer(text, 0, end)]
    free = [span for span in words if not any(overlap(span, protected_span) for protected_span in protected)]
    mark = _accelerator(text, end, protected)
    parts = [span for span in free if mark is None or not span[0] <= mark < span[1]]
    letters = [text[start:end] for start, end in free]
    capitals = sum(map(len, letters)) >= LEAST_CAPITALS and is_in_capitals(letters, tokenizer)
    small: str | None = None
    if capitals:
        small = usual_spelling(text, parts, tokenizer, languages[0])
    elif len(parts) == len(words) and is_all_small(text, parts, tokenizer, languages[0]):
        small = with_capitals(text, parts, tokenizer, languages[0])
    elif loud := [number for number, (start, end) in enumerate(parts) if is_loud(text[start:end], tokenizer)]:
        small = usual_spelling(text, parts, tokenizer, languages[0], chosen=loud)
    elif language_of(languages[0]).capitals.titles:
        small = _of_title(text, parts, tokenizer, begins=parts[:1] == words[:1])
    no_stop = 0 < len(words) <= MOST_WORDS
    forms = short_forms_of(text, languages[0], protected)
    edits = letters_of(small or text, without(parts, forms), languages[0], respelled=small is not None) + forms
    if mark is None and tail is None and small is None and not edits and not no_stop:
        return None
    edits += [] if mark is None else [Edit(mark, mark + 1, "")]
    edits += [] if tail is None else [Edit(*tail.span(), "")]
    spelling = Edits(letter_edits(text, small or text)).over(edits)
    is_title = 0 < len(words) <= MOST_OF_RIVALS and len(free) == len(words) and text[words[0][0]].isupper()
    style = Style(
        capitals=capitals,
        capital=bool(free) and free[0] == words[0] and text[free[0][0]].isupper(),
        mark="" if mark is None else text[mark],
        letter="" if mark is None else text[mark + 1],
        tail="" if tail is None else _tail(tail[0], languages[1]),
        small_in=languages[1] if 0 < len(words) < LEAST_OF_SENTENCE and text[words[0][0]].islower() else "",
        no_marks="" if not no_stop else "." if "!" in spelling.edited(text) else ".!",
        no_article_of=languages[1] if is_title and not begins_with_article(text, languages[0]) else "",
    )
    return replace(draft, spelling=spelling, style=style)


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
    starts = [match.start() for match in _ACCELERATOR.finditer(text, 0, end)]
    if len(starts) != 1 or text.count(text[starts[0]]) > 1 or is_within(starts[0], protected):
        return None
    return starts[0]


def _of_title(text: str, words: Sequence[Span], tokenizer: Lexicon, *, begins: bool) -> str | None:
    """Return a title with a capital for each word in small letters, but for the first; None for any other text.

    A title has only words that the vocabulary knows in small letters: others, such as Smith, are names. The text keeps
    its length. `begins`: whether the first of the words begins it.
    """
    strings = [text[start:end] for start, end in words]
    if not any(word[0].isupper() for word in strings[int(begins) :]):
        return None
    if any(len(word) > LONGEST_SMALL_WORD and not word[0].isupper() for word in strings):
        return None
    if not all(word[1:].islower() or word.islower() for word in strings):
        return None
    small = text
    for number, (word, (start, end)) in enumerate(zip(strings, words, strict=True)):
        low = word.lower()
        title_tokens, unknown = len(tokenizer.word(word)), len(tokenizer.word(low))
        if len(low) != len(word) or (unknown > 1 and unknown >= title_tokens):
            return None
        small = small if begins and number == 0 else small[:start] + low + small[end:]
    return small


def _tail(tail: str, target: str) -> str:
    if not tail.endswith(":"):
        return tail
    return " :" if ":" in language_of(target).blank_before else ":"
