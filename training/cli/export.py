"""The command that turns a run folder into a bundle."""

from pathlib import Path
from typing import Annotated

import typer

from service.bundle.manifest import DecodingDefaults, Precision
from training.cli.options import WeightsOption
from training.data.dataset import EncodedPairs, load_corpora
from training.export.bundle import ExportOptions, require_replaceable
from training.export.card_inputs import read_alignment, read_scores
from training.export.manifest import next_version
from training.export.quantise import CALIBRATION_PAIRS, calibration_pairs
from training.export.shortlist import Shortlist, learn_shortlist
from training.export.trained import export_bundle
from training.recipe import Recipe
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_trained
from training.trainer.run_card import model_card

Scores = Annotated[
    list[Path] | None, typer.Option(help="Output of `evaluate --output`, or a JSON list of scores; may be repeated.")
]
AlignmentFile = Annotated[
    Path | None, typer.Option(help="Output of `align --output`: the alignment head. Default: the last layer.")
]


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. runs/transformer-en-fr.")],
    output: Annotated[
        Path, typer.Option(help="Folder of the bundle, e.g. models/transformer-en-fr; a bundle there is replaced.")
    ],
    version: Annotated[
        str | None, typer.Option(help="The model's version. Default: one more than that of the bundle it replaces.")
    ] = None,
    weights: WeightsOption = "usual",
    with_fp32: Annotated[bool, typer.Option("--fp32", help="Also write float graphs (four times the size).")] = False,
    scores: Scores = None,
    alignment: AlignmentFile = None,
    gold_alignment: Annotated[
        Path | None,
        typer.Option(help="Output of `align --reading --gold` for the same alignment head, against links from people."),
    ] = None,
    notes: Annotated[str | None, typer.Option(help="A sentence for the model card.")] = None,
    shortlist: Annotated[
        bool, typer.Option(help="Let int8 steps score only the tokens that a sentence's translation may need.")
    ] = True,
) -> None:
    """Write the bundle that the service loads; refuse if ONNX and PyTorch disagree."""
    require_replaceable(output)
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
        decoding=DecodingDefaults(wrap_tokens=trained.recipe.wrap_tokens),
        alignment=read_alignment(alignment, gold_alignment) if alignment else None,
        shortlist=shortlist_of(folder, trained.recipe, trained.tokenizer.get_vocab_size()) if shortlist else None,
    )
    pairs = calibration_pairs(EncodedPairs.load(folder.development_pairs), CALIBRATION_PAIRS)
    export_bundle(trained.network, trained.tokenizer, trained.recipe, pairs, output, options)
    typer.echo(f"{output}: {trained.recipe.name} from {trained.weights}")


def shortlist_of(folder: RunFolder, recipe: Recipe, vocabulary: int) -> Shortlist:
    """Return the shortlist learnt from the run's training pairs."""
    return learn_shortlist(load_corpora(recipe, folder), [corpus.weight for corpus in recipe.corpora], vocabulary)
