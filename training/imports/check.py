"""Compares an imported bundle with the original in its own implementation, so that a user can check an import.

The original runs in transformers or CTranslate2, which the user installs; nothing else of this project needs them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
_TIE = 1e-4
"""Scores that differ less are equal: the last digits depend on the order of additions."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The original's scores of a given translation."""

    logprobs: Floats
    """[T], </s> counted."""
    attention: Floats | None
    """Cross-attention [L, H, T, S], if the implementation returns it."""


class Original(Protocol):
    """The original model in its own implementation, with its own ids."""

    name: str

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text as the original's users send it."""

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text with these search settings, as far as the implementation has them."""

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return the scores of a translation; the target ends with its end token."""


def towards(model: ImportedModel, target: str | None) -> ImportedModel:
    """Return the model with the named target as the first, which is compared; raise ImportRefused if it has none."""
    if target is None:
        return model
    first = [each for each in model.targets if each.language == target]
    if not first:
        languages = ", ".join(each.language for each in model.targets)
        raise ImportRefused(f"{model.name} does not translate into {target}; choose one of {languages}")
    return replace(model, targets=(*first, *(each for each in model.targets if each.language != target)))


def compare(
    bundle: Path,
    model: ImportedModel,
    original: Original,
    texts: Sequence[str],
    references: Sequence[str] | None = None,
) -> list[Comparison]:
    """Return all comparisons of a bundle with the original over some sentences, one a text.

    For each precision that the bundle has for CPUs: log-probabilities and attention of the original's own translations,
    the translations themselves, and BLEU of both against references, one a text, if there are any. Raises ImportRefused
    without sentences, or where the references are of another number.
    """
    require_sentences(texts, references)
    comparison = _Comparison(bundle, model, original, texts, original.translate(texts, model.decoding), references)
    figures = [Comparison("texts with the same source tokens", comparison.same_tokens(), at_least=0.99)]
    if references is not None:
        figures.append(Comparison("BLEU of the original", bleu(comparison.originals, references)))
    for precision in LIMITS:
        if precision in comparison.graphs:
            figures += [*comparison.scores(precision), *comparison.translations(precision)]
    return figures


