"""The command that turns a run folder into a bundle."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from service.bundle.manifest import MANIFEST_NAME, AlignmentHead, DecodingDefaults, GoldRate, Precision
from training.data.corpora import find_corpus
from training.data.dataset import EncodedPairs
from training.export.bundle import ExportOptions, export_bundle
from training.export.calibrate import IdPair
from training.export.card import DataCredit, ModelCard, Score
from training.export.shortlist import Shortlist, learn_shortlist
from training.recipe import CorpusConfig, Recipe
from training.runs.folder import RunFolder
from training.runs.stages import closed, git_revision, load_stages
from training.trainer.checkpoints import Weights, load_trained, newest_checkpoint

CALIBRATION_PAIRS = 200

Scores = Annotated[
    list[Path] | None, typer.Option(help="Output of `evaluate --output`, or a JSON list of scores; may be repeated.")
]
AlignmentFile = Annotated[
    Path | None, typer.Option(help="Output of `align --output`: the alignment head. Default: the last layer.")
]


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. runs/transformer-en-fr.")],
    output: Annotated[Path, typer.Option(help="Folder of the bundle, e.g. models/transformer-en-fr; it is replaced.")],
    version: Annotated[
        str | None, typer.Option(help="The model's version. Default: one more than that of the bundle it replaces.")
    ] = None,
    weights: Annotated[
        Weights,
        typer.Option(
            help="usual: the mean of the last checkpoints. best: the checkpoint with the highest development BLEU."
        ),
    ] = "usual",
    with_fp32: Annotated[bool, typer.Option("--fp32", help="Also write float graphs (four times the size).")] = False,
    scores: Scores = None,
    alignment: AlignmentFile = None,
    gold_alignment: Annotated[
        Path | None,
        typer.Option(help="Output of `align --reading --gold` for the same alignment head, against links from people."),
    ] = None,
    notes: Annotated[str | None, typer.Option(help="A sentence for the model card.")] = None,
    wrap_tokens: Annotated[
        int | None,
        typer.Option(
            min=8, help="Translate sentences with more source tokens in parts; better for models of short sentences."
        ),
    ] = None,
    shortlist: Annotated[
        bool, typer.Option(help="Let int8 steps score only the tokens that a sentence's translation may need.")
    ] = True,
) -> None:
    """Write the bundle that the service loads; refuse if ONNX and PyTorch disagree."""
    folder = RunFolder(run)
    trained = load_trained(run, weights)
    precisions: tuple[Precision, ...] = ("int8", "fp16", "fp32") if with_fp32 else ("int8", "fp16")
    card = model_card(
        trained.recipe, folder, tuple(entry for path in scores or () for entry in read_scores(path)), notes
    )
    options = ExportOptions(
        card=card,
        version=version or next_version(output),
        precisions=precisions,
        decoding=DecodingDefaults(wrap_tokens=wrap_tokens),
        alignment=read_alignment(alignment, gold_alignment) if alignment else None,
        shortlist=shortlist_of(folder, trained.recipe, trained.tokenizer.get_vocab_size()) if shortlist else None,
    )
    pairs = calibration_pairs(EncodedPairs.load(folder.development_pairs), CALIBRATION_PAIRS)
    export_bundle(trained.network, trained.tokenizer, trained.recipe, pairs, output, options)
    typer.echo(f"{output}: {trained.recipe.name} from {trained.weights}")


def next_version(output: Path) -> str:
    """Return one more than the version of the bundle in ``output``; 1 where there is none.

    Raises ValueError for a version that is no number.
    """
    manifest = output / MANIFEST_NAME
    if not manifest.exists():
        return "1"
    before = str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
    if not before.isdecimal():
        raise ValueError(f"{output} has version {before!r}, which cannot be counted on from: give --version")
    return str(int(before) + 1)


def shortlist_of(folder: RunFolder, recipe: Recipe, vocabulary: int) -> Shortlist:
    """What the run's own training pairs say about which token may call for which."""
    corpora = [EncodedPairs.load(folder.corpus(corpus.name)) for corpus in recipe.corpora]
    return learn_shortlist(corpora, [corpus.weight for corpus in recipe.corpora], vocabulary)


