"""What the manifest of an exported network says."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from onnx import TensorProto, helper

from service.bundle.manifest import AlignmentHead, DecodingDefaults, Precision
from service.bundle.shortlist import SHORTLIST_NAME
from service.bundle.vocabulary import BOS, EOS, PAD
from training.export.architecture import GRAPH_KINDS, Graphs, attention_sizes
from training.recipe import Recipe

WEIGHTS, README = "weights.bin", "README.md"
DEVICES: dict[Precision, str] = {"int8": "cpu", "fp16": "cuda", "fp32": "any"}


def graph_file(kind: str, precision: str) -> str:
    """Return the name of a graph's file."""
    return f"{kind}.{precision}.onnx"


def graph_section(graphs: Graphs, precision: Precision) -> dict[str, Any]:
    """Return the manifest's entry for the three graphs of one precision."""
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
    shortlist = {"shortlist": SHORTLIST_NAME} if graphs.output.arrays else {}
    return {"device": DEVICES[precision], **files, "memory": memory, "state": state, **shortlist}


_LATER = ("against", "gold")
"""Keys that older readers of ``align`` refuse: left out where there is nothing to say."""


def align_of(recipe: Recipe, alignment: AlignmentHead | None) -> AlignmentHead:
    """Return where alignments are read; the first head of the last layer where nothing was measured."""
    size = attention_sizes(recipe.network)["cross"]
    assert size is not None
    return alignment or AlignmentHead(size["layers"] - 1, 0)


def manifest_document(
    recipe: Recipe,
    version: str,
    vocabulary: int,
    graphs: dict[str, Any],
    alignment: AlignmentHead | None,
    decoding: DecodingDefaults,
) -> dict[str, Any]:
    """Everything but ``files`` and ``card``."""
    sizes = attention_sizes(recipe.network)
    align = {name: value for name, value in asdict(align_of(recipe, alignment)).items() if name not in _LATER or value}
    return {
        **_languages(recipe),
        "name": recipe.name,
        "version": version,
        "architecture": recipe.network.kind,
        "special_ids": {"pad": PAD, "bos": BOS, "eos": EOS},
        "vocabulary_size": vocabulary,
        "limits": {"source_tokens": recipe.max_tokens, "target_tokens": recipe.max_tokens},
        "graphs": graphs,
        "attention": {**sizes, "align": align},
        "decoding": {name: value for name, value in asdict(decoding).items() if value is not None},
    }


def _languages(recipe: Recipe) -> dict[str, Any]:
    """Return the languages, in the oldest format that can say them: older services then read the bundle, too."""
    sources, target = recipe.source_languages, {"target_language": recipe.target_language}
    if len(sources) == 1:
        return {"format_version": 1, "source_language": sources[0], **target}
    return {"format_version": 2, "source_languages": list(sources), **target}
