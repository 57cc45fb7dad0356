"""Compares an imported bundle with the original in its own implementation, so that a user can check an import.

The original runs in transformers or CTranslate2, which the user installs; nothing else of this project needs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import sacrebleu

from service.bundle import SERVICE
from service.bundle.manifest import MANIFEST_NAME, DecodingDefaults, Precision
from service.bundle.vocabulary import EOS
from service.bundle.write import write_manifest
from training.export.card import readme
from training.export.manifest import README
from training.export.sessions import open_session, run
from training.imports.files import ImportRefused
from training.imports.source import ImportedModel

Ids = Sequence[int]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Figure:
    """One comparison and its limit; a comparison without a limit is only information."""

    what: str
    value: float
    precision: Precision | None = None
    """The graphs that were compared; None: the comparison does not depend on them."""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def passed(self) -> bool:
        """Return whether the value is within its limit; NaN never is."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.at_least is None or self.value >= self.at_least

    def document(self) -> dict[str, str | float]:
        """Return the manifest's entry."""
        return {name: value for name, value in asdict(self).items() if value is not None}


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


class Checked(NamedTuple):
    """What was compared."""

    target: str
    sentences: int


class Compared(NamedTuple):
    """The sentences of a comparison."""

    texts: Sequence[str]
    originals: Sequence[str]
    """The original's translations, one a text."""
    references: Sequence[str] | None


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
) -> list[Figure]:
    """Return all comparisons of a bundle with the original over some sentences, one a text.

    For each precision that the bundle has for CPUs: log-probabilities and attention of the original's own translations,
    the translations themselves, and BLEU of both against references, one a text, if there are any. Raises ImportRefused
    without sentences, or where the references are of another number.
    """
    if not texts or not all(text.strip() for text in texts):
        raise ImportRefused("the text to check with needs a sentence on every line, and no empty lines")
    if references is not None and len(references) != len(texts):
        raise ImportRefused(f"there are {len(texts)} sentences and {len(references)} references; give one for each")
    compared = Compared(texts, original.translate(texts, model.decoding), references)
    figures = [Figure("texts with the same source tokens", _same_tokens(model, original, texts), at_least=0.99)]
    if references is not None:
        figures.append(Figure("BLEU of the original", _bleu(compared.originals, references)))
    graphs = json.loads((bundle / MANIFEST_NAME).read_text("utf-8"))["graphs"]
    for precision in LIMITS:
        if precision in graphs:
            figures += _scores(_ForcedGraph(bundle, model, precision), original, compared)
            figures += _translations(bundle, model, original, compared, precision)
    return figures


def _same_tokens(model: ImportedModel, original: Original, texts: Sequence[str]) -> float:
    """Return the share of texts with the same tokens in both."""
    rows, same = model.rows[0], 0
    for text in texts:
        ids = model.source.tokenizer.encode(text, add_special_tokens=False).ids
        same += [int(rows[number]) for number in ids] == list(original.encode(text))
    return same / len(texts)


def _bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    return float(sacrebleu.corpus_bleu(list(translations), [list(references)]).score)


def _ids(model: ImportedModel, text: str, translation: str) -> tuple[list[int], list[int]] | None:
    """Return our ids of both sides, each with its end; None if the graphs do not take as many."""
    source = [*model.targets[0].prefix, *model.source.tokenizer.encode(text, add_special_tokens=False).ids]
    source += [EOS] * model.source_end
    target = [*model.target.tokenizer.encode(translation, add_special_tokens=False).ids, EOS]
    return None if max(len(source), len(target)) > model.max_tokens else (source, target)


def _score(model: ImportedModel, original: Original, sides: tuple[list[int], list[int]]) -> Scored:
    """Return the original's scores of a translation in our ids."""
    return original.score(*([int(row) for row in rows[ids]] for rows, ids in zip(model.rows, sides, strict=True)))


class _ForcedGraph:
    """The bundle's own scoring of given translations."""

    def __init__(self, bundle: Path, model: ImportedModel, precision: Precision) -> None:
        graphs = json.loads((bundle / MANIFEST_NAME).read_text("utf-8"))["graphs"]
        self._session = open_session(bundle / graphs[precision]["forced"])
        self.model, self.precision = model, precision

    def run(self, source: Ids, target: Ids) -> Scored:
        """Return the scores of a translation."""
        sides = {"source": source, "target": target}
        feeds = {name: np.array([ids]) for name, ids in sides.items()}
        found = run(self._session, feeds | {f"{name}_lengths": np.array([len(ids)]) for name, ids in sides.items()})
        return Scored(found["logprobs"][0], found["cross_attention"][0])


