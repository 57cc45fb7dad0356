"""Writes manifest.json: the one thing that the engine knows of a model before it loads it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import jsonschema
from onnx import TensorProto, helper

from training.config import Recipe
from training.data.subwords import BOS, EOS, PAD
from training.export.architecture import GRAPH_KINDS, Graphs, attention_sizes
from training.export.shortlist import SHORTLIST_FILE

MANIFEST, WEIGHTS, TOKENIZER, README = "manifest.json", "weights.bin", "tokenizer.json", "README.md"
FORMAT_VERSION = 1
SCHEMA = Path(__file__).parents[2] / "service" / "engine" / "manifest.schema.json"
"""The contract is read where the engine keeps it, by path: training imports nothing of the service."""

Precision = Literal["int8", "fp16", "fp32"]
DEVICES: dict[Precision, str] = {"int8": "cpu", "fp16": "cuda", "fp32": "any"}


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which layer and head of cross-attention align words best, how to read them, and how that was measured."""

    layer: int
    head: int
    step: Literal["produce", "consume"] = "produce"
    threshold: float | None = None
    aer: float | None = None
    measured_on: str | None = None


@dataclass(frozen=True, slots=True)
class Decoding:
    """The search settings that the card's scores were measured with."""

    beam_size: int = 4
    length_penalty: float = 1.0
    wrap_tokens: int | None = None
    """Sentences of more source tokens are translated in parts; None: as the service likes."""


def graph_file(kind: str, precision: str) -> str:
    """The name of a graph's file."""
    return f"{kind}.{precision}.onnx"


def graph_section(graphs: Graphs, precision: Precision) -> dict[str, Any]:
    """The manifest's entry for the three graphs of one precision."""
    dtype = "float16" if graphs.arithmetic.dtype == TensorProto.FLOAT16 else "float32"
    memory: list[dict[str, Any]] = []
    for name, axes in graphs.memory:
        padding = {"padding": graphs.paddings[name]} if name in graphs.paddings else {}
        memory.append({"name": name, "dtype": dtype, "axes": list(axes), **padding})
    for array in graphs.output.arrays:
        name = helper.tensor_dtype_to_np_dtype(array.dtype).name
        padding = {} if array.padding is None else {"padding": array.padding}
        memory.append({"name": array.name, "dtype": name, "axes": list(array.axes), **padding})
    state = [
        {"name": name, "dtype": dtype, "axes": list(axes), "kind": graphs.state_kind} for name, axes in graphs.state
    ]
    files = {kind: graph_file(kind, precision) for kind in GRAPH_KINDS}
    shortlist = {"shortlist": SHORTLIST_FILE} if graphs.output.arrays else {}
    return {"device": DEVICES[precision], **files, "memory": memory, "state": state, **shortlist}


def manifest_document(
    recipe: Recipe,
    version: str,
    vocabulary: int,
    graphs: dict[str, Any],
    alignment: Alignment | None,
    decoding: Decoding,
) -> dict[str, Any]:
    """Everything but ``files`` and ``card``."""
    sizes = attention_sizes(recipe.network)
    assert sizes["cross"] is not None
    align = alignment or Alignment(sizes["cross"]["layers"] - 1, 0)
    return {
        "format_version": FORMAT_VERSION,
        "name": recipe.name,
        "version": version,
        "architecture": recipe.network.kind,
        "source_language": recipe.source_language,
        "target_language": recipe.target_language,
        "special_ids": {"pad": PAD, "bos": BOS, "eos": EOS},
        "vocabulary_size": vocabulary,
        "limits": {"source_tokens": recipe.max_tokens, "target_tokens": recipe.max_tokens},
        "graphs": graphs,
        "attention": {**sizes, "align": asdict(align)},
        "decoding": {name: value for name, value in asdict(decoding).items() if value is not None},
    }


def write_manifest(folder: Path, document: dict[str, Any]) -> None:
    """Add the checksum of every file, check the document against the engine's schema, write it last of all.

    Raises ValueError when the document breaks the schema.
    """
    document["files"] = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    if SCHEMA.is_file():  # absent where only the training half is installed
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
        if error is not None:
            raise ValueError(f"the manifest breaks its schema at {error.json_path}: {error.message}")
    content = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (folder / MANIFEST).write_text(content, encoding="utf-8")
