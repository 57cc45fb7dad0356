"""Normalises training text, and decides which pairs are kept."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from service.bundle.vocabulary import APOSTROPHES, INVISIBLE, SPACES
from training.recipe import CleaningConfig

Pair = tuple[str, str]

_TABLE = str.maketrans(
    {**dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(SPACES, " "), **dict.fromkeys(INVISIBLE, "")}
)


def normalise(text: str) -> str:
    """Return NFC text with plain apostrophes and single plain spaces (the tokenizer's normaliser does the same)."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_TABLE).split())


def clean(pairs: Iterable[Pair], config: CleaningConfig, max_words: int) -> Iterator[Pair]:
    """Yield normalised pairs, without empty, overlong, lopsided and repeated ones."""
    seen: set[Pair] = set()
    for source, target in pairs:
        pair = (normalise(source), normalise(target))
        if pair in seen or not is_usable(pair, config, max_words):
            continue
        seen.add(pair)
        yield pair


def is_usable(pair: Pair, config: CleaningConfig, max_words: int) -> bool:
    """Return whether a normalised pair is kept for training."""
    source, target = pair
    if not source or not target:
        return False
    if max(source.count(" "), target.count(" ")) + 1 > max_words:
        return False
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    return longer < config.ratio_from or longer <= config.max_ratio * shorter
