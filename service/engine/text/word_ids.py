"""The ids of ASCII texts, word by word: most words of a text were in earlier ones, and the library takes longer.

The tokenizers that are trained here cut a text at its white space first, so the ids of a text are those of its words in
a row. For other tokenizers, and for texts that the normaliser may change, the library encodes the whole text.
"""

import json
from typing import Any

import tokenizers

from service.bundle.vocabulary import APOSTROPHES, INVISIBLE, SPACE_PIECE, SPACES

REMEMBERED = 20_000  # words
LONGEST = 32  # characters of a word that is remembered
# What training.data.subwords writes. Nothing of it but the white space and the lower case concerns ASCII.
_NORMALISER: list[dict[str, Any]] = [
    {"type": "NFC"},
    {"type": "Replace", "pattern": {"Regex": f"[{APOSTROPHES}]"}, "content": "'"},
    {"type": "Replace", "pattern": {"Regex": f"[{INVISIBLE}]"}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": f"[{SPACES}]+"}, "content": " "},
    {"type": "Strip", "strip_left": True, "strip_right": True},
]
_LOWERCASE = {"type": "Lowercase"}
_METASPACE = {"type": "Metaspace", "replacement": SPACE_PIECE, "prepend_scheme": "always", "split": True}


class WordIds:
    """Remembers the ids of words; thread-safe."""

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        """Take a tokenizer that `cuts_at_spaces`."""
        self._library = library
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of an ASCII text, without those that surround every text."""
        known = self._known
        ids: list[int] = []
        for word in text.split():
            found = known.get(word)
            ids += self._new(word) if found is None else found
        return ids

    def _new(self, word: str) -> tuple[int, ...]:
        ids = tuple(self._library.encode(word, add_special_tokens=False).ids)
        if len(word) <= LONGEST:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[word] = ids
        return ids


def cuts_at_spaces(library: tokenizers.Tokenizer) -> bool:
    """Return whether the ids of an ASCII text are those of its words in a row."""
    normaliser, cutter = _state(library.normalizer), _state(library.pre_tokenizer)
    steps, cuts = normaliser.get("normalizers"), cutter.get("pretokenizers", [cutter])
    return steps in (_NORMALISER, [*_NORMALISER, _LOWERCASE]) and bool(cuts) and cuts[0] == _METASPACE


def _state(part: Any) -> dict[str, Any]:
    return {} if part is None else dict(json.loads(part.__getstate__()))
