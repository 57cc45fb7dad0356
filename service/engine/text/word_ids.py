"""The ids of ASCII texts, word by word: most words of a text were in earlier ones, and the library takes longer.

The tokenizers that are trained here cut a text at its white space first, so the ids of a text are those of its words in
a row. For other tokenizers, and for texts that the normaliser may change, the library encodes the whole text.
"""

import functools
import json
from collections.abc import Callable
from typing import Any

import tokenizers

from service.bundle.vocabulary import APOSTROPHES, INVISIBLE, SPACE_PIECE, SPACES, WORDS_APART

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


def word_ids(library: tokenizers.Tokenizer) -> Callable[[str], list[int]]:
    """Return a thread-safe function from an ASCII text to its ids, for a tokenizer that `cuts_at_spaces`."""

    def encode(word: str) -> tuple[int, ...]:
        return tuple(library.encode(word, add_special_tokens=False).ids)

    remembered = functools.lru_cache(REMEMBERED)(encode)
    return lambda text: [
        number for word in text.split() for number in (remembered if len(word) <= LONGEST else encode)(word)
    ]


def cuts_at_spaces(library: tokenizers.Tokenizer) -> bool:
    """Return whether the ids of an ASCII text are those of its words in a row."""
    normaliser, cutter = _state(library.normalizer), _state(library.pre_tokenizer)
    steps, cuts = normaliser.get("normalizers"), cutter.get("pretokenizers", [cutter])
    usual = [[*_NORMALISER, *apart, *letters] for apart in ([], WORDS_APART) for letters in ([], [_LOWERCASE])]
    return steps in usual and bool(cuts) and cuts[0] == _METASPACE


def _state(part: Any) -> dict[str, Any]:
    return {} if part is None else dict(json.loads(part.__getstate__()))
