"""Quality of a trained network on test sets, on the development data of each corpus and on the teaching sentences."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tqdm import tqdm

from training.decoding.beam_search import SearchOptions
from training.decoding.translate import translate
from training.evaluation.scores import (
    EDGES,
    TEACHING_LABELS,
    TEACHING_SOURCES,
    Family,
    LengthBucket,
    MetricScore,
    TeachingResult,
    score,
    score_by_length,
    score_teaching,
)
from training.evaluation.test_sets import TestSet
from training.trainer.checkpoints import Trained


@dataclass(frozen=True, slots=True)
class TestSetResult:
    """The scores of one test set."""

    test_set: str
    sentences: int
    beam_size: int
    length_penalty: float
    scores: list[MetricScore]
    by_length: list[LengthBucket]
    seconds: float
    """Of the translation."""


def translate_all(trained: Trained, sentences: Sequence[str], options: SearchOptions) -> list[str]:
    """Return the translations in order; show a progress bar on a terminal."""
    with tqdm(total=len(sentences), unit="sentence", disable=None) as bar:
        return translate(trained.network, trained.tokenizer, sentences, options, bar.update)


def evaluate(
    trained: Trained, test: TestSet, options: SearchOptions, family: Family, edges: Sequence[int] = EDGES
) -> tuple[TestSetResult, list[str]]:
    """Translate a test set and score it, also by length (see ``score_by_length``); returns the translations, too."""
    started = time.perf_counter()
    hypotheses = translate_all(trained, test.sources, options)
    seconds = round(time.perf_counter() - started, 2)
    result = TestSetResult(
        test_set=test.name,
        sentences=len(test.sources),
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        scores=score(hypotheses, test.references, family),
        by_length=score_by_length(test.sources, hypotheses, test.references, edges, family),
        seconds=seconds,
    )
    return result, hypotheses


def evaluate_teaching(trained: Trained, options: SearchOptions) -> list[TeachingResult]:
    """Return the results of the teaching sentences; none for languages without a list of accepted answers."""
    language = trained.recipe.target_language
    if trained.recipe.source_languages != ("en",) or language not in TEACHING_LABELS:
        return []
    return score_teaching(translate(trained.network, trained.tokenizer, TEACHING_SOURCES, options), language)


def report(
    model: str, weights: str, results: Sequence[TestSetResult], teaching: Sequence[TeachingResult]
) -> dict[str, Any]:
    """Return all measurements as plain data for JSON."""
    return {
        "model": model,
        "precision": "pytorch",
        "weights": weights,
        "results": [asdict(result) for result in results],
        "teaching": [asdict(result) for result in teaching],
    }


def as_text(results: Sequence[TestSetResult], teaching: Sequence[TeachingResult]) -> str:
    """Return the same as text, with a line for each score."""
    lines = []
    for result in results:
        lines.append(f"{result.test_set}: {result.sentences} sentences")
        lines += [f"  {figure.metric:5} {figure.score:6.2f}  {figure.signature}" for figure in result.scores]
        lines += [
            f"  {bucket.label:>8} words {bucket.bleu:6.2f}  ({bucket.sentences} sentences)"
            for bucket in result.by_length
            if bucket.bleu is not None
        ]
    lines += [
        f"{'right' if row.right else 'wrong'}  {row.source} → {row.translation}  bigram BLEU {row.bigram_bleu:.3f}"
        for row in teaching
    ]
    return "\n".join(lines)
