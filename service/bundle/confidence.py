"""Confidence: the probability that a reader would call a translated sentence usable, from what the search knows anyway.

The signals need no attention and no further run of the model, so every sentence has them. `python -m training
confidence` fits a logistic regression over them; its coefficients are in the manifest (ADR 19). The functions have no
side effects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

VERSION = 1
"""Of the signals' definitions. A manifest with another version is refused, because its coefficients mean others."""

SIGNALS = (
    "mean_logprob",  # of the tokens of the translation, </s> counted
    "doubtful_share",  # of the tokens with a probability below one half
    "doubtful_tokens",  # their number, as log(1 + n)
    "source_tokens",  # log
    "token_ratio",  # log of target tokens to source tokens
    "character_ratio",  # log of target characters to source characters
    "tokens_per_word",  # of the source: rare words are cut into many tokens
)

_DOUBTFUL = math.log(0.5)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Confidence:
    """The coefficients of one model."""

    intercept: float
    coefficients: tuple[float, ...]  # one for each of SIGNALS

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Confidence:
        """Return the confidence of a manifest's section; a signal without a coefficient counts nothing."""
        given = section["coefficients"]
        return cls(float(section["intercept"]), tuple(float(given.get(name, 0.0)) for name in SIGNALS))

    def quality(self, signals: Sequence[float]) -> float:
        """Return the probability, 0 to 1, for the values of SIGNALS."""
        logit = self.intercept + sum(map(mul, self.coefficients, signals))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def signals_of(source: str, target: str, source_tokens: int, logprobs: Sequence[float]) -> tuple[float, ...]:
    """Return the values of SIGNALS for one sentence and its translation.

    `source_tokens` counts </s>; `logprobs` are those of the search, one for each token of the translation, </s> too.
    """
    length = len(logprobs) or 1
    doubtful = len([value for value in logprobs if value < _DOUBTFUL])
    return (
        sum(logprobs) / length,
        doubtful / length,
        math.log1p(doubtful),
        math.log(max(source_tokens, 1)),
        math.log(length / max(source_tokens, 1)),
        math.log((len(target) + 1) / (len(source) + 1)),
        source_tokens / (len(_WORD.findall(source)) + 1),
    )
