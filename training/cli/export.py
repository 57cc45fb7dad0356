"""The command that turns a run folder into a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from service.bundle.manifest import MANIFEST_NAME, DecodingDefaults, Precision
from training.data.dataset import EncodedPairs
from training.export.bundle import ExportOptions, export_bundle
from training.export.calibrate import IdPair
from training.export.card import ModelCard, Score
from training.export.card_inputs import data_credit, read_alignment, read_scores
from training.export.shortlist import Shortlist, learn_shortlist
from training.recipe import Recipe
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
    """Return the version after that of the bundle in ``output``; 1 if there is no bundle.

    Raises ValueError for a version that is not a whole number.
    """
    manifest = output / MANIFEST_NAME
    if not manifest.exists():
        return "1"
    before = str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
    if not before.isdecimal():
        raise ValueError(f"{output} has version {before!r}, which is not a whole number: give --version")
    return str(int(before) + 1)


def shortlist_of(folder: RunFolder, recipe: Recipe, vocabulary: int) -> Shortlist:
    """Return the shortlist learnt from the run's training pairs."""
    corpora = [EncodedPairs.load(folder.corpus(corpus.name)) for corpus in recipe.corpora]
    return learn_shortlist(corpora, [corpus.weight for corpus in recipe.corpora], vocabulary)


def calibration_pairs(development: EncodedPairs, count: int) -> list[IdPair]:
    """Return development pairs spread evenly over all corpora, which are stored one after the other."""
    chosen = np.unique(np.linspace(0, len(development) - 1, min(count, len(development))).astype(int))
    return [(development.source[int(i)], development.target[int(i)]) for i in chosen]


def model_card(recipe: Recipe, folder: RunFolder, scores: tuple[Score, ...], notes: str | None) -> ModelCard:
    """Return the model card of a run: data with credits, seed, revision of the code, scores."""
    statistics = json.loads(folder.statistics.read_text(encoding="utf-8"))
    stages, newest = load_stages(folder.stages), newest_checkpoint(folder)
    if stages and stages[-1]["to_update"] is None and newest is not None:  # killed, or still training
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