def require_sentences(texts: Sequence[str], references: Sequence[str] | None) -> None:
    """Raise ImportRefused without sentences, or where the references are of another number."""
    if not texts or not all(text.strip() for text in texts):
        raise ImportRefused("the text to check with needs a sentence on every line, and no empty lines")
    if references is not None and len(references) != len(texts):
        raise ImportRefused(f"there are {len(texts)} sentences and {len(references)} references; give one for each")


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A bundle, its original and the sentences that they are compared over."""

    bundle: Path
    model: ImportedModel
    original: Original
    texts: Sequence[str]
    originals: Sequence[str]
    """The original's translations, one a text."""
    references: Sequence[str] | None

    @property
    def graphs(self) -> dict[str, dict[str, str]]:
        """Return the manifest's graphs by precision."""
        graphs: dict[str, dict[str, str]] = json.loads((self.bundle / MANIFEST_NAME).read_text("utf-8"))["graphs"]
        return graphs

    def same_tokens(self) -> float:
        """Return the share of texts with the same tokens in both."""
        encode, rows = self.model.source.tokenizer.encode, self.model.rows[0]
        return _share(
            [int(rows[number]) for number in encode(text, add_special_tokens=False).ids] == self.original.encode(text)
            for text in self.texts
        )

    def scores(self, precision: Precision) -> Iterator[Comparison]:
        """Compare scores and attention of translations that the original made."""
        session = open_session(self.bundle / self.graphs[precision]["forced"])
        logprobs, variations, aligning, head = [], [], [], self.model.alignment
        for text, translation in zip(self.texts, self.originals, strict=True):
            sides = self._ids(text, translation)
            if sides is None:
                continue
            feeds = {name: np.array([ids]) for name, ids in zip(("source", "target"), sides, strict=True)}
            lengths = {f"{name}_lengths": np.array([ids.shape[1]]) for name, ids in feeds.items()}
            found, wanted = run(session, feeds | lengths), self._score(sides)
            logprobs.append(np.abs(found["logprobs"][0] - wanted.logprobs))
            if wanted.attention is not None:
                difference = np.abs(found["cross_attention"][0] - wanted.attention)
                variations.append(0.5 * difference.sum(-1).mean())
                aligning.append(difference[head.layer, head.head].max())
        limits = LIMITS[precision]
        mean = float(np.concatenate(logprobs).mean())
        yield Comparison("log-probabilities: mean difference, nats", mean, precision, at_most=limits.logprobs)
        if variations:
            mean = float(np.mean(variations))
            yield Comparison("cross-attention: total variation", mean, precision, at_most=limits.attention)
            median = float(np.median(aligning))
            yield Comparison("aligning head: largest difference of a sentence, median", median, precision)

    def translations(self, precision: Precision) -> Iterator[Comparison]:
        """Compare the translations, without our rules for numbers and other values, and as served by default."""
        limits, theirs = LIMITS[precision], self.originals
        ours, served = (self._translated(precision, values) for values in ("off", "localize"))
        equal = [_share(one == other for one, other in zip(found, theirs, strict=True)) for found in (ours, served)]
        yield Comparison("equal translations, values=off", equal[0], precision, at_least=limits.equal)
        lower = _share(self._is_lower(*row) for row in zip(self.texts, ours, theirs, strict=True))
        yield Comparison("… lower score than the original's own", lower, precision, at_most=limits.lower)
        yield Comparison("equal translations, as served by default", equal[1], precision)
        yield Comparison("BLEU against the original's, values=off", bleu(ours, theirs), precision, at_least=limits.bleu)
        yield Comparison("chrF against the original's, values=off", chrf(ours, theirs), precision)
        if self.references is not None:
            scores = [bleu(found, self.references) for found in (theirs, ours, served)]
            yield Comparison("BLEU, values=off", scores[1], precision)
            yield Comparison("BLEU, as served by default", scores[2], precision)
            yield Comparison("BLEU lost, values=off", scores[0] - scores[1], precision, at_most=LOST_BLEU)

    def _ids(self, text: str, translation: str) -> tuple[list[int], list[int]] | None:
        """Return our ids of both sides, each with its end; None if the graphs do not take as many."""
        model = self.model
        source = [*model.targets[0].prefix, *model.source.tokenizer.encode(text, add_special_tokens=False).ids]
        source += [EOS] * model.source_end
        target = [*model.target.tokenizer.encode(translation, add_special_tokens=False).ids, EOS]
        return None if max(len(source), len(target)) > model.max_tokens else (source, target)

    def _score(self, sides: tuple[list[int], list[int]]) -> Scored:
        """Return the original's scores of a translation in our ids."""
        source, target = ([int(row) for row in rows[ids]] for rows, ids in zip(self.model.rows, sides, strict=True))
        return self.original.score(source, target)

    def _is_lower(self, text: str, ours: str, theirs: str) -> bool:
        """Return whether the original gives our translation a lower score, with its length penalty, than its own."""
        sides = self._ids(text, ours), self._ids(text, theirs)
        if ours == theirs or sides[0] is None or sides[1] is None:
            return False
        penalty = self.model.decoding.length_penalty
        scores = [self._score(side).logprobs.sum() / len(side[1]) ** penalty for side in (sides[0], sides[1])]
        return bool(scores[1] - scores[0] >= _TIE)

    def _translated(self, precision: Precision, values: str) -> list[str]:
        """Return the service's translations with the bundle's own search settings, one for each text."""
        pair = self.model.source_languages[0], self.model.targets[0].language
        return served_translations(self.bundle, pair, self.texts, precision, values)


def served_translations(
    bundle: Path, pair: tuple[str, str], texts: Sequence[str], precision: Precision, values: str
) -> list[str]:
    """Return the service's translations, one for each text; raises TeacherError if it cannot translate."""
    options = ("--values", values, "--precision", precision, "--device", "cpu", "--from", pair[0], "--to", pair[1])
    return translated(bundle, texts, *options)


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU as sacrebleu computes it by default."""
    return float(sacrebleu.corpus_bleu(list(translations), [list(references)]).score)


def chrf(translations: Sequence[str], references: Sequence[str]) -> float:
    """Return chrF as sacrebleu computes it by default."""
    return float(sacrebleu.corpus_chrf(list(translations), [list(references)]).score)


def _share(found: Iterable[bool]) -> float:
    return float(np.mean(list(found)))


def write_verdict(bundle: Path, name: str, target: str, sentences: int, figures: Sequence[Comparison]) -> None:
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
