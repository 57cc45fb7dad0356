"""Chooses the default model of a pair, which translates it if none is named.

The models that the operator names come first, in that order. Then comes the model with the best measured scores. Models
are compared by their mean over the test sets that their cards share, in one metric, and on the precision that runs, if
it was measured. A model without these scores never precedes one with them. Ties are broken by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from service.engine.languages.tags import pairs_of
from service.engine.types import ModelInfo

# Metrics with higher values for better translations; others, such as TER, are not compared.
METRICS = frozenset({"bleu", "chrf", "chrf++", "comet"})

# Test set, metric, and sacreBLEU's signature without the version that wrote it.
Test = tuple[str, str, str]


def in_order(models: Sequence[ModelInfo], preferred: Sequence[str], pair: tuple[str, str]) -> list[ModelInfo]:
    """Return the models of a pair, the default first."""
    measured = {info.name: scores(info, pair) for info in models}
    tests = comparison_tests(list(measured.values()))

    def key(info: ModelInfo) -> tuple[int, int, float, str]:
        rank = preferred.index(info.name) if info.name in preferred else len(preferred)
        own = measured[info.name]
        if tests and all(test in own for test in tests):
            return rank, 0, -sum(own[test] for test in tests) / len(tests), info.name
        return rank, 1 if own else 2, 0.0, info.name

    return sorted(models, key=key)


def scores(info: ModelInfo, pair: tuple[str, str]) -> dict[Test, float]:
    """Return a model's scores for a pair in the order of its card, each of the precision that runs if it was measured.

    A model of several pairs names the pair behind the test set, as in `newstest2014.de-en`. Scores on development data
    are left out: each model has development data of its own.
    """
    entries = info.card.get("scores") or ()
    if not entries:  # as of most imported models, which may have thousands of pairs
        return {}
    found: dict[Test, float] = {}
    measured: set[Test] = set()  # those of which `found` has the precision that runs
    other = tuple(f".{source}-{target}" for source, target in pairs_of(info) if (source, target) != pair)
    for entry in entries:
        name, metric, score = str(entry["test_set"]), str(entry["metric"]).casefold(), float(entry["score"])
        if metric not in METRICS or not math.isfinite(score) or name.startswith("development/") or name.endswith(other):
            continue
        parts = (entry.get("signature") or "").split("|")
        name = name.removesuffix(".{}-{}".format(*pair))
        test = (name, metric, "|".join(part for part in parts if not part.startswith("version:")))
        runs = entry.get("precision") == info.precision
        if test not in found or (runs and test not in measured):
            found[test] = score
        if runs:
            measured.add(test)
    return found


def comparison_tests(cards: Sequence[Mapping[Test, float]]) -> list[Test]:
    """Return what models are compared on: one test, and all others of its metric that every card with it has, too."""
    first = most_common_test(cards)
    if first is None:
        return []
    having = [card for card in cards if first in card]
    return [test for test in having[0] if test[1] == first[1] and all(test in card for card in having)]


def most_common_test(cards: Sequence[Mapping[Test, float]]) -> Test | None:
    """Return the test for the comparison: the one on most cards, then on the longest card, then the first on it."""
    counts = Counter(test for card in cards for test in card)

    def key(test: Test) -> tuple[int, int, int, Test]:
        own = [card for card in cards if test in card]
        return -counts[test], -max(map(len, own)), min(list(card).index(test) for card in own), test

    return min(counts, key=key, default=None)
