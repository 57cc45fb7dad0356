"""Normalises training text, and decides which pairs are kept."""

import unicodedata
from collections import Counter
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


def clean(
    pairs: Iterable[Pair], config: CleaningConfig, max_words: int, left_out: Counter[str] | None = None
) -> Iterator[Pair]:
    """Yield normalised pairs; `left_out` counts the others by what is wrong with them."""
    seen: set[Pair] = set()
    for source, target in pairs:
        pair = (normalise(source), normalise(target))
        fault = "repeated" if pair in seen else fault_of(pair, config, max_words)
        if fault is None:
            seen.add(pair)
            yield pair
        elif left_out is not None:
            left_out[fault] += 1


def fault_of(pair: Pair, config: CleaningConfig, max_words: int) -> str | None:
    """Return why a normalised pair is not trained on; None if it is."""
    source, target = pair
    if not source or not target:
        return "empty"
    if "\0" in source or "\0" in target:
        return "with NUL"
    if max(source.count(" "), target.count(" ")) + 1 > max_words:
        return "too many words"
    longer, shorter = max(len(source), len(target)), min(len(source), len(target))
    if longer >= config.ratio_from and longer > config.max_ratio * shorter:
        return "lopsided"
    lowered = f"{source}\n{target}".lower() if config.without else ""
    return "with a word to leave out" if any(word.lower() in lowered for word in config.without) else None


def first_of_each_source(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the first pair of each source sentence."""
    seen: set[str] = set()
    for source, target in pairs:
        if source not in seen:
            seen.add(source)
            yield source, target
