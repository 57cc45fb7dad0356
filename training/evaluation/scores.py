"""Scores of translations: BLEU and chrF by sacreBLEU, and the metric of the teaching example."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

Family = Literal["cased", "tokenised"]
"""``cased``: sacreBLEU on plain text (Tatoeba, WMT, FLORES). ``tokenised``: lowercased text that is already tokenised,
without further tokenisation (``--tokenize none --lowercase``), as in papers about Multi30k."""


@dataclass(frozen=True, slots=True)
class MetricScore:
    """One score with its signature, which makes it reproducible."""

    metric: str
    score: float
    signature: str


def score(hypotheses: Sequence[str], references: Sequence[str], family: Family = "cased") -> list[MetricScore]:
    """Return BLEU and chrF of a test set with one reference for each sentence.

    Raises ValueError if the numbers of lines differ, or if there are none.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} translations cannot be compared with {len(references)} references")
    chrf = CHRF(lowercase=family == "tokenised")
    return [
        MetricScore(name, metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))
        for name, metric in (("BLEU", _bleu(family)), ("chrF", chrf))
    ]


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """The BLEU of the sentences whose source has ``shortest`` to ``longest`` white-space words."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: float | None
    """None for an empty bucket."""

    @property
    def label(self) -> str:
        """Return the range of lengths, such as ``1–10`` or ``over 30``."""
        return f"over {self.shortest - 1}" if self.longest is None else f"{self.shortest}–{self.longest}"


EDGES = (10, 20, 30)


def score_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    edges: Sequence[int] = EDGES,
    family: Family = "cased",
) -> list[LengthBucket]:
    """Return the corpus BLEU of each length bucket; ``edges``: their largest lengths, without the last."""
    bounds = list(zip([1, *(edge + 1 for edge in edges)], [*edges, None], strict=True))
    buckets = []
    for shortest, longest in bounds:
        chosen = [i for i, s in enumerate(sources) if shortest <= len(s.split()) <= (longest or math.inf)]
        chosen_texts = [hypotheses[i] for i in chosen], [references[i] for i in chosen]
        buckets.append(
            LengthBucket(shortest, longest, len(chosen), score(*chosen_texts, family)[0].score if chosen else None)
        )
    return buckets


def _bleu(family: Family) -> BLEU:
    tokenised = family == "tokenised"
    return BLEU(lowercase=tokenised, tokenize="none" if tokenised else "13a", force=True)


def bigram_bleu(prediction: Sequence[str], label: Sequence[str], longest: int = 2) -> float:
    """Return the metric of the classic teaching example, between 0 and 1.

    It is exp(min(0, 1 − |label| / |prediction|)) · Π over n of p_n ^ (1 / 2ⁿ); p_n is the share of the prediction's
    n-grams that are in the label; n goes up to ``longest``, or to the prediction's length if that is smaller.
    """
    if not prediction:
        return 0.0
    result = math.exp(min(0.0, 1 - len(label) / len(prediction)))
    for n in range(1, min(longest, len(prediction)) + 1):
        predicted, expected = (Counter(tuple(s[i : i + n]) for i in range(len(s) - n + 1)) for s in (prediction, label))
        result *= ((predicted & expected).total() / predicted.total()) ** (0.5**n)
    return result


TEACHING_SOURCES = ("Go.", "I lost.", "He's calm.", "I'm home.")

TEACHING_LABELS: dict[str, tuple[tuple[str, ...], ...]] = {
    "fr": (
        ("va !", "allez !", "vas-y !", "allez-y !"),
        ("j'ai perdu .",),
        ("il est calme .",),
        ("je suis chez moi .", "je suis à la maison ."),
    ),
    "de": (
        ("geh .", "los !", "geh !", "gehen sie ."),
        ("ich habe verloren .",),
        ("er ist ruhig .",),
        ("ich bin zu hause .", "ich bin daheim ."),
    ),
}
"""The accepted translations; the first is the label for bigram BLEU."""


@dataclass(frozen=True, slots=True)
class TeachingResult:
    """The result of one teaching sentence."""

    source: str
    translation: str
    bigram_bleu: float
    right: bool


def score_teaching(translations: Sequence[str], language: str) -> list[TeachingResult]:
    """Return the bigram BLEU of each teaching sentence, and whether its translation is accepted."""
    results = []
    for source, translation, labels in zip(TEACHING_SOURCES, translations, TEACHING_LABELS[language], strict=True):
        tokens = teaching_tokens(translation)
        value = bigram_bleu(tokens, labels[0].split())
        results.append(TeachingResult(source, translation, value, " ".join(tokens) in labels))
    return results


def teaching_tokens(text: str) -> list[str]:
    """Return a text's tokens as in the teaching example: lower case, separate punctuation, one kind of apostrophe."""
    plain = text.lower().replace("’", "'").replace("\u202f", " ").replace("\u00a0", " ")
    return re.sub(r"\s*([,.!?])", r" \1", plain).split()
