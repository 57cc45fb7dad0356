"""Bundles of small untrained networks, and sentences for them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from service.bundle.load import load_bundle
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings
from tests.support.exported import CARD, LOOSE, id_pairs, recipe_of
from tests.support.tiny_networks import bahdanau, transformer
from training.data.subwords import train_tokenizer
from training.export.bundle import ExportOptions
from training.export.shortlist import Shortlist
from training.export.trained import export_bundle
from training.networks.build import build_network
from training.recipe import BahdanauConfig, TransformerConfig, VocabularyConfig

WORDS = 266
PAIRS = id_pairs(24, WORDS, 18)
CONFIGS: dict[str, TransformerConfig | BahdanauConfig] = {
    "transformer": transformer(norm="pre", width=32),  # heads of 16, whose factor of 1/4 is exact
    "ssru": transformer(decoder="ssru", width=32),
    "bahdanau": bahdanau(tie_embeddings=True),
}


def export(network: str, folder: Path, shortlist: Shortlist | None, seed: int = 0) -> Path:
    """Write a network's int8 graphs and return the folder."""
    tokenizer = train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))
    assert tokenizer.get_vocab_size() == WORDS
    options = ExportOptions(CARD, precisions=("int8",), limits=LOOSE, shortlist=shortlist)
    config = CONFIGS[network]
    torch.manual_seed(seed)
    export_bundle(build_network(config, WORDS), tokenizer, recipe_of(config), PAIRS, folder, options)
    return folder


def load(folder: Path) -> onnx_model.OnnxModel:
    """Load a bundle on the CPU."""
    return onnx_model.load_model(load_bundle(folder), ModelSettings())


def jobs_of(beam_size: int) -> list[SentenceJob]:
    """Return the sources of the pairs as sentences."""
    options = SearchOptions(beam_size, max_length=16)
    return [SentenceJob(tuple(np.asarray(source).tolist()), options) for source, _ in PAIRS]


def in_groups(jobs: Sequence[SentenceJob], together: int = 7) -> list[int]:
    """Return when each job joins: so many of them every other step."""
    return [2 * (at // together) for at in range(len(jobs))]
