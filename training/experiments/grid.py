"""Runs the cells of a grid: each variant with each seed is prepared, trained, exported and measured once."""

import json
import shutil
import statistics
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from service.bundle.manifest import AlignmentHead
from training.alignment.eflomal import align_both_ways, development_text, silver, training_text
from training.alignment.gold import AlignmentError, Gold
from training.alignment.guided_links import prepare_with_links
from training.alignment.head_search import rank_heads
from training.data.augmentation import joins
from training.data.cleaning import Pair
from training.data.dataset import EncodedPairs
from training.data.split import spread
from training.data.subwords import UNKNOWN
from training.decoding.beam_search import SearchOptions
from training.evaluation.evaluate import evaluate
from training.evaluation.scored_pairs import samples, score_pairs
from training.evaluation.scores import LengthBucket
from training.evaluation.test_sets import TestSet, load_development, without_unknown
from training.experiments.variants import Variant
from training.export.bundle import ExportOptions
from training.export.card import CardScore
from training.export.compare import ParityError
from training.export.quantise import CALIBRATION_PAIRS, calibration_pairs
from training.export.trained import export_bundle
from training.files import write_json, write_lines
from training.recipe import Recipe
from training.runs.fingerprint import hash_of, prepared_part
from training.runs.folder import RunFolder
from training.tables import markdown
from training.trainer.checkpoints import Trained, load_trained, newest_checkpoint
from training.trainer.run import train
from training.trainer.run_card import model_card

RESULT = "cell.json"
NOTES = "A variant of a grid, trained for a comparison of kinds of attention: not for translating text of your own."

Cell = Mapping[str, Any]
"""The results of a variant with one seed."""


class Grid:
    """The folder of a grid: ``prepared-HASH/`` for each kind of text, and ``VARIANT/seed-N/`` for each cell."""

    def __init__(self, path: Path, test: TestSet | None, edges: Sequence[int], mirror: Path | None) -> None:
        """Every cell is measured on ``test``; None: the development data."""
        self.path, self._test, self._edges, self._mirror = path, test, edges, mirror
        self._silver: dict[Path, list[Gold] | None] = {}

    def run(self, variants: Sequence[Variant]) -> Iterator[tuple[Variant, Cell, bool]]:
        """Run the cells in order; yields each with its results, and whether they were there before."""
        for variant in variants:
            result = self.cell(variant) / RESULT
            kept = result.exists()
            measured = json.loads(result.read_text(encoding="utf-8")) if kept else self._run(variant)
            if measured["recipe"] != _plain(variant.recipe):
                raise ValueError(f"{result.parent} holds another recipe: delete it, or choose another --runs folder")
            yield variant, measured, kept

    def cell(self, variant: Variant) -> Path:
        """Return the folder of a variant with its seed."""
        return self.path / variant.name / f"seed-{variant.recipe.seed}"

    def finished(self) -> list[Cell]:
        """Return the results of all finished cells, in the order in which they were made."""
        files = sorted(self.path.glob(f"*/seed-*/{RESULT}"), key=lambda file: (file.stat().st_mtime_ns, str(file)))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def _run(self, variant: Variant) -> dict[str, Any]:
        cell, recipe, text = self.cell(variant), variant.recipe, self._prepared(variant.recipe)
        if newest_checkpoint(RunFolder(cell)) is None:
            shutil.copytree(text, cell, dirs_exist_ok=True)
        began = time.process_time()
        train(recipe, RunFolder(cell), progress=False)
        result = {
            "variant": variant.name,
            "seed": recipe.seed,
            "recipe": _plain(recipe),
            "training_seconds": round(time.process_time() - began, 1),
            **self._measure(cell, text),
        }
        write_json(cell / RESULT, result)
        return result

    def _measure(self, cell: Path, text: Path) -> dict[str, Any]:
        trained = load_trained(cell)
        test = self._test or load_development(cell)[0]
        options = SearchOptions(beam_size=1, max_length=trained.recipe.max_tokens)
        measured, _ = evaluate(trained, test, options, "cased", self._edges)
        head = self._aligned(trained, text)
        result = {
            "test_set": test.name,
            "sentences": len(test.sources),
            "bleu": round(measured.scores[0].score, 2),
            "signature": measured.scores[0].signature,
            "by_length": [asdict(bucket) for bucket in measured.by_length],
            **self._known(trained, test, options),
            "alignment_error": None if head is None or head.aer is None else round(head.aer, 2),
            "alignment_head": None if head is None else {"layer": head.layer, "head": head.head, "step": head.step},
            "parameters": sum(parameter.numel() for parameter in trained.network.parameters()),
            "not_exported": None,
        }
        try:
            export_cell(cell, result, cell / "bundle")
        except ParityError as error:  # a finding about this variant, which does not end the grid
            result["not_exported"] = str(error)
        return result

    def _known(self, trained: Trained, test: TestSet, options: SearchOptions) -> dict[str, Any]:
        """Return BLEU of the sentences without unknown words, for a vocabulary of words.

        As in table 1 of 1409.0473, no translation of them has an unknown word.
        """
        unknown = trained.tokenizer.token_to_id(UNKNOWN)
        if unknown is None:
            return {}
        covered = without_unknown(test, trained.tokenizer)
        if not covered.sources:
            return {}
        measured, _ = evaluate(trained, covered, replace(options, forbidden=(unknown,)), "cased")
        return {"no_unk": {"sentences": measured.sentences, "bleu": round(measured.scores[0].score, 2)}}

    def _aligned(self, trained: Trained, text: Path) -> AlignmentHead | None:
        """Return the head that agrees best with eflomal's links; None without attention or without eflomal."""
        if getattr(trained.recipe.network, "attention", None) == "none":
            return None
        development = development_text(text)
        if text not in self._silver:
            try:
                both = align_both_ways(development, training_text(text, 100_000))
                self._silver[text] = [silver(*pair) for pair in both]
            except AlignmentError:  # eflomal is optional
                self._silver[text] = None
        links = self._silver[text]
        if not links:
            return None
        # No threshold is fitted: every target word is linked to the source word with the most weight.
        return rank_heads(samples(score_pairs(trained, *development), links), thresholds=(None,))[0]

    def _prepared(self, recipe: Recipe) -> Path:
        """Return a prepared folder with the text of a recipe, which variants and seeds share; guided ones need links.

        The seed of the first one draws what ``prepare`` draws.
        """
        part = prepared_part(recipe)
        path = self.path / f"prepared-{hash_of(json.dumps(part, sort_keys=True).encode())[:8]}"
        prepare_with_links(recipe, RunFolder(path), self._mirror)
        return path