def _scores(forced: _ForcedGraph, original: Original, compared: Compared) -> Iterator[Figure]:
    """Compare scores and attention of translations that the original made."""
    model, precision, logprobs, variations, aligning = forced.model, forced.precision, [], [], []
    for text, translation in zip(compared.texts, compared.originals, strict=True):
        sides = _ids(model, text, translation)
        if sides is None:
            continue
        found, wanted = forced.run(*sides), _score(model, original, sides)
        logprobs.append(np.abs(found.logprobs - wanted.logprobs))
        if wanted.attention is not None and found.attention is not None:
            difference = np.abs(found.attention - wanted.attention)
            variations.append(0.5 * difference.sum(-1).mean())
            aligning.append(difference[model.alignment.layer, model.alignment.head].max())
    limits = LIMITS[precision]
    mean = float(np.concatenate(logprobs).mean())
    yield Figure("log-probabilities: mean difference, nats", mean, precision, at_most=limits.logprobs)
    if variations:
        mean = float(np.mean(variations))
        yield Figure("cross-attention: total variation", mean, precision, at_most=limits.attention)
        median = float(np.median(aligning))
        yield Figure("aligning head: largest difference of a sentence, median", median, precision)


def _translations(
    bundle: Path, model: ImportedModel, original: Original, compared: Compared, precision: Precision
) -> Iterator[Figure]:
    """Compare the translations of the two, without our rules for numbers and other values, and as served by default."""
    limits, theirs = LIMITS[precision], compared.originals
    ours = translate_as_served(bundle, compared.texts, model, precision, "off")
    served = translate_as_served(bundle, compared.texts, model, precision)
    equal = [_share(one == other for one, other in zip(found, theirs, strict=True)) for found in (ours, served)]
    yield Figure("equal translations, values=off", equal[0], precision, at_least=limits.equal)
    lower = _share(_is_lower(model, original, *row) for row in zip(compared.texts, ours, theirs, strict=True))
    yield Figure("… lower score than the original's own", lower, precision, at_most=limits.lower)
    yield Figure("equal translations, as served by default", equal[1], precision)
    yield Figure("BLEU against the original's, values=off", _bleu(ours, theirs), precision, at_least=limits.bleu)
    chrf = float(sacrebleu.corpus_chrf(list(ours), [list(theirs)]).score)
    yield Figure("chrF against the original's, values=off", chrf, precision)
    if compared.references is not None:
        scores = [_bleu(found, compared.references) for found in (theirs, ours, served)]
        yield Figure("BLEU, values=off", scores[1], precision)
        yield Figure("BLEU, as served by default", scores[2], precision)
        yield Figure("BLEU lost, values=off", scores[0] - scores[1], precision, at_most=LOST_BLEU)


def _share(found: Iterator[bool]) -> float:
    return float(np.mean(list(found)))


_TIE = 1e-4
"""Scores that differ less are equal: the last digits depend on the order of additions."""


def _is_lower(model: ImportedModel, original: Original, text: str, ours: str, theirs: str) -> bool:
    """Return whether the original gives our translation a lower score, with its length penalty, than its own."""
    sides = _ids(model, text, ours), _ids(model, text, theirs)
    if ours == theirs or sides[0] is None or sides[1] is None:
        return False
    scores = [
        _score(model, original, side).logprobs.sum() / len(side[1]) ** model.decoding.length_penalty
        for side in (sides[0], sides[1])
    ]
    return bool(scores[1] - scores[0] >= _TIE)


def translate_as_served(
    bundle: Path,
    texts: Sequence[str],
    model: ImportedModel,
    precision: Precision,
    values: Literal["localize", "off"] = "localize",
) -> list[str]:
    """Return the service's translations with the bundle's own search settings, one for each text."""
    command = [sys.executable, "-m", SERVICE, "translate", "--model", str(bundle), "--no-split-sentences"]
    command += ["--values", values, "--precision", precision, "--device", "cpu"]
    command += ["--from", model.source_languages[0], "--to", model.targets[0].language, "--input", "-", "--output", "-"]
    found = subprocess.run(command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=False)
    if found.returncode:
        raise ImportRefused(f"{bundle}: the service cannot translate with it: {found.stderr.strip().splitlines()[-1]}")
    return found.stdout.removesuffix("\n").split("\n")


def write_verdict(bundle: Path, original: Original, figures: Sequence[Figure], checked: Checked) -> None:
    """Write the comparison into the bundle's card: ``card.imported.checked`` of its manifest, and its README."""
    document = json.loads((bundle / MANIFEST_NAME).read_text(encoding="utf-8"))
    document["card"]["imported"]["checked"] = {
        "with": original.name,
        "target": checked.target,
        "sentences": checked.sentences,
        "passed": all(figure.passed for figure in figures),
        "figures": [figure.document() for figure in figures],
    }
    (bundle / README).write_text(readme(document), encoding="utf-8")
    write_manifest(bundle, document)
