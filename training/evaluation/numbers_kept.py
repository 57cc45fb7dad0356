"""Measures how many numbers a model keeps, on sentences with fresh random values.

The test sentences (``data/number_tests.tsv``) differ from those of training (``data/number_templates.tsv``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class NumbersKept:
    """The counts over a test set."""

    sentences: int
    kept: int
    """Sentences whose numbers are all in the translation, each exactly once."""

    @property
    def share(self) -> float:
        """Return the share of kept sentences in percent."""
        return 100 * self.kept / self.sentences if self.sentences else 0.0


def keeps_numbers(source: str, reference: str, hypothesis: str) -> bool:
    """Return whether a translation has exactly the numbers of its source.

    Numbers are compared as runs of digits, in any order, so that 1,299.99 equals 1 299,99. The reference's numbers are
    also accepted: 3:30 pm is 15 h 30 in French.
    """
    found = _runs(hypothesis)
    return found in (_runs(source), _runs(reference))


def count_kept(sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str]) -> NumbersKept:
    """Return how many of the translations have exactly the numbers of their sources.

    Raises ValueError if the three differ in length.
    """
    kept = sum(keeps_numbers(*row) for row in zip(sources, references, hypotheses, strict=True))
    return NumbersKept(len(sources), kept)


def _runs(text: str) -> Counter[str]:
    return Counter(_DIGITS.findall(text))
