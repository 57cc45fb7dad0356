"""Detects the language of a text: which of the served ones, or whether it is another one than the client says.

The library is py3langid (BSD; 5 MB, so the image stays small).

On 500 sentences each of Tatoeba's English, French and German it was right on 99.7 %; lingua, twenty times larger, on
99.5 %.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import threading
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

from service.engine import trim_memory

ENOUGH_CHARACTERS = 2000  # more text does not make the answer better, only slower
# The least probability of all served languages together; with less, a text is in none of them. Of 2,400 sentences of
# Tatoeba in English, French and German five have less, as do 37 of 40 short sentences in 30 other languages.
LEAST_SHARE = 0.02
# Labels of the identifier that are part of a language with another code (ISO 639-3, macrolanguages): they stand for it
# if they are not served themselves.
MACROLANGUAGES = {
    "ary": "ar", "arz": "ar", "bcl": "bik", "gug": "gn", "kik": "ki", "sdh": "ku", "uzs": "uz", "wuu": "zh",
    "yue": "zh",
}  # fmt: skip
# A text with a smaller probability of its own language is in another one (docs/confidence.md has the measurements).
LEAST_OWN_SHARE = 0.03
# … if that one is sure: of 200 short sentences in ten other languages none has less (the least 0.22), English ones such
# as "Hello World!" (Southern Sotho 0.05), "No problem" (Polish 0.02) and "Q3 sales report" (French 0.10) do.
LEAST_OTHER_SHARE = 0.15
LEAST_WORDS = 2
LEAST_LETTERS = 8
FIRST_IDEOGRAPH = "\u2e80"  # scripts without spaces between words come after it
LAST_LATIN = "\u036f"  # of the letters that nearly all Latin text has, and the accents that combine with them
IDEOGRAPHIC = {"CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH"}  # Japanese mixes them
NO_LANGUAGE = "zxx"  # the identifier's label of codes and other text in no language (ISO 639-3)
BLOCK = 32  # columns of the automaton: rows share blocks of so many
NOTHING_LANGUAGE = "en"  # clients expect this if nothing was recognised


@dataclass(frozen=True, slots=True)
class Guess:
    """A language and how sure it is, 0 to 100."""

    language: str
    confidence: float


NOTHING = Guess(NOTHING_LANGUAGE, 0.0)


def average(found: Sequence[Sequence[Guess]], lengths: Sequence[int]) -> list[Guess]:
    """Return the guesses for several texts together: the mean confidence of each language, by the texts' lengths."""
    if len(found) == 1:
        return list(found[0])
    recognised = [(guesses, length) for guesses, length in zip(found, lengths, strict=True) if guesses[0].confidence]
    total = sum(length for _, length in recognised)
    sums: defaultdict[str, float] = defaultdict(float)
    for guesses, length in recognised:
        for guess in guesses:
            sums[guess.language] += guess.confidence * length
    ranked = sorted(sums.items(), key=lambda item: -item[1])
    return [Guess(language, round(value / total, 1)) for language, value in ranked] or [NOTHING]


