"""Begins a run with the parameters of an imported bundle, whose two sides cut texts with tokenizers of their own.

A run has one vocabulary for both sides, so the layers are copied as they are, and each subword of the run takes the
rows of the same subword of the import, or the mean of the rows that spell it. (Means as in Sachidananda et al. 2021,
2109.07460, and others: a far better start than random rows.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.bundle.load import read_bundle
from service.bundle.vocabulary import BOS, BYTE_TOKENS, EOS, PAD, read_tokenizer
from training.data.subwords import UNREACHABLE
from training.export.dequantise import dequantise_bundle, read_network
from training.export.parameters import SUPPRESSED
from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.recipe import RecipeError, TransformerConfig

MEANING = (
    "width", "heads", "feed_forward", "decoder", "norm", "activation", "positions", "scale_embedding",
    "share_embeddings",
)  # fmt: skip
"""Settings of the network without which the same numbers would mean something else."""
SOURCE_TABLE = "source_embedding.weight"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The spelling of text on one side of an import."""

    tokenizer: Tokenizer
    pieces: Mapping[str, int]
    """The id of every piece that a text may be cut into."""
    unknown: int

    def of(self, piece: str) -> list[int]:
        """Return the ids of the import that spell a subword; none if a character of it is unknown."""
        ids = [token.id for token in self.tokenizer.model.tokenize(piece)]
        return [] if self.unknown in ids else ids


def start_from_import(network: Transformer | Bahdanau, tokenizer: Tokenizer, folder: Path) -> None:
    """Copy the parameters of an imported bundle (its int8 weights) into a network with another vocabulary.

    The network may have fewer or more layers, but must otherwise be built in the same way. Raises RecipeError naming
    the settings that differ.
    """
    _require_same(network, folder)
    own = network.state_dict()
    parameters = dequantise_bundle(folder)
    rows = {name: _rows(tokenizer, spellings) for name, spellings in _spellings(network, folder).items()}
    for name, value in parameters.items():
        if name not in own:
            continue  # of a layer that this network does not have
        if name in network.by_piece:
            _copy_rows(own[name], value, rows[name])
        elif own[name].shape == value.shape:
            own[name].copy_(value)
    network.load_state_dict(own)


def _require_same(network: Transformer | Bahdanau, folder: Path) -> None:
    theirs, ours = read_network(folder), network.config
    if not isinstance(ours, TransformerConfig) or not isinstance(theirs, TransformerConfig):
        raise RecipeError(f"start_from: {folder} is a Transformer; give the recipe a network of kind transformer")
    wrong = [f"{name}: {getattr(theirs, name)}" for name in MEANING if getattr(ours, name) != getattr(theirs, name)]
    if wrong:
        raise RecipeError(f"start_from: {folder} needs a network with {', '.join(wrong)}")


def _spellings(network: Transformer | Bahdanau, folder: Path) -> dict[str, list[Spelling]]:
    """Return the sides whose tokens each table of the import has, the more important one first."""
    bundle = read_bundle(folder)
    manifest = bundle.manifest
    names = {"source": bundle.tokenizer_path, "target": bundle.path(manifest.target_tokenizer or "tokenizer.json")}
    source, target = (_spelling(read_tokenizer(path), manifest.special_ids.unk) for path in names.values())
    shared = SOURCE_TABLE not in network.by_piece or SOURCE_TABLE not in network.state_dict()
    return {
        name: [source] if name == SOURCE_TABLE else [target, source] if shared else [target]
        for name in network.by_piece
    }


def _spelling(tokenizer: Tokenizer, unknown: int | None) -> Spelling:
    pieces = {piece: number for piece, number in tokenizer.get_vocab().items() if not piece.startswith(UNREACHABLE)}
    return Spelling(tokenizer, pieces, -1 if unknown is None else unknown)


def _rows(tokenizer: Tokenizer, spellings: list[Spelling]) -> dict[int, list[int]]:
    """Return the import's rows for each id of the run: of the same piece on one of the sides, else those that spell it.

    Special tokens have the same ids on both sides.
    """
    found = {special: [special] for special in (PAD, BOS, EOS)}
    for piece, number in tokenizer.get_vocab().items():
        if number not in found:
            exact = next((side.pieces[piece] for side in spellings if piece in side.pieces), None)
            spelled = [exact] if exact is not None else []
            if not spelled and piece not in BYTE_TOKENS:
                spelled = next(filter(None, (side.of(piece) for side in spellings)), [])
            if spelled:
                found[number] = spelled
    return found


def _copy_rows(table: Tensor, theirs: Tensor, rows: Mapping[int, list[int]]) -> None:
    """Write the mean of the import's rows into each row of a table; a token that it never produces has bias 0."""
    known = torch.where(theirs <= SUPPRESSED / 2, torch.zeros(()), theirs) if theirs.ndim == 1 else theirs
    for number, ids in rows.items():
        table[number] = known[ids].mean(0).to(table.dtype)
