"""Writes the bundle of an imported model, which passes a parity gate; nothing here needs PyTorch."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from service.bundle.manifest import Precision
from training.export.bundle import ExportOptions, write_bundle
from training.export.card import Card, CardScore, DataCredit, ImportedCard
from training.export.compare import Original, ParityError, ParityLimits
from training.export.float_graphs import float_graphs
from training.export.manifest import ModelDescription, Subwords
from training.export.parity import Exported, check_parity
from training.files import git_revision
from training.imports.calibration import PAIRS, encode_sources, made_up_sources, own_pairs
from training.imports.files import ImportRefused, require_room
from training.imports.published import METRICS
from training.imports.shortlist import LearnedShortlist, learn_import_shortlist
from training.imports.source import ImportedModel, Origin
from training.imports.vocabulary import UNK

GATE = ParityLimits(pairs=16, longest=64)
"""The exporter's own limits, over fewer and shorter sentences: a step of the gate ranks the whole vocabulary."""

OWN_INTEGERS = replace(GATE, agreement=0.8, links=0.5, logprobs=0.5)
"""For a model that has integers of its own: how far they are from its floats was its authors' choice."""

NEARLY_ALL = 0.9
"""Share of the vocabulary above which int8 scores all of it: to leave out the rest costs a copy of the table."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a bundle is made of an imported model."""

    text: Sequence[str] = ()
    """Sentences of the source language, for the scales of int8; none: every row has its own scale, which is slower."""
    version: str = "1"
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    shortlist_text: Sequence[tuple[str, str]] = ()
    """Pairs of text from which a shortlist is learned; none: the original's list, or all that the target may hold."""
    gate: bool = True
    """Whether a bundle whose graphs do not agree is refused; else its card says so."""
    say: Callable[[str], None] = lambda _line: None
    """Gets a line for people about what was learned."""


def write_import(model: ImportedModel, out_dir: Path, options: ImportOptions, network: Original | None = None) -> Path:
    """Write the bundle of an imported model into ``out_dir``, replacing what was there, and return that folder.

    The float graphs are compared with ``network``, if there is one, and all other graphs with the float graphs. Raises
    ImportRefused for a text without sentences, ParityError when they do not do the same; then ``out_dir`` stays as it
    was.
    """
    needed = sum(array.nbytes for array in model.state.values())
    for place, instead in ((Path(tempfile.gettempdir()), "TMPDIR"), (out_dir.parent, "another folder of models")):
        require_room(place, needed, "the import writes up to {} there", f"another place by {instead}")
    with float_graphs(describe(model), model.state, model.float_bias) as graphs:
        learned = learn_import_shortlist(model, graphs, options.shortlist_text) if options.shortlist_text else None
        if learned is not None:
            options.say(str(learned))
        pairs = own_pairs(model, graphs, _sources(model, options))
        export = export_options(model, options, learned)
        parts = graphs, subwords_of(model), describe(model), pairs, out_dir
        try:
            if network is not None:
                floats = Exported({"fp32": graphs.graphs}, model.alignment, None, model.float_bias, graphs.graphs)
                compared = check_parity(network, describe(model), floats, pairs, GATE)
                export = replace(export, compared=tuple(compared))
            return write_bundle(*parts, export)
        except ParityError as error:
            if options.gate:
                raise
            return write_bundle(*parts, replace(export, limits=None, card=_without_gate(export.card, error)))


def _without_gate(card: Card, error: ParityError) -> Card:
    failed = "; ".join(" ".join(line.split()) for line in str(error).splitlines() if line.startswith("FAIL"))
    notes = f"It did not pass the comparison of its graphs, and was added all the same: {failed}."
    return replace(card, notes=f"{card.notes} {notes}" if card.notes else notes)


def export_options(model: ImportedModel, options: ImportOptions, learned: LearnedShortlist | None) -> ExportOptions:
    """Return how the exporter writes the bundle of an imported model."""
    produced = model.target.producible
    return ExportOptions(
        card=card_of(model, learned),
        version=options.version,
        precisions=options.precisions,
        alignment=model.alignment,
        decoding=model.decoding,
        produced=None if len(produced) > NEARLY_ALL * model.vocabulary_size else produced,
        float_bias=model.float_bias,
        shortlist=model.shortlist if learned is None else learned.shortlist,
        text_seen=bool(options.text),
        intgemm=model.intgemm,
        limits=GATE if model.intgemm is None else OWN_INTEGERS,
    )


def _sources(model: ImportedModel, options: ImportOptions) -> list[list[int]]:
    if not options.text:
        return made_up_sources(model)
    sources = encode_sources(model, [text for text in options.text if text.strip()][:PAIRS])
    if not sources:
        raise ImportRefused("the text for calibration has no sentences; give a file with a sentence a line")
    return sources


def describe(model: ImportedModel) -> ModelDescription:
    """Return the description of the model for the exporter."""
    sources, targets, prefixes = model.languages
    return ModelDescription(model.name, sources, targets, model.network, model.max_tokens, prefixes)


def subwords_of(model: ImportedModel) -> Subwords:
    """Return the tokenizers of the model."""
    target = None if model.target is model.source else model.target.tokenizer
    return Subwords(model.source.tokenizer, model.vocabulary_size, target, UNK, model.source_end)


def card_of(model: ImportedModel, learned: LearnedShortlist | None = None) -> ImportedCard:
    """Return what is said of where the model comes from, and of its shortlist."""
    origin = model.origin
    imported = origin.document(model.network)
    if learned is not None:
        imported["shortlist"] = learned.document()
    data = DataCredit(origin.name, 0, origin.licence, origin.credit)
    return ImportedCard((data,), imported, _stated_scores(origin), git_revision(), origin.notes)


def _stated_scores(origin: Origin) -> tuple[CardScore, ...]:
    """Return the scores that the model's authors state, as the service compares them."""
    named = ((*name.rpartition(" ")[::2], score) for name, score in origin.stated.items())
    return tuple(CardScore(test_set, METRICS[metric], score) for test_set, metric, score in named if metric in METRICS)
