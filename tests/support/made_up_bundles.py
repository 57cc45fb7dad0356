"""Real bundles in seconds: networks of random weights, exported as trained ones are."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from service.bundle.manifest import MANIFEST_NAME, AlignmentHead
from tests.support.exported import id_pairs, recipe_of
from tests.support.tiny_networks import bahdanau, transformer
from training.data.subwords import train_tokenizer
from training.export.bundle import ExportOptions
from training.export.card import ModelCard
from training.export.trained import export_bundle
from training.networks.build import build_network
from training.recipe import VocabularyConfig


def write_copies(bundle: Path, folder: Path, languages: Sequence[str]) -> Path:
    """Write copies of an English-French bundle that say to translate into other languages."""
    for language in languages:
        copy = folder / f"transformer-en-{language}"
        shutil.copytree(bundle, copy)
        manifest = json.loads((copy / MANIFEST_NAME).read_text("utf-8"))
        manifest |= {"name": copy.name, "target_language": language}
        (copy / MANIFEST_NAME).write_text(json.dumps(manifest), "utf-8")
    return folder


def write_made_up_bundles(folder: Path) -> Path:
    """Return a bundle of each architecture, from English into French; their translations are nonsense."""
    tokenizer = train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))
    options = ExportOptions(
        card=ModelCard(data=(), seed=0, git_revision="none", scores=(), notes="For tests."),
        precisions=("int8",),
        alignment=AlignmentHead(0, 0, "consume", 0.2, 25.0, "nothing"),
        limits=None,
    )
    pairs = id_pairs(vocabulary=tokenizer.get_vocab_size())
    for config in (transformer(norm="pre"), bahdanau(tie_embeddings=True)):
        torch.manual_seed(0)
        name = f"{config.kind}-en-fr"
        network = build_network(config, tokenizer.get_vocab_size())
        export_bundle(network, tokenizer, recipe_of(config, name), pairs, folder / name, options)
    return folder
