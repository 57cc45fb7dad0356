"""Runs the cells of a grid: each variant with each seed is prepared, trained, exported and measured once."""

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from service.bundle.manifest import AlignmentHead
from training.alignment.eflomal import align_both_ways, development_text, silver, training_text
from training.alignment.gold import AlignmentError, Gold
from training.alignment.guided_links import make_links
from training.alignment.head_search import rank_heads
from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.data.split import spread
from training.decoding.beam_search import SearchOptions
from training.decoding.greedy import translate_greedy
from training.decoding.translate import search
from training.evaluation.scored_pairs import samples, score_pairs
from training.evaluation.scores import Bucket, score, score_by_length
from training.evaluation.test_sets import TestSet, load_development
from training.experiments.variants import Variant
from training.export.bundle import ExportOptions
from training.export.card import Score
from training.export.compare import ParityError
from training.export.quantise import calibration_pairs
from training.export.trained import export_bundle
from training.files import write_json
from training.recipe import Recipe
from training.runs.fingerprint import hash_of, prepared_part
from training.runs.folder import RunFolder
from training.trainer.checkpoints import Trained, load_trained, newest_checkpoint
from training.trainer.run import train
from training.trainer.run_card import model_card

CALIBRATION_PAIRS = 200
RESULT = "cell.json"
NOTES = "A variant of a grid, trained for a comparison of kinds of attention: not for translating text of your own."
BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class Quality:
    """BLEU of a test set by the recipe's search, as a whole and by the length of the source."""

    bleu: float
    signature: str
    by_length: list[Bucket]


@dataclass(frozen=True, slots=True)
class Measured:
    """What is measured with every cell of a grid."""

    test: TestSet | None
    """None: the development data."""
    edges: tuple[int, ...]
    mirror: Path | None


@dataclass(frozen=True, slots=True)
class _Silver:
    """An aligner's links of the development data."""

    text: tuple[list[str], list[str]]
    links: list[Gold]


class Grid:
    """The folder of a grid: ``prepared-HASH/`` for each kind of text, and ``VARIANT/seed-N/`` for each cell."""

    def __init__(self, path: Path, measured: Measured) -> None:
        self.path, self._measured = path, measured
        self._silver: dict[Path, _Silver | None] = {}

    def run(self, variants: Sequence[Variant]) -> Iterator[tuple[Variant, dict[str, Any], bool]]:
        """Run the cells in order; yields each with its results, and whether they were there before."""
        for variant in variants:
            cell = self.cell(variant)
            kept = _kept(cell / RESULT, variant.recipe)
            yield (variant, kept, True) if kept is not None else (variant, self._run(cell, variant), False)

    def cell(self, variant: Variant) -> Path:
        """Return the folder of a variant with its seed."""
        return self.path / variant.name / f"seed-{variant.recipe.seed}"

    def _run(self, cell: Path, variant: Variant) -> dict[str, Any]:
        recipe, text = variant.recipe, self._prepared(variant.recipe)
        if newest_checkpoint(RunFolder(cell)) is None:
            shutil.copytree(self._trained_alike(variant) or text, cell, dirs_exist_ok=True)
            (cell / RESULT).unlink(missing_ok=True)
        began = time.process_time()
        train(recipe, RunFolder(cell), progress=False, pictures=False)
        result = {
            "variant": variant.name,
            "seed": recipe.seed,
            "recipe": _plain(recipe),
            "training_seconds": round(time.process_time() - began, 1),
            **self._measure(cell, text),
        }
        write_json(cell / RESULT, result)
        return result

    def _trained_alike(self, variant: Variant) -> Path | None:
        """Return the folder of a finished cell that differs in the search alone: its weights are the same."""
        wanted = {**_plain(variant.recipe), "search": None, "name": None}
        for found in finished_cells(self.path):
            if _covers({**found["recipe"], "search": None, "name": None}, wanted):
                return self.path / str(found["variant"]) / f"seed-{found['seed']}"
        return None

    def _measure(self, cell: Path, text: Path) -> dict[str, Any]:
        trained = load_trained(cell)
        test = self._measured.test or load_development(cell)[0]
        found = quality(trained, test, self._measured.edges)
        head = self._aligned(trained, text)
        result = {
            "test_set": test.name,
            "sentences": len(test.sources),
            "bleu": round(found.bleu, 2),
            "signature": found.signature,
            "by_length": [asdict(bucket) for bucket in found.by_length],
            "alignment_error": None if head is None or head.aer is None else round(head.aer, 2),
            "alignment_head": None if head is None else {"layer": head.layer, "head": head.head, "step": head.step},
            "parameters": sum(parameter.numel() for parameter in trained.network.parameters()),  # type: ignore[attr-defined]
            "not_exported": None,
        }
        try:
            export_cell(cell, result, cell / BUNDLE)
        except ParityError as error:  # a finding about this variant, which does not end the grid
            result["not_exported"] = str(error)
        return result

    def _aligned(self, trained: Trained, text: Path) -> AlignmentHead | None:
        """Return the head that agrees best with the silver links; None without attention or without an aligner."""
        found = self._silver_of(text)
        if found is None or getattr(trained.recipe.network, "attention", None) == "none":
            return None
        # No threshold is fitted: every target word is linked to the source word with the most weight.
        return rank_heads(samples(score_pairs(trained, *found.text), found.links), thresholds=(None,))[0]

    def _prepared(self, recipe: Recipe) -> Path:
        """Return a prepared folder with the text of a recipe, which variants and seeds share; guided ones need links.

        The seed of the first one draws what ``prepare`` draws.
        """
        part = prepared_part(recipe)
        path = self.path / f"prepared-{hash_of(json.dumps(part, sort_keys=True).encode())[:8]}"
        if not RunFolder(path).prepared.exists():
            path.mkdir(parents=True, exist_ok=True)
            prepare(recipe, RunFolder(path), self._measured.mirror, self.path / "downloads")
        guided = recipe.optimisation.guided_alignment is not None
        if guided and not all(RunFolder(path).links(corpus.name).exists() for corpus in recipe.corpora):
            make_links(path)
        return path

    def _silver_of(self, text: Path) -> _Silver | None:
        if text not in self._silver:
            development = development_text(text)
            try:
                both = align_both_ways(development, training_text(text, 100_000))
                self._silver[text] = _Silver(development, [silver(*found) for found in both])
            except AlignmentError:  # eflomal is optional
                self._silver[text] = None
        return self._silver[text]


