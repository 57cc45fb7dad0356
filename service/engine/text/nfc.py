"""NFC normalisation as edits, which lead from each character back to its origin in the text.

The tokenizer library composes characters too, but its offsets then cover only the first code point of a composed
character. After normalisation here the library has nothing to compose, and this map leads back exactly.

In many versions of CPython the sort of a run of combining marks takes quadratic time (python/cpython#149079). So long
runs are cut first, as in Unicode's Stream-Safe Text Format (UAX 15, section 13): with U+034F between the parts.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from service.bundle.vocabulary import UNSEEN
from service.engine.text.edits import NONE, Edit, Edits

_UNSEEN = re.compile(f"[{UNSEEN}]")
LONGEST_RUN = 30  # combining marks in a row
JOINER = "\u034f"  # COMBINING GRAPHEME JOINER: it is invisible, and marks are not sorted across it
_MARKS_IN_DISGUISE = "\u0f73\u0f75\u0f81"  # the only characters that are not marks but consist of marks
# No sortable mark is a word character, so one pass finds every text that may have long runs.
_MAY_BE_LONG = re.compile(rf"[^\w\s\x00-\u02ff]{{{LONGEST_RUN + 1},}}")


def nfc_edits(text: str) -> Edits:
    """Return the edits that bring a text into NFC without unseen marks; the time is linear in the length."""
    if text.isascii():
        return NONE
    cuts = _cuts(text)
    if not cuts and unicodedata.is_normalized("NFC", text):
        return Edits(Edit(*mark.span(), "") for mark in _UNSEEN.finditer(text)) if _UNSEEN.search(text) else NONE
    joiners = [Edit(cut, cut, JOINER) for cut in cuts]
    return Edits([*joiners, *(edit for part in pairwise([0, *cuts, len(text)]) for edit in _composed(text, *part))])


def normalize_nfc(text: str) -> str:
    """Return a text in NFC without unseen marks."""
    return nfc_edits(text).edited(text)


def has_long_run(text: str) -> bool:
    """Return whether the text has a run of combining marks that is too long for any language."""
    return bool(_cuts(text))


def _cuts(text: str) -> list[int]:
    """Return the positions at which runs of combining marks must be cut."""
    if text.isascii():
        return []
    cuts: list[int] = []
    for suspicious in _MAY_BE_LONG.finditer(text):
        run = 0
        for place in range(*suspicious.span()):
            run = run + 1 if unicodedata.combining(text[place]) or text[place] in _MARKS_IN_DISGUISE else 0
            if run > LONGEST_RUN:
                cuts.append(place)
                run = 1
    return cuts


def _composed(text: str, start: int, end: int) -> Iterator[Edit]:
    """Yield the edits of a part of a text, one for each cluster that is not in NFC or has unseen marks."""
    for first, last in _clusters(text, start, end):
        written = text[first:last]
        composed = _UNSEEN.sub("", unicodedata.normalize("NFC", written))
        if composed != written:
            yield Edit(first, last, composed)


def _clusters(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that lie between positions where the left part cannot affect the right one."""
    for position in range(start + 1, end):
        if _begins_cluster(text, start, position):
            yield start, position
            start = position
    if start < end:
        yield start, end


def _begins_cluster(text: str, start: int, position: int) -> bool:
    character = text[position]
    if character < "\u0300":  # no lower character composes with the one before it
        return True
    if unicodedata.combining(character) or unicodedata.combining(unicodedata.normalize("NFD", character)[0]):
        return False
    # Some starters compose with the starter before them: the vowels and final consonants of Hangul, and a few more.
    left = unicodedata.normalize("NFC", text[start:position])
    both = unicodedata.normalize("NFC", text[start : position + 1])
    return both == left + unicodedata.normalize("NFC", character)
