"""A Transformer of 74 million parameters, the size of an OPUS-MT model, with random weights: for speed alone.

Its translations say nothing and end at the length limit, in our engine as in the others.
"""

import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from benchmarks.corpora import ROOT
from service.bundle.load import Bundle
from service.bundle.manifest import TOKENIZER_NAME, DecodingDefaults, Precision
from training.export.bundle import ExportOptions
from training.export.card import ModelCard
from training.export.trained import export_bundle
from training.networks.build import build_network
from training.recipe import load_recipe

VOCABULARY = 58_101
"""That of OPUS-MT from English into German."""


def write_base(
    bundle: Bundle, folder: Path, precision: Precision, vocabulary: int = VOCABULARY, layers: int = 6
) -> Path:
    """Write the base model into a new folder and return it; it reads text with the tokenizer of a bundle."""
    depth = [f"network.{side}_layers={layers}" for side in ("encoder", "decoder")]
    recipe = load_recipe(ROOT / "training" / "recipes" / "transformer-base.yaml", depth)
    torch.manual_seed(recipe.seed)
    network = build_network(recipe.network, vocabulary)
    rng = np.random.default_rng(recipe.seed)
    sides = (rng.integers(4, vocabulary, (8, 24)).astype(np.uint16) for _ in range(2))
    options = ExportOptions(
        card=ModelCard(data=(), seed=recipe.seed, git_revision="none", notes="Random weights, for speed alone."),
        precisions=(precision,),
        decoding=DecodingDefaults(repetition_guard=False),
        text_seen=False,
        limits=None,
    )
    tokenizer = _with_size(bundle.folder / TOKENIZER_NAME, vocabulary)
    return export_bundle(network, tokenizer, recipe, list(zip(*sides, strict=True)), folder, options)


def _with_size(path: Path, size: int) -> Tokenizer:
    """Return a tokenizer with so many entries; no text holds the new ones."""
    document = json.loads(path.read_text(encoding="utf-8"))
    entries = document["model"]["vocab"]
    entries.update({f"\u2047{number}": number for number in range(len(entries), size)})
    return Tokenizer.from_str(json.dumps(document))
