"""Begins a run with the parameters of another run or bundle of the same network."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.bundle.load import is_bundle
from training.export.dequantise import dequantise_bundle, imported_card
from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.runs.folder import RunFolder
from training.trainer.checkpoints import load_parameters, trained_parameters
from training.trainer.start_from_import import start_from_import


def start_from(network: Transformer | Bahdanau, tokenizer: Tokenizer, folder: Path) -> None:
    """Copy every parameter of the same name and shape; rows of vocabulary matrices are matched by piece.

    ``folder`` is a run folder (its averaged or newest parameters) or a bundle (its int8 weights). English to German
    can begin with the encoder of English to French, for example; for an imported bundle see ``start_from_import``.
    Raises FileNotFoundError if it is neither.
    """
    if imported_card(folder) is not None:
        start_from_import(network, tokenizer, folder)
        return
    parameters, other = _read(folder)
    own = network.state_dict()
    matched = _matching_rows(tokenizer, other)
    for name, value in parameters.items():
        if name not in own:
            continue
        if name in network.by_piece:
            mine, theirs = matched
            if own[name].shape[1:] == value.shape[1:]:
                own[name][mine] = value[theirs].to(own[name].dtype)
        elif own[name].shape == value.shape:
            own[name].copy_(value)
    network.load_state_dict(own)


def _matching_rows(tokenizer: Tokenizer, other: Tokenizer) -> tuple[Tensor, Tensor]:
    theirs = other.get_vocab()
    pairs = [(i, theirs[piece]) for piece, i in tokenizer.get_vocab().items() if piece in theirs]
    mine, yours = zip(*pairs, strict=True)
    return torch.tensor(mine), torch.tensor(yours)


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
