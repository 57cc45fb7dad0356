"""Compares an imported bundle with the original in its own implementation, so that a user can check an import.

The original runs in transformers or CTranslate2, which the user installs; nothing else of this project needs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import sacrebleu

from service.bundle import SERVICE
from service.bundle.manifest import MANIFEST_NAME, DecodingDefaults
from service.bundle.vocabulary import EOS
from service.bundle.write import write_manifest
from training.export.card import readme
from training.export.manifest import README
from training.export.sessions import open_session, run
from training.imports.errors import ImportRefused
from training.imports.source import ImportedModel

Ids = Sequence[int]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Figure:
    """One comparison and its limit; a comparison without a limit is only information."""

    what: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def passed(self) -> bool:
        """Return whether the value is within its limit; NaN never is."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.at_least is None or self.value >= self.at_least

    def __str__(self) -> str:
        bounded = self.at_most is not None or self.at_least is not None
        verdict = ("ok  " if self.passed else "FAIL") if bounded else "    "
        bound = f"(≤ {self.at_most:g})" if self.at_most is not None else ""
        bound = f"(≥ {self.at_least:g})" if self.at_least is not None else bound
        return f"{verdict} {self.what:58} {self.value:9.4g} {bound}".rstrip()


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

    Tokens, log-probabilities and attention of the original's own translations, the translations themselves, and BLEU
    of both against references, one a text, if there are any. Raises ImportRefused without sentences, or where the
    references are of another number.
    """
    if not texts or not all(text.strip() for text in texts):
        raise ImportRefused("the text to check with needs a sentence on every line, and no empty lines")
    if references is not None and len(references) != len(texts):
        raise ImportRefused(f"there are {len(texts)} sentences and {len(references)} references; give one for each")
    theirs = original.translate(texts, model.decoding)
    ours = translate_as_served(bundle, texts, model)
    scored = [] if references is None else against_references(ours, theirs, references)
    equal = float(np.mean([one == other for one, other in zip(ours, theirs, strict=True)]))
    forced = _ForcedGraph(bundle, model)
    return [
        Figure("texts with the same source tokens", _same_tokens(model, original, texts), at_least=0.99),
        *_scores(forced, original, list(zip(texts, theirs, strict=True))),
        Figure("equal translations (int8 against the original)", equal),
        *_higher_scores(forced, model.decoding.length_penalty, list(zip(texts, ours, theirs, strict=True))),
        Figure("BLEU of ours against the original's", sacrebleu.corpus_bleu(ours, [theirs]).score, at_least=80),
        Figure("chrF of ours against the original's", sacrebleu.corpus_chrf(ours, [theirs]).score),
        *scored,
    ]


def against_references(ours: Sequence[str], theirs: Sequence[str], references: Sequence[str]) -> list[Figure]:
    """Return BLEU and chrF of both against references."""
    scores = [sacrebleu.corpus_bleu(list(side), [list(references)]).score for side in (ours, theirs)]
    return [
        Figure("BLEU of the bundle", scores[0]),
        Figure("BLEU of the original", scores[1]),
        Figure("BLEU lost", scores[1] - scores[0], at_most=0.3),
    ]


def _same_tokens(model: ImportedModel, original: Original, texts: Sequence[str]) -> float:
    """Return the share of texts with the same tokens in both."""
    rows, same = model.rows[0], 0
    for text in texts:
        ids = model.source.tokenizer.encode(text, add_special_tokens=False).ids
        same += [int(rows[number]) for number in ids] == list(original.encode(text))
    return same / len(texts)


class _ForcedGraph:
    """The bundle's own scoring of given translations, in int8."""

    def __init__(self, bundle: Path, model: ImportedModel) -> None:
        graphs = json.loads((bundle / MANIFEST_NAME).read_text("utf-8"))["graphs"]
        self._session, self.model = open_session(bundle / graphs["int8"]["forced"]), model

    def ids(self, text: str, translation: str) -> tuple[list[int], list[int]] | None:
        """Return the ids of both sides; None if the graph does not take as many."""
        model = self.model
        source = [*model.targets[0].prefix, *model.source.tokenizer.encode(text, add_special_tokens=False).ids]
        source += [EOS] * model.source_end
        target = [*model.target.tokenizer.encode(translation, add_special_tokens=False).ids, EOS]
        return None if max(len(source), len(target)) > model.max_tokens else (source, target)

    def run(self, source: Ids, target: Ids) -> Scored:
        """Return the scores of a translation."""
        sides = {"source": source, "target": target}
        feeds = {name: np.array([ids]) for name, ids in sides.items()}
        found = run(self._session, feeds | {f"{name}_lengths": np.array([len(ids)]) for name, ids in sides.items()})
        return Scored(found["logprobs"][0], found["cross_attention"][0])


_TIE = 1e-4
"""Scores that differ less are equal: the last digits depend on the order of additions."""


def _higher_scores(forced: _ForcedGraph, penalty: float, rows: Sequence[tuple[str, str, str]]) -> list[Figure]:
    """Return the shares of texts whose translations differ, by which of the two the bundle itself scores higher."""
    ours_higher = theirs_higher = ties = 0
    for text, ours, theirs in rows:
        sides = [forced.ids(text, translation) for translation in (ours, theirs)]
        if ours == theirs or None in sides:
            continue
        scores = [forced.run(*side).logprobs.sum() / len(side[1]) ** penalty for side in sides if side is not None]
        ties += abs(scores[0] - scores[1]) < _TIE
        ours_higher += scores[0] - scores[1] >= _TIE
        theirs_higher += scores[1] - scores[0] >= _TIE
    return [
        Figure("different, the bundle's has the higher score", ours_higher / len(rows)),
        Figure("different, the original's has the higher score", theirs_higher / len(rows)),
        Figure("different, with equal scores", ties / len(rows)),
    ]


def _scores(forced: _ForcedGraph, original: Original, pairs: Sequence[tuple[str, str]]) -> list[Figure]:
    """Compare scores and attention of translations that the original made."""
    model, logprobs, attention = forced.model, [], []
    for text, translation in pairs:
        sides = forced.ids(text, translation)
        if sides is None:
            continue
        found = forced.run(*sides)
        assert found.attention is not None
        wanted = original.score(*([int(row) for row in rows[ids]] for rows, ids in zip(model.rows, sides, strict=True)))
        logprobs.append(np.abs(found.logprobs - wanted.logprobs))
        if wanted.attention is not None:
            attention.append(0.5 * np.abs(found.attention - wanted.attention).sum(-1).mean())
    figures = [
        Figure("mean difference of log-probabilities, nats", float(np.concatenate(logprobs).mean()), at_most=0.1)
    ]
    if attention:
        figures.append(Figure("total variation of cross-attention", float(np.mean(attention)), at_most=0.05))
    return figures


def translate_as_served(bundle: Path, texts: Sequence[str], model: ImportedModel) -> list[str]:
    """Return the service's translations with the bundle's own search settings, one for each text."""
    command = [sys.executable, "-m", SERVICE, "translate", "--model", str(bundle), "--no-split-sentences"]
    command += ["--values", "off"]  # the original knows no values
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
        "figures": [{name: value for name, value in asdict(figure).items() if value is not None} for figure in figures],
    }
    (bundle / README).write_text(readme(document), encoding="utf-8")
    write_manifest(bundle, document)
