"""Trains the confidence of a bundle: which of its translations a reader would call usable, from the search's signals.

The bundle translates held-out pairs through ``translucent translate``, as it is served. A translation counts as usable
if its chrF against the references is at least USABLE. A logistic regression over the signals gives the probability.
"""

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from sacrebleu.metrics.chrf import CHRF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from service.bundle.confidence import SIGNALS, VERSION, Confidence
from training.data.distillation import ask
from training.data.own_text import Triple, own_pairs
from training.data.reading import read_lines
from training.data.split import sentence_hash
from training.evaluation.test_sets import TestSet, load_development, load_test
from training.files import write_lines
from training.runs.folder import RunFolder

USABLE = 60.0
"""The chrF from which a translation counts as usable: the threshold closest to a reader's view (docs/confidence.md)."""
NONSENSE_SHARE = 0.05
"""Shuffled sentences, as a share of the training pairs: without them nothing shows what broken text looks like."""
SHORT_WORDS = 3
BINS = 10
DIGITS = 4
Array = npt.NDArray[np.float64]


class ConfidenceError(ValueError):
    """Pairs that nothing can be learnt from."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """One set of pairs, translated: the signals of each part of a line, and whether the line is usable."""

    name: str
    signals: list[Array]
    """[parts, signals] of each line; a long sentence is translated in parts."""
    weights: list[Array]
    """[parts] of each line, which sum to 1: the share of its characters."""
    usable: npt.NDArray[np.bool_]

    def means(self) -> Array:
        """Return the signals of whole lines, [lines, signals]."""
        return np.array([matrix.T @ weights for matrix, weights in zip(self.signals, self.weights, strict=True)])

    def qualities(self, confidence: Confidence) -> Array:
        """Return the quality of each line as the service computes it: the mean of its parts, by their length."""
        return np.array(
            [
                sum(confidence.quality(part) * weight for part, weight in zip(matrix, weights, strict=True))
                for matrix, weights in zip(self.signals, self.weights, strict=True)
            ]
        )


@dataclass(frozen=True, slots=True)
class References:
    """Sentences of one language pair, each with all its references."""

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    nonsense: bool = False


def group(test: TestSet, most: int | None = None) -> References:
    """Return distinct sources with all their references: at most ``most`` of them, those with the smallest hashes."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for source, reference in zip(test.sources, test.references, strict=True):
        if source.strip():
            groups[source].append(reference)
    chosen = sorted(groups, key=sentence_hash)[:most]
    return References(test.name, tuple(chosen), tuple(tuple(groups[source]) for source in chosen))


def development_of(run: Path, source_language: str) -> list[TestSet]:
    """Return the held-out pairs of a run's corpora in one source language, one set a corpus."""
    recipe = RunFolder(run).load_recipe()
    languages = {f"development/{corpus.name}": recipe.language_of(corpus) for corpus in recipe.corpora}
    sets = load_development(run)
    return [
        judged_set
        for judged_set in sets
        if languages.get(judged_set.name, recipe.source_languages[0]) == source_language
    ]


def pairs_of(path: Path, source: str, target: str, first: bool) -> TestSet | None:
    """Return the pairs of a file in the direction from source to target; None if they are of other languages.

    The name of the file's folder (``en-fr``) says which language comes first; without such a name, the file has the
    first source language of the bundle.
    """
    loaded = load_test(path)
    languages = path.resolve().parent.name
    if languages == f"{target}-{source}":
        return TestSet(loaded.name, loaded.references, loaded.sources)
    named = len(languages.split("-")) == 2 and all(len(part) in (2, 3) for part in languages.split("-"))
    return loaded if languages == f"{source}-{target}" or (first and not named) else None


def short_lines(source: str, target: str, most: int) -> References:
    """Return ``most`` lines of up to SHORT_WORDS words of our own text: what people type first, and what cells hold.

    A model was trained on them, but held-out text has hardly any. There are none in other languages than ours.
    """
    parallel = {source, target} <= set(Triple._fields) - {"register"}
    pairs = own_pairs(source, target) if parallel else ()
    short = [pair for pair in pairs if len(pair[0].split()) <= SHORT_WORDS]
    return group(TestSet("everyday, short", [line for line, _ in short], [line for _, line in short]), most)


def nonsense(sets: Iterable[References], share: float = NONSENSE_SHARE) -> References:
    """Return a share of the sentences with the letters of each word shuffled, whose translations are never usable."""
    chooser = random.Random(1)
    sources = [source for judged_set in sets for source in judged_set.sources]
    chosen = chooser.sample(sources, max(1, round(share * len(sources)))) if sources else []
    broken = [" ".join("".join(chooser.sample(word, len(word))) for word in source.split()) for source in chosen]
    return References("nonsense", tuple(broken), (("",),) * len(broken), nonsense=True)


def judge(bundle: Path, pair: tuple[str, str], sets: Sequence[References]) -> list[JudgedSet]:
    """Translate every set with a bundle, all in one call, and compare with the references.

    Raises TeacherError with the reason when the bundle cannot translate.
    """
    lines = [" ".join(source.split()) for judged_set in sets for source in judged_set.sources]
    with tempfile.TemporaryDirectory() as name:
        source, target, signals = (Path(name) / part for part in ("source", "target", "signals"))
        write_lines(source, lines)
        ask(bundle, source, "--from", pair[0], "--to", pair[1], "--output", target, "--signals", signals)
        translations = read_lines(target)
        rows = [json.loads(line) for line in read_lines(signals)]
    judged, first = [], 0
    for judged_set in sets:
        last = first + len(judged_set.sources)
        judged.append(_judged(judged_set, translations[first:last], rows[first:last]))
        first = last
    return judged


