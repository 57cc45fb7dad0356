"""Compares an imported bundle with the original in its own engine, or with the scores that its authors state.

The engine is transformers or CTranslate2, which the user installs; nothing else of this project needs them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import sacrebleu

from service.bundle.manifest import MANIFEST_NAME, DecodingDefaults, Precision
from service.bundle.vocabulary import EOS
from service.bundle.write import write_manifest
from training.data.distillation import translated
from training.export.card import readme
from training.export.compare import Comparison
from training.export.manifest import README
from training.export.sessions import open_session, run
from training.imports.files import ImportRefused
from training.imports.source import ImportedModel

Ids = Sequence[int]
Floats = npt.NDArray[np.float32]


class Limits(NamedTuple):
    """The largest differences from the original that a precision may have."""

    logprobs: float
    """The mean difference of log-probabilities, in nats."""
    attention: float
    """The total variation of cross-attention, the mean over tokens, heads and sentences."""
    bleu: float
    """The least BLEU of the bundle's translations against those of the original."""
    equal: float | None = None
    """The least share of equal translations."""
    lower: float | None = None
    """The largest share of translations to which the original gives a lower score than to its own."""


LIMITS: dict[Precision, Limits] = {"int8": Limits(0.1, 0.05, 80), "fp32": Limits(1e-3, 1e-3, 99, 0.99, 0.01)}
"""Of the precisions that run on a CPU."""
LOST_BLEU = 0.3
"""The most BLEU that a bundle may lose against references."""
ROUNDED = 0.05
"""Stated scores have one decimal."""
STATED = "the scores that its authors state"
"""What a model without an engine here is compared with."""
_TIE = 1e-4
"""Scores that differ less are equal: the last digits depend on the order of additions."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The original's scores of a given translation."""

    logprobs: Floats
    """[T], </s> counted."""
    attention: Floats | None
    """Cross-attention [L, H, T, S], if the engine returns it."""


class Engine(Protocol):
    """The original model in its own implementation, with its own ids."""

    name: str

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text as the original's users send it."""

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text with these search settings, as far as the implementation has them."""

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return the scores of a translation; the target ends with its end token."""


@dataclass(frozen=True, slots=True)
class TestText:
    """The sentences that a bundle is compared over."""

    texts: Sequence[str]
    references: Sequence[str] | None = None
    """Their translations, one a text: for BLEU."""

    def __post_init__(self) -> None:
        """Raise ImportRefused without sentences, or where the references are of another number."""
        if not self.texts or not all(text.strip() for text in self.texts):
            raise ImportRefused("the text to check with needs a sentence on every line, and no empty lines")
        if self.references is not None and len(self.references) != len(self.texts):
            raise ImportRefused(
                f"there are {len(self.texts)} sentences and {len(self.references)} references; give one for each"
            )


def check(bundle: Path, model: ImportedModel, engine: Engine | None, text: TestText) -> list[Comparison]:
    """Return all comparisons of a bundle with the original, for its first target, and write them into its card.

    For each precision that the bundle has for CPUs: log-probabilities and attention of the engine's own translations,
    these translations, and BLEU of both against references, if there are any. Without an engine, BLEU is compared with
    what the model's authors state.
    """
    graphs: dict[str, dict[str, str]] = json.loads((bundle / MANIFEST_NAME).read_text("utf-8"))["graphs"]
    figures = []
    if engine is not None:
        theirs = _OfEngine(model, engine, text.texts, engine.translate(text.texts, model.decoding))
        figures.append(Comparison("texts with the same source tokens", theirs.same_tokens(), at_least=0.99))
        stated = {
            "BLEU of the original": 0.0 if text.references is None else bleu(theirs.translations, text.references)
        }
    else:
        stated = {f"{name}, stated by its authors": score for name, score in model.origin.stated.items()}
    if text.references is not None:
        figures += [Comparison(name, score) for name, score in stated.items()]
    stated_bleu = next((score for name, score in stated.items() if "bleu" in name.lower()), None)
    most = LOST_BLEU if engine else LOST_BLEU + ROUNDED
    pair = model.source_languages[0], model.targets[0].language
    for precision in LIMITS:
        if precision not in graphs:
            continue
        ours, served = (served_translations(bundle, pair, text.texts, precision, values) for values in _VALUES)
        if engine is not None:
            figures += theirs.scores(bundle / graphs[precision]["forced"], precision)
            figures += theirs.against(ours, served, precision)
        if text.references is not None:
            figures.append(Comparison("BLEU, values=off", score := bleu(ours, text.references), precision))
            figures.append(Comparison("BLEU, as served by default", bleu(served, text.references), precision))
            if stated_bleu is not None:
                figures.append(Comparison("BLEU lost, values=off", stated_bleu - score, precision, at_most=most))
    _write_verdict(bundle, engine.name if engine else STATED, pair[1], len(text.texts), figures)
    return figures


_VALUES = ("off", "localize")
"""Without our rules for numbers and other values, and as served by default."""


