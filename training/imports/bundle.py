"""Writes the bundle of an imported model; it passes the same parity gate as models that were trained here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from service.bundle.manifest import Precision
from training.export.bundle import ExportOptions, write_bundle
from training.export.card import DataCredit, ImportedCard
from training.export.compare import ParityLimits
from training.export.manifest import ModelDescription, Subwords
from training.export.quantise import IdPair
from training.imports.calibration import PAIRS, encode_sources, made_up_sources, own_pairs
from training.imports.files import ImportRefused
from training.imports.shortlist import LearnedShortlist, learn_import_shortlist
from training.imports.source import ImportedModel
from training.networks.build import build_network
from training.networks.interface import Network
from training.runs.stages import git_revision

GATE = ParityLimits(pairs=16, longest=64)
"""The exporter's own limits, over fewer and shorter sentences: a step of the gate ranks the whole vocabulary."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a bundle is made of an imported model."""

    text: Sequence[str] = ()
    """Sentences of the source language, for the scales of int8; none: every row has its own scale, which is slower."""
    version: str = "1"
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    shortlist_text: Sequence[tuple[str, str]] = ()
    """Pairs of text from which a shortlist is learned; none: the original's list, or all that the target may hold."""
    say: Callable[[str], None] = lambda _line: None
    """Gets a line for people about what was learned."""


def network_of(model: ImportedModel) -> Network:
    """Return our network with the imported parameters."""
    network = build_network(model.network, model.vocabulary_size)
    state = {name: torch.from_numpy(array) for name, array in model.state.items()}
    network.load_state_dict(state, assign=True)  # no second copy of the parameters
    assert isinstance(network, nn.Module)
    network.eval()
    return network


def import_bundle(model: ImportedModel, out_dir: Path, options: ImportOptions) -> Path:
    """Write the bundle of an imported model into ``out_dir``, replacing what was there, and return that folder.

    Raises ImportRefused for a text without sentences, ParityError when the graphs do not do what the network does;
    then ``out_dir`` stays as it was.
    """
    network = network_of(model)
    learned = learn_import_shortlist(model, network, options.shortlist_text) if options.shortlist_text else None
    if learned is not None:
        options.say(str(learned))
    export = ExportOptions(
        card=card_of(model, learned),
        version=options.version,
        precisions=options.precisions,
        alignment=model.alignment,
        decoding=model.decoding,
        produced=model.target.producible.astype(np.uint16),
        float_bias=model.float_bias,
        shortlist=model.shortlist if learned is None else learned.shortlist,
        text_seen=bool(options.text),
        limits=GATE,
    )
    return write_bundle(network, subwords_of(model), describe(model), _pairs(model, network, options), out_dir, export)


def _pairs(model: ImportedModel, network: Network, options: ImportOptions) -> list[IdPair]:
    if not options.text:
        return own_pairs(model, network, made_up_sources(model))
    sources = encode_sources(model, [text for text in options.text if text.strip()][:PAIRS])
    if not sources:
        raise ImportRefused("the text for calibration has no sentences; give a file with a sentence a line")
    return own_pairs(model, network, sources)


def describe(model: ImportedModel) -> ModelDescription:
    """Return the description of the model for the exporter."""
    return ModelDescription(model.name, model.source_languages, model.targets, model.network, model.max_tokens)


def subwords_of(model: ImportedModel) -> Subwords:
    """Return the tokenizers of the model."""
    return Subwords(
        model.source.tokenizer, model.vocabulary_size, model.target.tokenizer, model.unknown, model.source_end
    )


def card_of(model: ImportedModel, learned: LearnedShortlist | None = None) -> ImportedCard:
    """Return what is said of where the model comes from, and of its shortlist."""
    origin = model.origin
    imported = origin.document(model.network)
    if learned is not None:
        imported["shortlist"] = learned.document()
    data = DataCredit(origin.name, 0, origin.licence, origin.credit)
    return ImportedCard((data,), imported, git_revision(), origin.notes)
