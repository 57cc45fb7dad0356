"""NFC normalisation with a map from each character to its origin in the original text.

The tokenizer library composes characters too, but its offsets then cover only the first code point of a composed
character. After normalisation here the library has nothing to compose, and this map leads back exactly.

In many versions of CPython the sort of a run of combining marks takes quadratic time (python/cpython#149079). So long
runs are cut first, as in Unicode's Stream-Safe Text Format (UAX 15, section 13): with U+034F between the parts.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import accumulate

UNSEEN = "\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069"
"""Marks of direction and word joiners, as in a pattern: nobody sees them, and models have not learnt them."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
LONGEST_RUN = 30  # combining marks in a row
JOINER = "\u034f"  # COMBINING GRAPHEME JOINER: it is invisible, and marks are not sorted across it
_MARKS_IN_DISGUISE = "\u0f73\u0f75\u0f81"  # the only characters that are not marks but consist of marks
# No sortable mark is a word character, so one pass finds every text that may have long runs.
_MAY_BE_LONG = re.compile(rf"[^\w\s\x00-\u02ff]{{{LONGEST_RUN + 1},}}")


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """NFC text and, if it differs from the original text, the original position of each character."""

    text: str
    starts: tuple[int, ...] | None = None  # [len(text)]; None: same text, same positions
    ends: tuple[int, ...] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original text that a non-empty range of `text` comes from."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def normalize_nfc(text: str) -> NormalizedText:
    """Return a text in NFC without unseen marks, and the origin of each character; the time is linear in the length."""
    if text.isascii():
        return NormalizedText(text)
    return _without_unseen(_normalized(text))


def _normalized(text: str) -> NormalizedText:
    cuts = _cuts(text)
    if not cuts:
        return _compose(text)
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    composed = _compose(JOINER.join(parts))
    # The origin of each character of the text with joiners; a joiner has an empty origin between two characters.
    joiners = [0] * (len(text) + len(cuts))
    for number, cut in enumerate(cuts):
        joiners[cut + number] = 1
    before = list(accumulate(joiners, initial=0))
    spans = [composed.original(place, place + 1) for place in range(len(composed.text))]
    starts = tuple(start - before[start] for start, _ in spans)
    ends = tuple(end - before[end] for _, end in spans)
    return NormalizedText(composed.text, starts, ends)


def _without_unseen(composed: NormalizedText) -> NormalizedText:
    if not _UNSEEN.search(composed.text):
        return composed
    seen = [place for place, character in enumerate(composed.text) if not _UNSEEN.match(character)]
    spans = [composed.original(place, place + 1) for place in seen]
    text = "".join(composed.text[place] for place in seen)
    return NormalizedText(text, tuple(start for start, _ in spans), tuple(end for _, end in spans))


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


def _compose(text: str) -> NormalizedText:
    if unicodedata.is_normalized("NFC", text):
        return NormalizedText(text)
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        written = text[start:end]
        part = unicodedata.normalize("NFC", written)
        parts.append(part)
        if part == written:
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(part))
            ends.extend([end] * len(part))
    return NormalizedText("".join(parts), tuple(starts), tuple(ends))


def _clusters(text: str) -> list[tuple[int, int]]:
    """Cut a text at each position where normalisation of the left part cannot affect the right part."""
    starts = [0]
    for position in range(1, len(text)):
        if _begins_cluster(text, starts[-1], position):
            starts.append(position)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


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