class Identifier:
    """The probabilities of the library's 97 languages; the model is loaded at the first use, and then kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._identifier: _Model | None = None

    @property
    def loaded(self) -> bool:
        """Return whether the model is in memory, so that a call takes less than a millisecond."""
        return self._identifier is not None

    @property
    def labels(self) -> list[str]:
        """Return the codes of all languages."""
        return [str(label) for label in self._load().labels]

    def rank(self, text: str) -> list[tuple[str, float]]:
        """Return every language with its probability, the most likely first.

        Takes 0.2 to 0.5 ms for a sentence, and a second or two the first time.
        """
        ranked: list[tuple[str, float]] = self._load().rank(in_main_script(text))
        return ranked

    def likeliest(self, text: str) -> str:
        """Return the first language of `rank`, in a third of the time.

        Of a language with two scripts the likelier script counts, where `rank` adds both.
        """
        return self._load().likeliest(in_main_script(text))

    def _load(self) -> _Model:
        with self._lock:
            if self._identifier is None:
                self._identifier = _Model.from_package()
                self._identifier.compress()
                trim_memory()
            return self._identifier


class _Model(LanguageIdentifier):  # type: ignore[misc]
    """The library's model in 40 instead of 75 MB, and its likeliest language without probabilities.

    Every request asks it, when the engine's weights have just filled the caches. So the automaton is in arrays: the
    numbers of the library's lists are objects all over the memory, and the walk over a text takes twice as long.
    Bytes that lead to the same state everywhere, as those that no feature holds, share a column of it. A row is cut
    into blocks, most of which other rows have as well. A state is the place in `_states` of its feature (-1: none),
    which the places of its blocks in the moves follow.
    """

    tk_nextmove: array[int]
    tk_row: array[int]
    tk_output: array[int]

    @classmethod
    def from_package(cls) -> _Model:
        """Return the library's model, which is unpacked in memory: the library itself needs 65 MB of a file system."""
        with np.load(io.BytesIO(lzma.decompress((MODEL_DIR / MODEL_FILE).read_bytes()))) as data:
            features = data["ptc"], data["pc"], data["classes"].tolist()
            states = data["nextmove"], data["out_feat"].tolist()
            return cls(*features, *states, norm_probs=True, tk_row=data["nextmove_row"].tolist())

    def compress(self) -> None:
        """Replace the lists by arrays, and equal columns and blocks by one; call this once."""
        moves = np.asarray(self.tk_nextmove, np.uint32).reshape(-1, 256)
        columns: dict[bytes, int] = {}  # by digest: the columns themselves are 50 MB
        digests = (hashlib.sha256(moves[:, byte].tobytes()).digest() for byte in range(256))
        classes = [columns.setdefault(digest, len(columns)) for digest in digests]
        kept = [classes.index(column) for column in range(len(columns))]
        kept += kept[:1] * (-len(kept) % BLOCK)  # the last block is a whole one
        self._block_of = bytes(1 + class_number // BLOCK for class_number in classes)
        self._place_of = bytes(class_number % BLOCK for class_number in classes)
        width, blocks = 1 + len(kept) // BLOCK, dict[bytes, int]()
        starts = np.empty((len(moves), width - 1), np.int32)
        for row in range(0, len(moves), 4096):  # part by part: a second copy of the whole would be the peak of memory
            part = (moves[row : row + 4096, kept] * np.uint32(width)).tobytes()
            cut = (part[at : at + 4 * BLOCK] for at in range(0, len(part), 4 * BLOCK))
            block_numbers = [BLOCK * blocks.setdefault(block, len(blocks)) for block in cut]
            starts[row : row + 4096] = np.reshape(block_numbers, (-1, width - 1))
        features = np.array(self.tk_output, np.int32)[:, None]
        self._states = array("i", np.hstack([features, starts[np.array(self.tk_row)]]).tobytes())
        self.tk_nextmove = array("I", b"".join(blocks))
        self.tk_row = self._rowbase = self.tk_output = array("I")  # `_states` has them

    def likeliest(self, text: str) -> str:
        """Return the language with the highest score."""
        return str(self.nb_classes[int(self._raw_score(self._encode(text)).argmax())])

    def _raw_score(self, text: bytes) -> npt.NDArray[np.float32]:
        """Return the score of every language; the features of a text are counted as in the library's visit_counts."""
        moves, states = self.tk_nextmove, self._states
        state, outputs = 0, []
        for block, place in zip(text.translate(self._block_of), text.translate(self._place_of), strict=True):
            state = moves[states[state + block] + place]
            if (feature := states[state]) >= 0:
                outputs.append(feature)
        if not outputs:
            return np.zeros(len(self.nb_classes), np.float32)
        scores: npt.NDArray[np.float32] = self._sparse_score(Counter(outputs), self.nb_ptc)
        return scores


def in_main_script(text: str) -> str:
    """Return a text with blanks for the letters of all scripts but the one that it has most letters of.

    A word of Chinese outweighs a sentence of English: its bytes are those of few languages. An ideograph
    counts as two letters.
    """
    text = text[:ENOUGH_CHARACTERS]
    if text.isascii() or max(text) <= LAST_LATIN:
        return text
    times = Counter(text)
    scripts = {character: _script(character) for character in times}
    letters = Counter[str]()
    for character, script in scripts.items():
        if script:
            letters[script] += times[character] * (2 if character >= FIRST_IDEOGRAPH else 1)
    if len(letters) < 2:
        return text
    main = max(letters, key=letters.__getitem__)
    return text.translate({ord(character): " " for character, script in scripts.items() if script not in ("", main)})


def _script(character: str) -> str:
    """Return the script of a letter by its name in Unicode; "" for any other character."""
    if not character.isalpha():
        return ""
    script = unicodedata.name(character, "").partition(" ")[0]
    return "CJK" if script in IDEOGRAPHIC else script


def has_evidence(text: str) -> bool:
    """Return whether a text is long enough to doubt its language: single words and names are in many languages.

    It needs two words of two letters, and LEAST_LETTERS letters. A word in a script without spaces counts twice, and
    a code such as "AX-3348" not at all.
    """
    letters = words = 0
    for word in in_main_script(text).split():
        if word.isascii() and any(map(str.isdigit, word)):
            continue
        own = len(word) if word.isalpha() else sum(map(str.isalpha, word))
        letters += own
        words += own >= 2
        words += not word.isascii() and any(character >= FIRST_IDEOGRAPH and character.isalpha() for character in word)
        if words >= LEAST_WORDS and letters >= LEAST_LETTERS:
            return True
    return False


class Detector:
    """Chooses among the served languages."""

    def __init__(self, served: Callable[[str], str | None], identifier: Identifier | None = None) -> None:
        """Take the function that maps a bare language code such as `pt` to a served language, or to None.

        Detectors may share an identifier, whose model takes a second or two to load.
        """
        self._served = served
        self._identifier = identifier or Identifier()
        self._known: dict[str, str] | None = None  # the served language of each of the identifier's labels

    def detect(self, text: str) -> list[Guess]:
        """Return the served languages, best first; only NOTHING for a text without evidence or in another language."""
        if not any(character.isalpha() for character in text[:ENOUGH_CHARACTERS]):
            return [NOTHING]
        known = self._served_languages()
        served = [(known[label], share) for label, share in self._identifier.rank(text) if label in known]
        total = sum(share for _, share in served)
        nothing_to_go_by = len(served) > 1 and served[0][1] == served[-1][1]
        if total < LEAST_SHARE or nothing_to_go_by:
            return [NOTHING]
        shares: dict[str, float] = {}  # several labels may stand for one language
        for language, share in served:
            shares[language] = shares.get(language, 0.0) + float(share)
        best = sorted(shares, key=lambda language: -shares[language])
        return [Guess(language, round(100 * shares[language] / float(total), 1)) for language in best]

    def other_than(self, text: str, language: str | None) -> str | None:
        """Return the most likely language of a text if it is surely not in the served `language`, else None.

        A language that the library does not know is never doubted, and codes have none; None stands for no language.
        """
        likeliest = self._identifier.likeliest(text)
        if likeliest == NO_LANGUAGE:
            return None
        if language is None:
            return likeliest
        served = self._served_languages()
        if served.get(likeliest) == language:  # the usual case
            return None
        ranked = self._identifier.rank(text)
        shares = [share for label, share in ranked if served.get(label) == language]
        first_label, share = ranked[0]
        is_sure = share >= LEAST_OTHER_SHARE and sum(shares) < LEAST_OWN_SHARE
        return first_label if shares and is_sure else None

    def _served_languages(self) -> dict[str, str]:
        if self._known is None:
            served = {label: self._served_as(label) for label in self._identifier.labels}
            self._known = {label: language for label, language in served.items() if language is not None}
        return self._known

    def _served_as(self, label: str) -> str | None:
        """Return the served language that a label of the identifier stands for."""
        return self._served(label) or self._served(MACROLANGUAGES.get(label, label))
