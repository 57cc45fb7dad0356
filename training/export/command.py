"""The command that turns a run folder into a bundle."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from training.config import CorpusConfig, Recipe
from training.data.corpora import find_corpus
from training.data.dataset import EncodedPairs
from training.evaluate import load_trained
from training.export.bundle import ExportOptions, export_bundle
from training.export.calibrate import IdPair
from training.export.card import DataCredit, ModelCard, Score
from training.export.manifest import Alignment, Decoding, Precision
from training.export.shortlist import Shortlist, learn_shortlist
from training.prepare import RunFolder

CALIBRATION_PAIRS = 200

Scores = Annotated[
    list[Path] | None, typer.Option(help="What `evaluate --output` wrote, or a JSON list of scores; may be repeated.")
]
AlignmentFile = Annotated[
    Path | None, typer.Option(help="What `align --output` wrote: where attention aligns best. Default: the last layer.")
]


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. runs/transformer-en-fr.")],
    output: Annotated[Path, typer.Option(help="The bundle's folder, e.g. models/transformer-en-fr; replaced.")],
    version: Annotated[str, typer.Option(help="The model's version, as /models shows it.")] = "1",
    with_fp32: Annotated[bool, typer.Option("--fp32", help="Also write float graphs (four times the size).")] = False,
    scores: Scores = None,
    alignment: AlignmentFile = None,
    notes: Annotated[str | None, typer.Option(help="A sentence for the model card.")] = None,
    wrap_tokens: Annotated[
        int | None,
        typer.Option(
            min=8, help="Translate sentences of more source tokens in parts: better for models of short ones."
        ),
    ] = None,
    shortlist: Annotated[
        bool, typer.Option(help="Have int8 steps score only what a sentence's translation may need of the vocabulary.")
    ] = True,
) -> None:
    """Write the bundle that the service loads; refuse if ONNX and PyTorch disagree."""
    folder = RunFolder(run)
    trained = load_trained(run)
    precisions: tuple[Precision, ...] = ("int8", "fp16", "fp32") if with_fp32 else ("int8", "fp16")
    card = model_card(
        trained.recipe, folder, tuple(entry for path in scores or () for entry in read_scores(path)), notes
    )
    options = ExportOptions(
        card=card,
        version=version,
        precisions=precisions,
        decoding=Decoding(wrap_tokens=wrap_tokens),
        alignment=read_alignment(alignment) if alignment else None,
        shortlist=shortlist_of(folder, trained.recipe, trained.tokenizer.get_vocab_size()) if shortlist else None,
    )
    pairs = calibration_pairs(EncodedPairs.load(folder.development_pairs), CALIBRATION_PAIRS)
    export_bundle(trained.network, trained.tokenizer, trained.recipe, pairs, output, options)
    typer.echo(f"{output}: {trained.recipe.name} from {trained.weights}")


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
    return ModelCard(
        data=tuple(data_credit(recipe, corpus, statistics[corpus.name]["pairs"]) for corpus in recipe.corpora),
        seed=recipe.seed,
        git_revision=_git_revision(),
        scores=scores,
        notes=notes,
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


def read_alignment(path: Path) -> Alignment:
    """The best reading that ``align`` found; raises ValueError naming a file that is no such report."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        best = content["readings"][0]
        return Alignment(**best | {"measured_on": content["measured_on"]})
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


def _git_revision() -> str:
    command = ["git", "rev-parse", "HEAD"]
    result = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
