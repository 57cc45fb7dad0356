"""The served translators by language pair: made once for each change of the models, used by every request.

A model of many languages has thousands of pairs, so what belongs to one pair is made at its first request.

The default model of a pair translates it if none is named. The models that the operator names come first, in that
order. Then comes the model with the best measured scores. Models are compared by their mean over the test sets that
their cards share, in one metric, and on the precision that runs, if it was measured. Among those within half a point of
the best, the one with the most attention heads comes first: it shows more. A model without these scores never
precedes one with them. A model that may not be a default comes last, whatever its scores. Ties are broken by name.
A score that the authors of an imported model state has no signature, and is compared with measured ones of its test set
and metric.
"""

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar

from service.engine.errors import UnknownModel, UnsupportedLanguage, UnsupportedPair
from service.engine.languages.tags import Languages, Pair, canonical, pairs_of
from service.engine.model_info import ModelInfo, ModelStateName

# Metrics with higher values for better translations; others, such as TER, are not compared.
METRICS = frozenset({"bleu", "chrf", "chrf++", "comet"})

# A smaller difference says little about which model is better; COMET has no points of a hundred.
CLOSE = {"bleu": 0.5, "chrf": 0.5, "chrf++": 0.5}

# Test set, metric, and sacreBLEU's signature without the version that wrote it.
Test = tuple[str, str, str]


class PairTranslator(Protocol):
    """The part of a translator that the choice needs."""

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""

    @property
    def state(self) -> ModelStateName:
        """Return whether it accepts requests."""

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs."""

    def standing_in(self, failed: str) -> Self:
        """Return the same model, which says that it translates in the place of a default that has failed."""


AnyServed = TypeVar("AnyServed", bound=PairTranslator)


class Pairs(Generic[AnyServed]):
    """The translators of each pair, its default first; tags are matched by `languages.tags`."""

    def __init__(self, served: tuple[AnyServed, ...], preferred: Sequence[str] = ()) -> None:
        """Take the served translators, and the names of the bundles that are preferred as defaults."""
        self.served = served
        infos = [translator.info for translator in served]
        self._languages = Languages.of(infos)
        self._preferred = preferred
        self._by_name = {translator.info.name: translator for translator in served}
        self._owners: dict[Pair, list[ModelInfo]] = {}
        for info in infos:
            for pair in dict.fromkeys(pairs_of(info)):
                self._owners.setdefault(pair, []).append(info)
        self._ranked: dict[Pair, list[ModelInfo]] = {}  # the default first
        self._translators: dict[Pair, list[AnyServed]] = {}  # of the pairs that have been requested

    def resolve(self, source: str, target: str, model: str | None = None) -> AnyServed:
        """Return the translator for a pair: the named bundle or architecture, else the pair's default.

        If the default has failed, the next model of the pair that has not stands in for it. A model of the gallery
        translates only if it is named. Raise UnsupportedLanguage, UnsupportedPair or UnknownModel.
        """
        pair = self._languages.pair(source, target)
        fitting = self._fitting(pair) if pair is not None else []
        if not fitting:
            for language in (source, target):
                if self._languages.match(language) is None:
                    raise UnsupportedLanguage(f"{language} is not supported")
            raise UnsupportedPair(f"No model translates from {source} to {target}.")
        usual = [t for t in fitting if not t.info.gallery]
        if not model:
            if not usual:
                names = ", ".join(t.info.name for t in fitting)
                raise UnsupportedPair(f"Only models of the gallery translate from {source} to {target}: {names}.")
            working = _first_working(usual)
            return working if working is usual[0] else working.standing_in(usual[0].info.name)
        named = [t for t in fitting if t.info.name == model] or [t for t in usual if t.info.architecture == model]
        if not named:
            names = ", ".join(sorted({t.info.name for t in fitting} | {t.info.architecture for t in usual}))
            raise UnknownModel(f"There is no model {model[:64]!r} from {source} to {target}; available: {names}.")
        return named[0]

    def default_name(self, pair: Pair) -> str | None:
        """Return the name of the model that `resolve` returns for one of the pairs of the models, if none is named."""
        usual = [self._by_name[info.name] for info in self._in_order(pair) if not info.gallery]
        return _first_working(usual).info.name if usual else None

    def default_reason(self, pair: Pair) -> str:
        """Return why `default_name` is the default, as a part of a sentence; empty if the pair has none."""
        usual = [self._by_name[info.name] for info in self._in_order(pair) if not info.gallery]
        if usual and _first_working(usual) is not usual[0]:
            return f"because {usual[0].info.name} has failed"
        return default_and_reason(self._owners.get(pair, ()), self._preferred, pair)[1] if usual else ""

    def _fitting(self, pair: Pair) -> list[AnyServed]:
        """Return the translators of a pair, the default first."""
        if pair not in self._translators:
            self._translators[pair] = [self._by_name[info.name].for_pair(*pair) for info in self._in_order(pair)]
        return self._translators[pair]

    def _in_order(self, pair: Pair) -> list[ModelInfo]:
        if pair not in self._ranked:
            self._ranked[pair] = in_order(self._owners.get(pair, ()), self._preferred, pair)
        return self._ranked[pair]


def _first_working(translators: Sequence[AnyServed]) -> AnyServed:
    """Return the first translator that has not failed for good; if all have, the first."""
    for translator in translators:
        if translator.state != "failed":
            return translator
    return translators[0]


def in_order(models: Sequence[ModelInfo], preferred: Sequence[str], pair: tuple[str, str]) -> list[ModelInfo]:
    """Return the models of a pair, the default first."""
    measured = comparable_scores(models, pair)
    tests, means = compared(measured)
    close = max(means.values(), default=0.0) - (CLOSE.get(tests[0][1], 0.0) if tests else 0.0)

    def key(info: ModelInfo) -> tuple[int, int, int, float, str]:
        rank = preferred.index(info.name) if info.name in preferred else len(preferred)
        mean = means.get(info.name)
        if mean is None:
            return rank, 1 if measured[info.name] else 2 if info.may_be_default else 3, 0, 0.0, info.name
        return rank, 0, -_heads(info) if mean >= close else 0, -mean, info.name

    return sorted(models, key=key)


def default_and_reason(models: Sequence[ModelInfo], preferred: Sequence[str], pair: Pair) -> tuple[str, str]:
    """Return which of a pair's models is its default, and why, as a part of a sentence."""
    usual = [info for info in models if not info.gallery]
    name, *others = [info.name for info in in_order(usual, preferred, pair)]
    if name in preferred:
        return name, "as TRANSLUCENT_DEFAULT_MODELS says"
    if not others:
        return name, "as the only model"
    tests, means = compared(comparable_scores(usual, pair))
    if name not in means:
        return name, "as the first by name: no scores of theirs can be compared"
    stated = ", ".join(f"{name} {means[name]:.1f}" if name in means else f"{name} has none" for name in others)
    more = ", and it has more attention heads" if any(means[name] < means.get(model, 0) for model in others) else ""
    sets = ", ".join(dict.fromkeys(test[0] for test in tests))
    return name, f"by {tests[0][1]} on {sets}: {means[name]:.1f} ({stated}){more}"


