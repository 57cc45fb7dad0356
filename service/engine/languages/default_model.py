"""Chooses the default model of a pair, which translates it if none is named.

The models that the operator names come first, in that order. Then comes the model with the best measured score. Models
are compared on one test set and metric, the one that most of their cards have, and on the precision that runs, if it
was measured. A model without a score on it never precedes one with a score. Ties are broken by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from service.engine.types import ModelInfo

# Metrics with higher values for better translations; others, such as TER, are not compared.
METRICS = frozenset({"bleu", "chrf", "chrf++", "comet"})

# Test set, metric, and sacreBLEU's signature without the version that wrote it.
Test = tuple[str, str, str]


def in_order(models: Sequence[ModelInfo], preferred: Sequence[str] = ()) -> list[ModelInfo]:
    """Return the models of one pair, the default first."""
    measured = {info.name: scores(info) for info in models}
    test = yardstick(list(measured.values()))

    def key(info: ModelInfo) -> tuple[int, int, float, str]:
        rank = preferred.index(info.name) if info.name in preferred else len(preferred)
        own = measured[info.name]
        if test in own:
            return rank, 0, -own[test], info.name
        return rank, 1 if own else 2, 0.0, info.name

    return sorted(models, key=key)


def scores(info: ModelInfo) -> dict[Test, float]:
    """Return the scores of a model's card in their order, for the precision that runs if it was measured."""
    found: dict[Test, float] = {}
    measured: set[Test] = set()  # the tests for which `found` has the precision that runs
    for entry in info.card.get("scores") or ():
        metric, score = str(entry["metric"]).casefold(), float(entry["score"])
        if metric not in METRICS or not math.isfinite(score):
            continue
        parts = (entry.get("signature") or "").split("|")
        test = (str(entry["test_set"]), metric, "|".join(part for part in parts if not part.startswith("version:")))
        runs = entry.get("precision") == info.precision
        if test not in found or (runs and test not in measured):
            found[test] = score
        if runs:
            measured.add(test)
    return found


def yardstick(cards: Sequence[Mapping[Test, float]]) -> Test | None:
    """Return the test for the comparison: the one on most cards, then on the longest card, then the first on it."""
    counts = Counter(test for card in cards for test in card)

    def key(test: Test) -> tuple[int, int, int, Test]:
        own = [card for card in cards if test in card]
        return -counts[test], -max(map(len, own)), min(list(card).index(test) for card in own), test

    return min(counts, key=key, default=None)
