"""The network of Firefox's translation models, in our parameters.

It is Marian's (``transformer.h``, ``cells.h``): post-norm, Marian's positions, a decoder of recurrent units, a zero
embedding in front of the target, and guided alignment in the first head of one layer.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from training.export.intgemm import Intgemm
from training.export.layouts import EMBEDDING, SOURCE_EMBEDDING, embedding_scale, layout_of
from training.export.parameters import Floats, StateArrays
from training.imports.files import ImportRefused
from training.imports.firefox_file import MarianFile
from training.imports.tensors import Array, BlockNames, Rows, TensorReader, layers_of, our_network, put_embeddings
from training.recipe import TransformerConfig

AnyNumber = TypeVar("AnyNumber")
_EPSILON = 1e-6
_REQUIRED = {
    "type": ("transformer",), "transformer-decoder-autoreg": ("rnn",), "dec-cell": ("ssru",),
    "transformer-preprocess": ("",), "transformer-postprocess": ("dan",), "transformer-postprocess-emb": ("d", ""),
    "transformer-ffn-activation": ("relu", "swish"), "transformer-ffn-depth": (2,),
}  # fmt: skip
_AS_ENCODER = {
    "transformer-decoder-dim-ffn": "transformer-dim-ffn", "transformer-decoder-ffn-depth": "transformer-ffn-depth",
}  # fmt: skip
_SIZES = {
    "encoder_layers": "enc-depth", "decoder_layers": "dec-depth", "width": "dim-emb", "heads": "transformer-heads",
    "feed_forward": "transformer-dim-ffn",
}  # fmt: skip
_READ = {*_SIZES.values(), "tied-embeddings", "tied-embeddings-all", "transformer-guided-alignment-layer"}
_WITHOUT_EFFECT = {
    "version", "bert-train-type-embeddings", "bert-type-vocab-size", "char-highway", "char-stride",
    "dec-cell-base-depth", "dec-cell-high-depth", "dim-rnn", "dim-vocabs", "enc-cell", "enc-cell-depth", "enc-type",
    "factors-combine", "transformer-aan-activation", "transformer-aan-depth", "transformer-depth-scaling",
    "transformer-dim-aan",
}  # fmt: skip
"""Options of networks that these are not, which Marian writes all the same; the tables say how large they are."""


def network_of(file: MarianFile, where: Path) -> TransformerConfig:
    """Return our network's configuration; raises ImportRefused for what our Transformer is not."""
    options = file.options
    for name, accepted in _REQUIRED.items():
        if options.get(name) not in accepted:
            choices = " or ".join(map(repr, accepted))
            raise ImportRefused(f"{where}: {name} is {options.get(name)!r}; {choices} can be imported")
    for name, counterpart in _AS_ENCODER.items():
        if options.get(name, 0) not in (0, options.get(counterpart)):
            raise ImportRefused(f"{where}: {name} is {options[name]!r}; 0, as in the encoder, can be imported")
    for name, value in options.items():
        if value and name not in {*_REQUIRED, *_READ, *_AS_ENCODER, *_WITHOUT_EFFECT}:
            raise ImportRefused(f"{where}: it uses {name} ({value!r}), which our Transformer does not have")
    shared = bool(options.get("tied-embeddings-all"))
    if not shared and not options.get("tied-embeddings"):
        raise ImportRefused(f"{where}: tied-embeddings is false; an output layer tied to the target's can be imported")
    for name in table_names(shared):
        if name not in file.tensors:
            raise ImportRefused(f"{where}: the tensor {name} is missing from the network")
    sizes = {ours: options.get(theirs) for ours, theirs in _SIZES.items()}
    kept = {"activation": options["transformer-ffn-activation"], "share_embeddings": shared}
    return our_network({**sizes, **kept, "norm_epsilon": _EPSILON, "positions": "marian", "decoder": "ssru"}, where)


def table_names(shared: bool) -> tuple[str, str]:
    """Return the file's names of the tables of source and target, which may be one."""
    return ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")


def with_two_tables(file: MarianFile) -> MarianFile:
    """Return a file in which each side has its table, also if one table holds the rows of two vocabularies."""
    if "Wemb" not in file.tensors:
        return file

    def each(numbers: Mapping[str, AnyNumber]) -> dict[str, AnyNumber]:
        names = {name: table_names(shared=False) if name == "Wemb" else (name,) for name in numbers}
        return {new: numbers[name] for name, several in names.items() for new in several}

    options = {**file.options, "tied-embeddings-all": False, "tied-embeddings": True}
    return MarianFile(options, each(file.tensors), each(file.weights), each(file.activations))