def comparable_scores(models: Sequence[ModelInfo], pair: Pair) -> dict[str, dict[Test, float]]:
    """Return the scores of each model; where one has no signature, those of the same test set and metric have none."""
    measured = {info.name: scores(info, pair) if info.may_be_default else {} for info in models}
    stated = {test[:2] for scores in measured.values() for test in scores if not test[2]}
    return {
        name: {(*test[:2], "" if test[:2] in stated else test[2]): score for test, score in scores.items()}
        for name, scores in measured.items()
    }


def compared(measured: Mapping[str, Mapping[Test, float]]) -> tuple[list[Test], dict[str, float]]:
    """Return the tests that models are compared on, and the mean over them of each model that has them all."""
    tests = comparison_tests(list(measured.values()))
    means = {
        name: sum(scores[test] for test in tests) / len(tests)
        for name, scores in measured.items()
        if tests and all(test in scores for test in tests)
    }
    return tests, means


def _heads(info: ModelInfo) -> int:
    """Return how many attention heads of the decoder look at the source."""
    cross = info.attention.get("cross") or {}
    return int(cross.get("layers", 1)) * int(cross.get("heads", 1))


def scores(info: ModelInfo, pair: tuple[str, str]) -> dict[Test, float]:
    """Return a model's scores for a pair in the order of its card, each of the precision that runs if it was measured.

    A model of several pairs names the pair behind the test set, as in `newstest2014.de-en`. Scores on development data
    are left out: each model has development data of its own.
    """
    entries = info.card.get("scores") or ()
    if not entries:  # as of most imported models, which may have thousands of pairs
        return {}
    by_test: dict[Test, float] = {}
    measured: set[Test] = set()  # those of which `by_test` has the precision that runs
    pair_name, every = "{}-{}".format(*pair), _names(info.sources, info.targets)
    for entry in entries:
        name, metric, score = str(entry["test_set"]), str(entry["metric"]).casefold(), float(entry["score"])
        of_pair = name.rpartition(".")[2]
        if metric not in METRICS or not math.isfinite(score) or name.startswith("development/"):
            continue
        if of_pair in every and of_pair != pair_name and "." in name:
            continue
        parts = (entry.get("signature") or "").split("|")
        name = name.removesuffix(f".{pair_name}")
        name = "flores" if name.startswith("flores") else name  # -101, -200 and + have the same sentences
        test = (name, metric, "|".join(part for part in parts if not part.startswith("version:")))
        runs = entry.get("precision") == info.precision
        if test not in by_test or (runs and test not in measured):
            by_test[test] = score
        if runs:
            measured.add(test)
    return by_test


@functools.lru_cache(maxsize=64)
def _names(sources: tuple[str, ...], targets: tuple[str, ...]) -> frozenset[str]:
    """Return the pairs of these languages as names of test sets have them: de-en."""
    ours, others = (tuple(map(canonical, tags)) for tags in (sources, targets))
    return frozenset(f"{source}-{target}" for source in ours for target in others if source != target)


def comparison_tests(cards: Sequence[Mapping[Test, float]]) -> list[Test]:
    """Return what models are compared on: one test, and all others of its metric that every card with it has, too.

    That test is on most cards, then on the longest card, then the first on it.
    """
    counts = Counter(test for card in cards for test in card)

    def key(test: Test) -> tuple[int, int, int, Test]:
        with_test = [card for card in cards if test in card]
        return -counts[test], -max(map(len, with_test)), min(list(card).index(test) for card in with_test), test

    first = min(counts, key=key, default=None)
    if first is None:
        return []
    having = [card for card in cards if first in card]
    return [test for test in having[0] if test[1] == first[1] and all(test in card for card in having)]