@dataclass(frozen=True, slots=True)
class _OfEngine:
    """What the original does with some sentences."""

    model: ImportedModel
    engine: Engine
    texts: Sequence[str]
    translations: Sequence[str]
    """Its own, one a text."""

    def same_tokens(self) -> float:
        """Return the share of texts with the same tokens in both."""
        encode, rows = self.model.source.tokenizer.encode, self.model.rows[0]
        return _share(
            [int(rows[number]) for number in encode(text, add_special_tokens=False).ids] == self.engine.encode(text)
            for text in self.texts
        )

    def scores(self, forced: Path, precision: Precision) -> Iterator[Comparison]:
        """Compare our scores and attention of the original's translations."""
        session, logprobs, variations = open_session(forced), [], []
        for text, translation in zip(self.texts, self.translations, strict=True):
            sides = self._ids(text, translation)
            if sides is None:
                continue
            feeds = {name: np.array([ids]) for name, ids in zip(("source", "target"), sides, strict=True)}
            lengths = {f"{name}_lengths": np.array([ids.shape[1]]) for name, ids in feeds.items()}
            ours, theirs = run(session, feeds | lengths), self._score(sides)
            logprobs.append(np.abs(ours["logprobs"][0] - theirs.logprobs))
            if theirs.attention is not None:
                variations.append(0.5 * np.abs(ours["cross_attention"][0] - theirs.attention).sum(-1).mean())
        limits = LIMITS[precision]
        mean = float(np.concatenate(logprobs).mean())
        yield Comparison("log-probabilities: mean difference, nats", mean, precision, at_most=limits.logprobs)
        if variations:
            mean = float(np.mean(variations))
            yield Comparison("cross-attention: total variation", mean, precision, at_most=limits.attention)

    def against(self, ours: Sequence[str], served: Sequence[str], precision: Precision) -> Iterator[Comparison]:
        """Compare our translations with the original's."""
        limits, theirs = LIMITS[precision], self.translations
        equal = [_share(one == second for one, second in zip(some, theirs, strict=True)) for some in (ours, served)]
        yield Comparison("equal translations, values=off", equal[0], precision, at_least=limits.equal)
        lower = _share(self._is_lower(*row) for row in zip(self.texts, ours, theirs, strict=True))
        yield Comparison("… lower score than the original's own", lower, precision, at_most=limits.lower)
        yield Comparison("equal translations, as served by default", equal[1], precision)
        yield Comparison("BLEU against the original's, values=off", bleu(ours, theirs), precision, at_least=limits.bleu)

    def _ids(self, text: str, translation: str) -> tuple[list[int], list[int]] | None:
        """Return our ids of both sides, each with its end; None if the graphs do not take as many."""
        model = self.model
        source = [*model.source_prefix(), *model.source.tokenizer.encode(text, add_special_tokens=False).ids]
        source += [EOS] * model.source_end
        ids = model.target.tokenizer.encode(translation, add_special_tokens=False).ids
        target = [*model.targets[0].begin, *ids, EOS]
        return None if max(len(source), len(target)) > model.max_tokens else (source, target)

    def _score(self, sides: tuple[list[int], list[int]]) -> Scored:
        """Return the original's scores of a translation in our ids."""
        source, target = ([int(row) for row in rows[ids]] for rows, ids in zip(self.model.rows, sides, strict=True))
        return self.engine.score(source, target)

    def _is_lower(self, text: str, ours: str, theirs: str) -> bool:
        """Return whether the original gives our translation a lower score, with its length penalty, than its own."""
        sides = self._ids(text, ours), self._ids(text, theirs)
        if ours == theirs or sides[0] is None or sides[1] is None:
            return False
        penalty = self.model.decoding.length_penalty
        scores = [self._score(side).logprobs.sum() / len(side[1]) ** penalty for side in (sides[0], sides[1])]
        return bool(scores[1] - scores[0] >= _TIE)


def served_translations(
    bundle: Path, pair: tuple[str, str], texts: Sequence[str], precision: Precision, values: str
) -> list[str]:
    """Return the service's translations, one for each text; raises TeacherError if it cannot translate."""
    options = ("--values", values, "--precision", precision, "--device", "cpu", "--from", pair[0], "--to", pair[1])
    return translated(bundle, texts, *options)


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU as sacrebleu computes it by default."""
    return float(sacrebleu.corpus_bleu(list(translations), [list(references)]).score)


def _share(equal: Iterable[bool]) -> float:
    return float(np.mean(list(equal)))


def _write_verdict(bundle: Path, name: str, target: str, sentences: int, figures: Sequence[Comparison]) -> None:
    """Write the comparison into the bundle's card: ``card.imported.checked`` of its manifest, and its README."""
    document = json.loads((bundle / MANIFEST_NAME).read_text(encoding="utf-8"))
    document["card"]["imported"]["checked"] = {
        "with": name,
        "target": target,
        "sentences": sentences,
        "passed": all(figure.passed for figure in figures),
        "figures": [figure.document() for figure in figures],
    }
    (bundle / README).write_text(readme(document), encoding="utf-8")
    write_manifest(bundle, document)