def _judged(pairs: References, translations: Sequence[str], rows: Sequence[list[dict[str, Any]]]) -> JudgedSet:
    metric = CHRF()
    signals, weights, usable = [], [], []
    for translation, references, parts in zip(translations, pairs.references, rows, strict=True):
        if not parts:  # an address or an emoji: nothing was translated
            continue
        lengths = np.array([part["characters"] for part in parts], float)
        signals.append(np.array([[part["signals"][name] for name in SIGNALS] for part in parts], float))
        weights.append(lengths / lengths.sum())
        score = 0.0 if pairs.nonsense else metric.sentence_score(translation, list(references)).score
        usable.append(score >= USABLE)
    return JudgedSet(pairs.name, signals, weights, np.array(usable, bool))


def fit(sets: Sequence[JudgedSet]) -> Confidence:
    """Return the coefficients; a set counts with the square root of its size, so that no register prevails.

    Raises ConfidenceError if all translations are usable, or none.
    """
    filled = [judged_set for judged_set in sets if len(judged_set.usable)]
    usable = np.concatenate([judged_set.usable for judged_set in filled]) if filled else np.zeros(0, bool)
    if not usable.any() or usable.all():
        raise ConfidenceError(f"Of {len(usable)} translations all or none are usable, so there is nothing to learn.")
    values = np.concatenate([judged_set.means() for judged_set in filled])
    weights = np.concatenate([np.full(len(judged_set.usable), len(judged_set.usable) ** -0.5) for judged_set in filled])
    scaler = StandardScaler().fit(values)
    model = LogisticRegression(C=0.3, max_iter=2000)
    model.fit(scaler.transform(values), usable, sample_weight=weights / weights.mean())
    coefficients = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - coefficients @ scaler.mean_)
    return Confidence(round(intercept, DIGITS), tuple(round(float(value), DIGITS) for value in coefficients))


def measure(name: str, usable: npt.NDArray[np.bool_], qualities: Array) -> dict[str, Any]:
    """Return the figures of one test set; ``ece``: the expected calibration error over BINS bins of equal width.

    There is no AUC if all translations are usable, or none.
    """
    auc = round(float(roc_auc_score(usable, qualities)), DIGITS) if usable.any() and not usable.all() else None
    error = sum(count * abs(actual - said) for said, actual, count in reliability(usable, qualities)) / len(usable)
    share = round(float(usable.mean()), DIGITS)
    return {"test_set": name, "sentences": len(usable), "usable": share, "auc": auc, "ece": round(error, DIGITS)}


def reliability(usable: npt.NDArray[np.bool_], qualities: Array) -> list[tuple[float, float, int]]:
    """Return (mean quality, share of usable translations, count) of each bin that is not empty."""
    bins = np.minimum((qualities * BINS).astype(int), BINS - 1)
    return [
        (
            round(float(qualities[bins == place].mean()), DIGITS),
            round(float(usable[bins == place].mean()), DIGITS),
            int((bins == place).sum()),
        )
        for place in range(BINS)
        if (bins == place).any()
    ]


def section(confidence: Confidence, trained: Sequence[JudgedSet], tests: Sequence[JudgedSet]) -> dict[str, Any]:
    """Return the manifest's section: the coefficients, what they were trained on, and what was measured."""
    document: dict[str, Any] = {
        "version": VERSION,
        "intercept": confidence.intercept,
        "coefficients": dict(zip(SIGNALS, confidence.coefficients, strict=True)),
        "trained_on": {
            "metric": "chrF",
            "at_least": USABLE,
            "pairs": {judged_set.name: len(judged_set.usable) for judged_set in trained},
        },
    }
    filled = [judged_set for judged_set in tests if len(judged_set.usable)]
    if filled:
        qualities = [judged_set.qualities(confidence) for judged_set in filled]
        together = np.concatenate([judged_set.usable for judged_set in filled]), np.concatenate(qualities)
        figures = [
            measure(judged_set.name, judged_set.usable, predicted)
            for judged_set, predicted in zip(filled, qualities, strict=True)
        ]
        document["measured"] = [*figures, measure("all", *together)]
        document["reliability"] = [list(point) for point in reliability(*together)]
    return document


def draw(curves: Mapping[str, Sequence[Sequence[float]]], path: Path) -> None:
    """Write an SVG with one line for each curve: (mean quality, share of usable translations, count) of each bin.

    The same curves give the same bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(
        {"svg.hashsalt": "translucent", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    ):
        figure = Figure(figsize=(5.4, 4.6), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="perfect")
        for marker, (name, points) in zip("osD^vP*X" * len(curves), curves.items(), strict=False):
            axes.plot(
                [point[0] for point in points], [point[1] for point in points], marker=marker, markersize=4, label=name
            )
        axes.set_xlabel("quality")
        axes.set_ylabel("share of usable translations")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
