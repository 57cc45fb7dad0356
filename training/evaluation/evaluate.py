"""How good a trained network is: test sets, development data of every corpus, the four teaching sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer
from tqdm import tqdm

from training.data.reading import read_lines, read_pairs
from training.decoding.beam_search import SearchOptions
from training.decoding.translate import translate
from training.evaluation.scores import (
    TEACHING_LABELS,
    TEACHING_SOURCES,
    Bucket,
    Family,
    Score,
    TeachingResult,
    score,
    score_by_length,
    score_teaching,
)
from training.networks.build import build_network
from training.networks.interface import Network
from training.prepare import RunFolder
from training.recipe import Recipe
from training.trainer.checkpoints import load_parameters, newest_checkpoint, trained_parameters


@dataclass(frozen=True, slots=True)
class Trained:
    """A network with the vocabulary and the recipe it was trained with."""

    network: Network
    tokenizer: Tokenizer
    recipe: Recipe
    weights: str
    """The file the parameters were read from."""


@dataclass(frozen=True, slots=True)
class TestSet:
    """Sentences and their reference translations."""

    __test__ = False  # or pytest takes it for a class of tests

    name: str
    sources: Sequence[str]
    references: Sequence[str]


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one test set."""

    test_set: str
    sentences: int
    beam_size: int
    length_penalty: float
    scores: list[Score]
    by_length: list[Bucket]
    seconds: float | None
    """Time to translate; None for translations made elsewhere."""


Weights = Literal["usual", "best", "newest"]
"""``usual``: the mean of the last checkpoints, or the newest one where training went on since. ``best``: the checkpoint
with the highest development BLEU. ``newest``: the last one."""


def load_trained(path: Path, which: Weights = "usual") -> Trained:
    """Return a run folder's network with the parameters asked for.

    Raises FileNotFoundError when the folder does not hold them.
    """
    folder = RunFolder(path)
    if not folder.recipe.exists():
        raise FileNotFoundError(f"{path} is no run folder: there is no {folder.recipe.name} in it")
    weights = _weights(folder, which)
    if weights is None:
        raise FileNotFoundError(f"{path} holds no averaged parameters and no checkpoint: train first")
    recipe, tokenizer = folder.load_recipe(), folder.load_tokenizer()
    network = build_network(recipe.network, tokenizer.get_vocab_size()).eval()
    network.load_state_dict(load_parameters(weights))
    return Trained(network, tokenizer, recipe, weights.name)


def _weights(folder: RunFolder, which: Weights) -> Path | None:
    if which == "best":
        if not folder.best.exists():
            raise FileNotFoundError(f"there is no {folder.best}: it is written at the first look at development data")
        return folder.best
    return newest_checkpoint(folder) if which == "newest" else trained_parameters(folder)


def load_test(path: Path, target_path: Path | None = None) -> TestSet:
    """A TSV (source, tab, reference) or two line-aligned files; .gz too. Raises CorpusError as ``read_pairs`` does."""
    if target_path is None:
        sources, references = zip(*read_pairs(path), strict=True)
        return TestSet(_stem(path), sources, references)
    list(read_pairs(path, target_path))  # complains about unequal line counts by name
    return TestSet(_stem(path), read_lines(path), read_lines(target_path))


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".tsv")


def load_development(path: Path) -> list[TestSet]:
    """Return the held-out pairs of a run folder, one test set a corpus."""
    rows = RunFolder(path).load_development()
    names = dict.fromkeys(corpus for corpus, _, _ in rows)
    return [
        TestSet(
            f"development/{name}", [s for corpus, s, _ in rows if corpus == name], [t for c, _, t in rows if c == name]
        )
        for name in names
    ]


def translate_all(trained: Trained, sentences: Sequence[str], options: SearchOptions) -> list[str]:
    """Translations in the order given, with a progress bar on a terminal."""
    with tqdm(total=len(sentences), unit="sentence", disable=None) as bar:
        return translate(trained.network, trained.tokenizer, sentences, options, bar.update)


def evaluate(trained: Trained, test: TestSet, options: SearchOptions, family: Family) -> tuple[Result, list[str]]:
    """Translate a test set and score it; gives the translations too."""
    started = time.perf_counter()
    hypotheses = translate_all(trained, test.sources, options)
    seconds = round(time.perf_counter() - started, 2)
    return evaluate_lines(test, hypotheses, family, options, seconds), hypotheses


def evaluate_lines(
    test: TestSet,
    hypotheses: Sequence[str],
    family: Family,
    options: SearchOptions,
    seconds: float | None = None,
) -> Result:
    """Score translations made by any system with these options, e.g. the bundle through ``translucent translate``."""
    return Result(
        test_set=test.name,
        sentences=len(test.sources),
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
        scores=score(hypotheses, test.references, family),
        by_length=score_by_length(test.sources, hypotheses, test.references, family=family),
        seconds=seconds,
    )


def evaluate_teaching(trained: Trained, options: SearchOptions) -> list[TeachingResult]:
    """Return the four teaching sentences; empty for languages that have no accepted answers listed."""
    language = trained.recipe.target_language
    if trained.recipe.source_languages != ("en",) or language not in TEACHING_LABELS:
        return []
    return score_teaching(translate(trained.network, trained.tokenizer, TEACHING_SOURCES, options), language)


def report(
    model: str, precision: str, weights: str | None, results: Sequence[Result], teaching: Sequence[TeachingResult]
) -> dict[str, Any]:
    """Everything that was measured, as plain data for JSON."""
    return {
        "model": model,
        "precision": precision,
        "weights": weights,
        "results": [asdict(result) for result in results],
        "teaching": [asdict(result) for result in teaching],
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write UTF-8 JSON that people can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write UTF-8 text, one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def as_text(results: Sequence[Result], teaching: Sequence[TeachingResult]) -> str:
    """Return the same for people: a line a figure."""
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