def sample_of(test: TestSet, count: int) -> TestSet:
    """Return about ``count`` sentences of a test set, spread evenly over it."""
    chosen = spread([""] * len(test.sources), count)
    return TestSet(test.name, [test.sources[i] for i in chosen], [test.references[i] for i in chosen])


def joined_of(test: TestSet, most: int, edges: Sequence[int], count: int) -> TestSet:
    """Return ``count`` sentences, as many of each length; each is 1 to ``most`` sentences of ``test`` in a row.

    The longest have 20 words more than the last edge. The result depends only on the arguments.
    """
    lengths: list[list[Pair]] = [[] for _ in (*edges, None)]
    for pair in joins(list(zip(test.sources, test.references, strict=True)), most, edges[-1] + 20, seed=1):
        lengths[bisect_left(edges, len(pair[0].split()))].append(pair)
    chosen = [pair for group in lengths for pair in group[: count // len(lengths)]]
    return TestSet(f"{test.name}/joined", [source for source, _ in chosen], [target for _, target in chosen])


def export_cell(cell: Path, result: Cell, output: Path) -> None:
    """Write the bundle of a trained cell with its results; raises ParityError if ONNX and PyTorch disagree."""
    trained, folder, alignment_head = load_trained(cell), RunFolder(cell), result["alignment_head"]
    head = None if alignment_head is None else AlignmentHead(**alignment_head, aer=result["alignment_error"])
    if head is not None:
        head = replace(head, measured_on="development data", against="silver")
    score = CardScore(result["test_set"], "BLEU", result["bleu"], result["signature"], "pytorch", 1)
    options = ExportOptions(
        card=model_card(trained.recipe, folder, (score,), NOTES), precisions=("int8",), alignment=head
    )
    calibration = calibration_pairs(EncodedPairs.load(folder.development_pairs), CALIBRATION_PAIRS)
    export_bundle(trained.network, trained.tokenizer, trained.recipe, calibration, output, options)


def _plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as plain data without the folders of files, which may differ."""
    plain = recipe.model_dump(mode="json", include={"name", "seed", "network", "optimisation", "validation"})
    return {**prepared_part(recipe), **plain}


def summary(cells: Sequence[Cell], output: Path | None) -> str:
    """Return the table of the variants, the base first; with ``output``, also write it, and as JSON with all cells."""
    more = list(dict.fromkeys(label for cell in cells for label in _more_scores(cell)))
    rows = []
    for name in sorted(dict.fromkeys(cell["variant"] for cell in cells), key=lambda name: name != "base"):
        variant_cells = [cell for cell in cells if cell["variant"] == name]
        figures = [spread_of([cell[key] for cell in variant_cells]) for key in ("bleu", "alignment_error")]
        others = [spread_of([_more_scores(cell).get(label) for cell in variant_cells]) for label in more]
        rows.append([name, str(len(variant_cells)), *figures, f"{variant_cells[0]['parameters']:,}", *others])
    table = markdown(("variant", "seeds", "BLEU", "AER", "parameters", *more), rows)
    if output is not None:
        write_lines(output.with_name(f"{output.name}.md"), [table])
        small = [{key: value for key, value in cell.items() if key != "recipe"} for cell in cells]
        write_json(output.with_name(f"{output.name}.json"), {"cells": small})
    return table


def _more_scores(cell: Cell) -> dict[str, float | None]:
    """Return the BLEU of each length and of the sentences without unknown words, by name and number of sentences."""
    buckets = [LengthBucket(**bucket) for bucket in cell.get("by_length", ())]
    lengths = {f"{bucket.label} ({bucket.sentences})": bucket.bleu for bucket in buckets}
    more = cell.get("no_unk")
    return lengths if more is None else {f"No UNK ({more['sentences']})": more["bleu"], **lengths}


def spread_of(values: Sequence[float | None]) -> str:
    """Return mean and standard deviation over seeds; a dash if a value is missing."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return "–"
    deviation = f" ± {statistics.stdev(present):.1f}" if len(present) > 1 else ""
    return f"{statistics.fmean(present):.1f}{deviation}"
