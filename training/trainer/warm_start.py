"""Begins a run with the parameters of another run or bundle: layers as they are, vocabularies matched by piece.

Each subword of the run takes the row of the same subword of the other vocabulary, or the mean of the rows that spell
it.
(Means as in Sachidananda et al. 2021, 2109.07460, and others: a far better start than random rows.) An imported bundle
cuts the texts of its two sides with tokenizers of their own; a run has one vocabulary for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.bundle.load import is_bundle, read_bundle
from service.bundle.vocabulary import BOS, BYTE_TOKENS, EOS, PAD, read_tokenizer
from training.data.subwords import UNREACHABLE
from training.export.dequantise import dequantise_bundle, imported_card, read_network
from training.export.parameters import SUPPRESSED
from training.networks.build import Network
from training.recipe import RecipeError, TransformerConfig
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_parameters, trained_parameters

MEANING = (
    "width", "heads", "feed_forward", "decoder", "norm", "activation", "positions", "scale_embedding",
    "share_embeddings", "tie_output",
)  # fmt: skip
"""Settings of the network without which the same numbers of an import would mean something else."""
SOURCE_TABLE = "source_embedding.weight"

Rows = Mapping[int, list[int]]
"""The other vocabulary's rows for each id of the run; an id without any keeps its random row."""


def start_from(network: Network, tokenizer: Tokenizer, folder: Path) -> None:
    """Copy every parameter of the same name and shape; rows of vocabulary matrices are matched by piece.

    ``folder`` is a run folder (its averaged or newest parameters) or a bundle (its int8 weights). English to German
    can begin with the encoder of English to French, for example. A network that begins with an import may have fewer or
    more layers, but must otherwise be built in the same way. Raises FileNotFoundError if the folder is neither, and
    RecipeError naming the settings that differ from the import's.
    """
    if imported_card(folder) is not None:
        _require_same(network, folder)
        parameters = dequantise_bundle(folder)
        rows = {name: _spelled(tokenizer, sides) for name, sides in _spellings(network, folder).items()}
    else:
        parameters, origin = _read(folder)
        rows = dict.fromkeys(network.by_piece, _spelled(tokenizer, [Spelling(origin, origin.get_vocab(), -1)]))
    ours = network.state_dict()
    for name, value in parameters.items():
        if name in ours and name in rows and ours[name].shape[1:] == value.shape[1:]:
            _copy_rows(ours[name], value, rows[name])
        elif name in ours and name not in rows and ours[name].shape == value.shape:
            ours[name].copy_(value)
    network.load_state_dict(ours)


def _read(folder: Path) -> tuple[dict[str, Tensor], Tokenizer]:
    run = RunFolder(folder)
    if not run.tokenizer.exists():
        raise FileNotFoundError(f"start_from: {folder} is neither a run folder nor a bundle (no tokenizer.json)")
    if is_bundle(folder):
        return dequantise_bundle(folder), run.load_tokenizer()
    newest = trained_parameters(run)
    if newest is None:
        raise FileNotFoundError(f"start_from: {folder} has no checkpoint yet")
    return load_parameters(newest), run.load_tokenizer()


def _copy_rows(table: Tensor, theirs: Tensor, rows: Rows) -> None:
    """Write the mean of the other's rows into each row of a table; a token that it never produces has bias 0."""
    finite = torch.where(theirs <= SUPPRESSED / 2, torch.zeros(()), theirs) if theirs.ndim == 1 else theirs
    for number, ids in rows.items():
        table[number] = finite[ids].mean(0).to(table.dtype)


def _require_same(network: Network, folder: Path) -> None:
    theirs, ours = read_network(folder), network.config
    if not isinstance(ours, TransformerConfig) or not isinstance(theirs, TransformerConfig):
        raise RecipeError(f"start_from: {folder} is a Transformer; give the recipe a network of kind transformer")
    wrong = [f"{name}: {getattr(theirs, name)}" for name in MEANING if getattr(ours, name) != getattr(theirs, name)]
    if wrong:
        raise RecipeError(f"start_from: {folder} needs a network with {', '.join(wrong)}")


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


def _spellings(network: Network, folder: Path) -> dict[str, list[Spelling]]:
    """Return the sides whose tokens each table of the import has, the more important one first."""
    bundle = read_bundle(folder)
    manifest = bundle.manifest
    paths = (bundle.tokenizer_path, bundle.path(manifest.target_tokenizer or "tokenizer.json"))
    source, target = (_spelling(read_tokenizer(path), manifest.special_ids.unk) for path in paths)
    shared = SOURCE_TABLE not in network.by_piece or SOURCE_TABLE not in network.state_dict()
    return {
        name: [source] if name == SOURCE_TABLE else [target, source] if shared else [target]
        for name in network.by_piece
    }


def _spelling(tokenizer: Tokenizer, unknown: int | None) -> Spelling:
    pieces = {piece: number for piece, number in tokenizer.get_vocab().items() if not piece.startswith(UNREACHABLE)}
    return Spelling(tokenizer, pieces, -1 if unknown is None else unknown)


def _spelled(tokenizer: Tokenizer, spellings: list[Spelling]) -> Rows:
    """Return the rows of the same piece on one of the sides, else of those that spell it; special ids are the same."""
    by_spelling = {special: [special] for special in (PAD, BOS, EOS)}
    for piece, number in tokenizer.get_vocab().items():
        if number not in by_spelling:
            exact = next((side.pieces[piece] for side in spellings if piece in side.pieces), None)
            spelled = [exact] if exact is not None else []
            if not spelled and piece not in BYTE_TOKENS:
                spelled = next(filter(None, (side.of(piece) for side in spellings)), [])
            if spelled:
                by_spelling[number] = spelled
    return by_spelling
