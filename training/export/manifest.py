"""The description of a model for export, which comes from a recipe or an import, and its manifest."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper
from tokenizers import Tokenizer

from service.bundle.manifest import (
    FORMAT_VERSION,
    MANIFEST_NAME,
    TARGET_TOKENIZER_NAME,
    AlignmentHead,
    DecodingDefaults,
    Precision,
    TargetLanguage,
)
from service.bundle.shortlist import SHORTLIST_NAME
from service.bundle.vocabulary import BOS, EOS, PAD
from training.export.graphs.architecture import NetworkConfig, attention_sizes
from training.export.graphs.network import NetworkGraphs
from training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Names, languages and sizes of a model."""

    name: str
    source_languages: tuple[str, ...]
    targets: tuple[TargetLanguage, ...]
    network: NetworkConfig
    max_tokens: int
    source_prefixes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """As the manifest's."""


@dataclass(frozen=True, slots=True)
class Subwords:
    """The tokenizers of a model."""

    source: Tokenizer
    size: int
    """The size of the vocabulary."""
    target: Tokenizer | None = None
    """For the target's text; None: the source's."""
    unknown: int | None = None
    """The id for text without a subword; None: no text is unknown."""
    source_end: bool = True
    """Whether a source ends with </s>."""


def describe(recipe: Recipe) -> ModelDescription:
    """Return the description of a trained model."""
    targets = (TargetLanguage(recipe.target_language),)
    return ModelDescription(recipe.name, recipe.source_languages, targets, recipe.network, recipe.max_tokens)


WEIGHTS, README = "weights.bin", "README.md"
DEVICES: dict[Precision, str] = {"int8": "cpu", "fp16": "cuda", "fp32": "any"}


def graph_file(kind: str, precision: str) -> str:
    """Return the name of a graph's file."""
    return f"{kind}.{precision}.onnx"


def graph_section(graphs: NetworkGraphs, precision: Precision) -> dict[str, Any]:
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
    files = {kind: graph_file(kind, precision) for kind in graphs.kinds}
    shortlist = {"shortlist": SHORTLIST_NAME} if graphs.output.arrays else {}
    return {"device": DEVICES[precision], **files, "memory": memory, "state": state, **shortlist}


_LATER = ("against", "gold")
"""Keys that older readers of ``align`` refuse; they are left out if they have no value."""


def align_of(model: ModelDescription, alignment: AlignmentHead | None) -> AlignmentHead:
    """Return the alignment head; without a measurement, the first head of the last layer."""
    size = attention_sizes(model.network)["cross"]
    assert size is not None
    return alignment or AlignmentHead(size["layers"] - 1, 0)


def manifest_document(
    model: ModelDescription,
    version: str,
    subwords: Subwords,
    graphs: dict[str, Any],
    alignment: AlignmentHead | None,
    decoding: DecodingDefaults,
) -> dict[str, Any]:
    """Return the manifest without ``files`` and ``card``."""
    sizes = attention_sizes(model.network)
    align = {name: value for name, value in asdict(align_of(model, alignment)).items() if name not in _LATER or value}
    document = {
        "name": model.name,
        "version": version,
        "architecture": model.network.kind,
        "special_ids": {"pad": PAD, "bos": BOS, "eos": EOS},
        "vocabulary_size": subwords.size,
        "limits": {"source_tokens": model.max_tokens, "target_tokens": model.max_tokens},
        "graphs": graphs,
        "attention": {**sizes, "align": align},
        "decoding": {name: value for name, value in asdict(decoding).items() if value is not None},
    }
    first = {"format_version": FORMAT_VERSION, "source_languages": list(model.source_languages)}
    return {**first, **document, **_if_needed(model, subwords)}


def _if_needed(model: ModelDescription, subwords: Subwords) -> dict[str, Any]:
    """Return the entries that depend on the model; ``targets`` stands in place of ``target_language``."""
    result: dict[str, Any] = {"target_language": model.targets[0].language}
    if len(model.targets) > 1 or model.targets[0] != TargetLanguage(model.targets[0].language):
        result = {"targets": [_target(target) for target in model.targets]}
    if model.source_prefixes:
        result["source_prefixes"] = {language: list(ids) for language, ids in model.source_prefixes.items()}
    if subwords.target is not None:
        result["target_tokenizer"] = TARGET_TOKENIZER_NAME
    if not subwords.source_end:
        result["source_end"] = False
    if subwords.unknown is not None:
        result["special_ids"] = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": subwords.unknown}
    return result


def _target(target: TargetLanguage) -> dict[str, Any]:
    begin = {"begin": list(target.begin)} if target.begin else {}
    return {"language": target.language, "prefix": list(target.prefix), **begin}


def next_version(output: Path) -> str:
    """Return the version after that of the bundle in ``output``; 1 if there is no bundle.

    Raises ValueError for a version that is not a whole number.
    """
    manifest = output / MANIFEST_NAME
    if not manifest.exists():
        return "1"
    before = str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
    if not before.isdecimal():
        raise ValueError(f"{output} has version {before!r}, which is not a whole number: give --version")
    return str(int(before) + 1)
