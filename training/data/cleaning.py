"""What text looks like before it is trained on, and which pairs are worth it: the one place for both."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from training.recipe import CleaningConfig

Pair = tuple[str, str]

APOSTROPHES = "’‘ʼ＇"
"""Written as ' by the normaliser: corpora disagree about them."""

_BREAKS = "\t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u2028\u2029"

SPACES = "".join(chr(c) for c in range(0x3001) if unicodedata.category(chr(c)) == "Zs" or chr(c) in _BREAKS)
"""Every space separator and line break; French puts U+00A0 or U+202F before ! ? : ;."""

INVISIBLE = "\u00ad\u200b\ufeff"
"""Soft hyphen, zero-width space, byte-order mark: carry no meaning in running text."""

_TABLE = str.maketrans(
    {**dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(SPACES, " "), **dict.fromkeys(INVISIBLE, "")}
)


def normalise(text: str) -> str:
    """Return NFC text with plain apostrophes and single plain spaces (the tokenizer's normaliser does the same)."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_TABLE).split())


def clean(pairs: Iterable[Pair], config: CleaningConfig, max_words: int) -> Iterator[Pair]:
    """Yield normalised pairs that are neither empty, too long, lopsided nor repeated."""
    seen: set[Pair] = set()
    for source, target in pairs:
        pair = (normalise(source), normalise(target))
        if pair in seen or not is_usable(pair, config, max_words):
            continue
        seen.add(pair)
        yield pair


def is_usable(pair: Pair, config: CleaningConfig, max_words: int) -> bool:
    """Decide whether a normalised pair is trained on."""
    source, target = pair
    if not source or not target:
        return False
    if max(source.count(" "), target.count(" ")) + 1 > max_words:
        return False
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    return longer < config.ratio_from or longer <= config.max_ratio * shorter