def sample_of(test: TestSet, count: int) -> TestSet:
    """Return about ``count`` sentences of a test set, spread evenly over it."""
    chosen = spread([""] * len(test.sources), count)
    return TestSet(test.name, [test.sources[i] for i in chosen], [test.references[i] for i in chosen])


def quality(trained: Trained, test: TestSet, edges: Sequence[int]) -> Quality:
    """Translate a test set by the recipe's search and return its BLEU; ``edges`` are the buckets' largest lengths.

    A sentence longer than the network's limit loses its end.
    """
    limit = trained.recipe.max_tokens
    sources = [trained.tokenizer.encode(text).ids[: limit - 1] for text in test.sources]
    how = trained.recipe.search
    if how.beam_size == 1:
        found = translate_greedy(trained.network, sources, limit)
    else:
        options = SearchOptions(how.beam_size, how.length_penalty, limit, length_rule=how.length_rule)
        found = [hypotheses[0].ids for hypotheses in search(trained.network, sources, options)]
    texts = [trained.tokenizer.decode(ids) for ids in found]
    whole = score(texts, test.references, "cased")[0]
    return Quality(whole.score, whole.signature, score_by_length(test.sources, texts, test.references, edges))


def export_cell(cell: Path, result: Mapping[str, Any], output: Path) -> None:
    """Write the bundle of a trained cell with its results; raises ParityError if ONNX and PyTorch disagree."""
    trained, folder, found = load_trained(cell), RunFolder(cell), result["alignment_head"]
    head = None if found is None else AlignmentHead(**found, aer=result["alignment_error"])
    if head is not None:
        head = replace(head, measured_on="development data", against="silver")
    score_ = Score(result["test_set"], "BLEU", result["bleu"], result["signature"], "pytorch", 1)
    options = ExportOptions(
        card=model_card(trained.recipe, folder, (score_,), NOTES), precisions=("int8",), alignment=head
    )
    calibration = calibration_pairs(EncodedPairs.load(folder.development_pairs), CALIBRATION_PAIRS)
    export_bundle(trained.network, trained.tokenizer, trained.recipe, calibration, output, options)


def finished_cells(path: Path) -> list[dict[str, Any]]:
    """Return the results of all finished cells of a grid's folder, in the order in which they were made."""
    files = sorted(path.glob(f"*/seed-*/{RESULT}"), key=lambda file: (file.stat().st_mtime_ns, str(file)))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def _plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as plain data without the folders of files, which may differ."""
    sections = ("network", "optimisation", "validation", "search")
    return {
        **prepared_part(recipe),
        "name": recipe.name,
        "seed": recipe.seed,
        **{key: getattr(recipe, key).model_dump(mode="json") for key in sections},
    }


def _kept(result: Path, recipe: Recipe) -> dict[str, Any] | None:
    """Return the results of a finished cell; raises ValueError if they are those of another recipe."""
    if not result.exists():
        return None
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    if not _covers(found["recipe"], _plain(recipe)):
        raise ValueError(f"{result.parent} holds a cell of another recipe: delete it, or choose another --runs folder")
    return found


def _covers(before: Any, now: Any) -> bool:
    """Return whether all recorded values are the same now; keys that are newer than the record do not count."""
    if isinstance(before, dict) and isinstance(now, dict):
        return all(key in now and _covers(value, now[key]) for key, value in before.items())
    return bool(before == now)
