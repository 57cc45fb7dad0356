"""Exports a trained sentence network as a bundle: graph, weights, tokenizer, manifest with its card."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from service.bundle.checksums import checksum_of
from service.bundle.embedding import (
    EMBEDDING_GRAPH,
    EMBEDDING_TOKENIZER,
    EMBEDDING_WEIGHTS,
    EmbeddingManifest,
    write_embedding_manifest,
)
from service.bundle.vocabulary import EOS
from training.data.batching import pad
from training.data.corpora import find_corpus
from training.export.compare import ParityError
from training.export.weights import WeightStore
from training.sentence.data import SentenceFolder, encode_texts
from training.sentence.graph import Precision, SentenceGraph
from training.sentence.network import SentenceNetwork
from training.sentence.recipe import SentenceRecipe
from training.sentence.trainer import load_trained

TOLERANCE = 1e-5
"""Largest difference between PyTorch and the float32 graph in any output, relative where a value is above 1."""


def export(run: SentenceFolder, text: SentenceFolder, bundle: Path, precision: Precision) -> dict[str, float]:
    """Write a bundle; returns the largest difference of each output from PyTorch's, relative above 1.

    The float32 graph must agree within TOLERANCE; until everything is written, an existing bundle stays as it is.
    The stored precision is measured on the same sentences and written to the card. Raises ParityError.
    """
    bundle.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=bundle.parent, prefix=f".{bundle.name}-") as folder:
        stored = _write_bundle(run, text, Path(folder), precision)
        bundle.mkdir(exist_ok=True)
        for file in Path(folder).iterdir():
            file.replace(bundle / file.name)
    return stored


def _write_bundle(run: SentenceFolder, text: SentenceFolder, bundle: Path, precision: Precision) -> dict[str, float]:
    recipe, network = load_trained(run)
    tokenizer = text.load_tokenizer()
    texts = [side for pair in text.load_held_out()[:200] for side in (pair.first, pair.second)]
    rows = encode_texts(tokenizer, texts, recipe.max_tokens)
    exact = _write_graph(network, bundle, "fp32", rows)
    worst = max(exact.values())
    if worst > TOLERANCE:
        raise ParityError(f"{run.path}: the float32 graph differs from PyTorch by {worst:.2g}, more than {TOLERANCE}")
    stored = exact if precision == "fp32" else _write_graph(network, bundle, precision, rows)
    shutil.copyfile(text.tokenizer, bundle / EMBEDDING_TOKENIZER)
    files = (EMBEDDING_GRAPH, EMBEDDING_WEIGHTS, EMBEDDING_TOKENIZER)
    manifest = EmbeddingManifest(
        name=recipe.name,
        width=recipe.network.width,
        hops=recipe.network.hops,
        vocabulary_size=tokenizer.get_vocab_size(),
        max_tokens=recipe.max_tokens,
        end=EOS,
        languages=recipe.languages,
        domains=recipe.domains,
        files={name: checksum_of(bundle / name) for name in files},
        card=_card(recipe, run, precision, stored),
    )
    write_embedding_manifest(bundle, manifest)
    return stored


def _write_graph(
    network: SentenceNetwork, bundle: Path, precision: Precision, rows: Sequence[Sequence[int]]
) -> dict[str, float]:
    """Write graph and weights; returns the largest difference of each output from PyTorch's, relative above 1."""
    store = WeightStore(EMBEDDING_WEIGHTS)
    model = SentenceGraph(network, store, precision).build()
    path = bundle / EMBEDDING_GRAPH
    store.write(bundle)
    path.write_bytes(model.SerializeToString(deterministic=True))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ids, lengths = pad(rows)
    with torch.inference_mode():
        wanted = [value.numpy() for value in network.eval()(ids, lengths)]
    found = session.run(None, {"ids": ids.numpy(), "lengths": lengths.numpy()})
    names = [output.name for output in session.get_outputs()]
    return {
        name: float((np.abs(a - b) / np.maximum(np.abs(b), 1)).max())
        for name, a, b in zip(names, found, wanted, strict=True)
    }


def _card(recipe: SentenceRecipe, run: SentenceFolder, precision: str, stored: dict[str, float]) -> dict[str, Any]:
    """Return what people need to know: the data with their terms, the recipe, the measurements."""
    data = []
    for corpus in recipe.corpora:
        entry = {"corpus": corpus.corpus, "languages": list(corpus.languages), "domain": corpus.domain}
        if corpus.path is None:
            known = find_corpus(corpus.corpus)
            entry |= {"licence": known.licence, "credit": known.credit}
        data.append(entry)
    return {
        "paper": "Lin et al. 2017, A Structured Self-attentive Sentence Embedding, arXiv 1703.03130",
        "precision": precision,
        "largest_difference_from_pytorch": {name: float(f"{value:.2g}") for name, value in stored.items()},
        "training_data": data,
        "recipe": recipe.model_dump(mode="json", exclude={"corpora"}),
        "held_out": _last_measures(run),
    }


def _last_measures(run: SentenceFolder) -> dict[str, float]:
    if not run.history.exists():
        return {}
    last: dict[str, float] = json.loads(run.history.read_text(encoding="utf-8"))[-1]
    return {name: float(f"{value:.4g}") for name, value in last.items() if name != "cpu seconds"}