def aligning_layer(options: Mapping[str, Any], network: TransformerConfig, where: Path) -> int:
    """Return the layer, from 0, whose first head was guided."""
    layer = options.get("transformer-guided-alignment-layer", "last")
    if layer == "last":
        return network.decoder_layers - 1
    if not str(layer).isdecimal() or not 1 <= int(layer) <= network.decoder_layers:
        raise ImportRefused(
            f"{where}: transformer-guided-alignment-layer is {layer!r}; 'last' or 1 to {network.decoder_layers} can be "
            "imported"
        )
    return int(layer) - 1


def firefox_state(file: MarianFile, network: TransformerConfig, rows: Rows, where: Path) -> StateArrays:
    """Return our state dict; raises ImportRefused if a tensor is missing, of another shape, or left over."""
    reader = _Tensors(file.tensors, where)
    state, width = layers_of(network, reader, _names), network.width
    for number in range(network.decoder_layers):
        candidate = reader.matrix(f"decoder_l{number + 1}_rnn_W", width, width)
        state[f"decoder.{number}.ssru.candidate.weight"] = candidate
    tables = dict.fromkeys(reversed(table_names(network.share_embeddings)))
    put_embeddings(state, width, rows, reader, [[name] for name in tables], "decoder_ff_logit_out_b")
    reader.refuse_rest()
    return state


def firefox_multipliers(file: MarianFile, network: TransformerConfig, rows: Rows, where: Path) -> Intgemm:
    """Return the multipliers of the file's integers, and of the activations that they are multiplied by."""
    source, target = table_names(network.share_embeddings)
    weights = _of_columns(file.weights, file, network, rows, where)
    for ours, theirs, row in ((EMBEDDING, target, rows[1]), (SOURCE_EMBEDDING, source, rows[0])):
        if theirs in file.weights:
            scaled = np.float32(file.weights[theirs]) / np.float32(embedding_scale(network))
            weights[ours] = np.full(len(row), scaled)
    inputs = _of_columns(file.activations, file, network, rows, where)
    activations = {name: columns[0] for name, columns in inputs.items() if np.ptp(columns) == 0}
    if (output := file.activations.get("none", file.activations.get(target))) is not None:
        activations[EMBEDDING] = np.float32(output)
    return Intgemm(weights, activations)


def _of_columns(
    numbers: Mapping[str, float], file: MarianFile, network: TransformerConfig, rows: Rows, where: Path
) -> dict[str, Floats]:
    """Return a number of each tensor for the columns of our matrices, which hold several tensors; none if one lacks."""
    tensors = {name: np.full_like(array, numbers.get(name, np.nan)) for name, array in file.tensors.items()}
    state = firefox_state(replace(file, tensors=tensors), network, rows, where)
    columns = {name: matrix.weight[0] for name, matrix in layout_of(network).parameters(state).matrices.items()}
    return {name: scale for name, scale in columns.items() if np.isfinite(scale).all()}


class _Tensors(TensorReader):
    linear_parts, norm_parts = ("W", "b"), ("scale", "bias")

    def matrix(self, name: str, outputs: int, inputs: int) -> Array:
        """Return a matrix, which Marian stores as [inputs, outputs]."""
        return np.ascontiguousarray(self.take(name, (inputs, outputs)).T)

    def vector(self, name: str, size: int) -> Array:
        """Return a vector, which Marian stores as [1, size]."""
        return self.take(name, (1, size), (size,)).reshape(-1)


def _names(side: str, number: int, block: str) -> BlockNames:
    layer = f"{side}_l{number + 1}"
    if block == "ssru":
        return BlockNames({"forget": [f"{layer}_rnn_{{}}f"]}, f"{layer}_rnn_ffn_ln_{{}}")
    if block == "feed_forward":
        return BlockNames(
            {"inner": [f"{layer}_ffn_{{}}1"], "outer": [f"{layer}_ffn_{{}}2"]}, f"{layer}_ffn_ffn_ln_{{}}"
        )
    name = f"{layer}_{'self' if block == 'attention' else 'context'}"
    parts = {"query": "q", "key_value": "kv", "output": "o"}
    return BlockNames({ours: [f"{name}_{{}}{letter}" for letter in letters] for ours, letters in parts.items()},
                      f"{name}_Wo_ln_{{}}")  # fmt: skip
