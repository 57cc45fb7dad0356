"""Attention maps made up for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from service.engine.types import AttentionMap, Token

AXES = {"cross": ("target", "source"), "encoder": ("source", "source"), "decoder": ("target", "target_input")}
SOURCE = ("The", "fox", "does", "not", "like", "dogs", ".")
TARGET = ("Le", "renard", "n'", "aime", "pas", "les", "chiens", ".")


def side(words: Sequence[str]) -> tuple[str, tuple[Token, ...]]:
    """Return a text and its tokens, with the end token."""
    text, tokens = "", []
    for number, word in enumerate(words):
        text += " " if text else ""
        tokens.append(Token(10 + number, f"▁{word}", word, len(text), len(text) + len(word)))
        text += word
    return text, (*tokens, Token(2, "</s>", "", len(text), len(text), "</s>"))


def make_map(
    source: Sequence[str] = SOURCE,
    target: Sequence[str] = TARGET,
    shape: tuple[int, ...] = (),
    seed: int = 0,
    **more: Any,
) -> AttentionMap:
    """Return a map with random weights whose rows sum to 1; `shape` are layers and heads."""
    kind = more.get("kind", "cross")
    (source_text, source_tokens), (target_text, target_tokens) = side(source), side(target)
    rows = source_tokens if kind == "encoder" else target_tokens
    columns = target_tokens if kind == "decoder" else source_tokens
    random = np.random.default_rng(seed)
    weights = random.exponential(1, (*shape, len(rows), len(columns))) ** 3
    weights /= weights.sum(-1, keepdims=True)
    names = {0: (), 1: ("head",), 2: ("layer", "head")}[len(shape)]
    logprobs = tuple(-random.exponential(0.5, len(target_tokens)))
    values: dict[str, Any] = {
        "kind": kind,
        "layer": "all" if "layer" in names else "align",
        "head": "all" if names else "align",
        "axes": (*names, *AXES[kind]),
        "weights": weights.astype(np.float32),
        "source_text": source_text,
        "target_text": target_text,
        "source_tokens": source_tokens,
        "target_tokens": target_tokens,
        "score": -0.31,
        "token_logprobs": logprobs,
        "token_ranks": tuple(1 + int(-3 * value) for value in logprobs),
        "alignment": tuple((min(at, len(source) - 1), at) for at in range(len(target))),
        "digest": "sha256:" + "9f86d081884c7d65" * 4,
        "model": "transformer-en-fr",
    }
    return AttentionMap(**{**values, **more})