def calibration_pairs(development: EncodedPairs, count: int) -> list[IdPair]:
    """Development pairs spread evenly over all corpora, which stand one after the other."""
    chosen = np.unique(np.linspace(0, len(development) - 1, min(count, len(development))).astype(int))
    return [(development.source[int(i)], development.target[int(i)]) for i in chosen]


def model_card(recipe: Recipe, folder: RunFolder, scores: tuple[Score, ...], notes: str | None) -> ModelCard:
    """What is known of a run: its data with whom to credit, its seed, the code's revision, its scores."""
    statistics = json.loads(folder.statistics.read_text(encoding="utf-8"))
    stages, newest = load_stages(folder.stages), newest_checkpoint(folder)
    if stages and stages[-1]["to_update"] is None and newest is not None:  # killed, or training still
        stages = closed(stages, int(newest.stem))
    return ModelCard(
        data=tuple(data_credit(recipe, corpus, statistics[corpus.name]["pairs"]) for corpus in recipe.corpora),
        seed=recipe.seed,
        git_revision=stages[-1]["git_revision"] if stages else git_revision(),
        scores=scores,
        notes=notes,
        stages=stages,
        exported_with=git_revision(),
    )


def read_scores(path: Path) -> tuple[Score, ...]:
    """A report of ``evaluate``, or a list of scores measured elsewhere.

    Raises ValueError naming a file that is neither.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list):
            return tuple(Score(**entry) for entry in content)
        return tuple(
            Score(
                result["test_set"],
                figure["metric"],
                round(figure["score"], 2),
                figure["signature"],
                content["precision"],
                result["beam_size"],
            )
            for result in content["results"]
            for figure in result["scores"]
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} must be a report of `evaluate` or a JSON list of scores: {error!r}") from error


def read_alignment(path: Path, gold_path: Path | None = None) -> AlignmentHead:
    """The best reading that ``align`` found, with its error against gold where that was measured.

    Raises ValueError naming a file that is no such report, or a gold report of another reading.
    """
    found = _read_alignment(path)
    gold = found if gold_path is None else _read_alignment(gold_path)
    same = (gold.layer, gold.head, gold.step, gold.threshold) == (found.layer, found.head, found.step, found.threshold)
    if not same:
        raise ValueError(
            f"{gold_path} measures another alignment head than {path}: pass that head to `align` as --reading"
        )
    if gold.against != "gold" or gold.aer is None or gold.measured_on is None:
        if gold_path is not None:
            raise ValueError(
                f"{gold_path} was not measured against gold links: pass links from people to `align` as --gold"
            )
        return found
    return replace(found, gold=GoldRate(aer=gold.aer, measured_on=gold.measured_on))


def _read_alignment(path: Path) -> AlignmentHead:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        best = content["readings"][0]
        return AlignmentHead(**best | {"measured_on": content["measured_on"], "against": content.get("against")})
    except (IndexError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} must be a report of `align --gold`: {error!r}") from error


def data_credit(recipe: Recipe, corpus: CorpusConfig, pairs: int) -> DataCredit:
    """Whom to credit for a corpus of a recipe, and its licence: its origin's, if it is made from another."""
    if corpus.origin is not None:
        origin = next(other for other in recipe.corpora if other.name == corpus.origin)
        credit = data_credit(recipe, origin, pairs)
        return replace(credit, name=corpus.name, credit=f"made from {origin.name}: {credit.credit}")
    if corpus.number_templates:
        return DataCredit(corpus.name, pairs, "Apache-2.0", "Translucent's own sentences with random numbers")
    if corpus.path is not None:
        whom = corpus.credit or f"local file {corpus.path.name}"
        return DataCredit(corpus.name, pairs, corpus.licence or "not stated", whom)
    known = find_corpus(corpus.corpus or corpus.name)
    return DataCredit(corpus.name, pairs, known.licence, known.credit)
