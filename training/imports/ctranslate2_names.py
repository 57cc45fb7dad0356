"""Converts the tensors of a CTranslate2 Transformer to ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from training.export.parameters import StateArrays
from training.imports.ctranslate2_file import ModelFile
from training.imports.tensors import Array, TensorReader
from training.imports.vocabulary import Vocabulary
from training.recipe import TransformerConfig


def ctranslate2_state(
    file: ModelFile, network: TransformerConfig, vocabularies: tuple[Vocabulary, Vocabulary], where: Path
) -> StateArrays:
    """Return our state dict; raises ImportRefused if a tensor is missing or left over."""
    kept = {name: array for name, array in file.weights.items() if "position_encodings" not in name}
    reader, state = TensorReader(kept, str(where)), StateArrays()
    for side, layers in (("encoder", network.encoder_layers), ("decoder", network.decoder_layers)):
        for i in range(layers):
            _layer(state, reader, side, i, network.width)
        if network.norm == "pre":
            _norm(state, f"{side}_norm", reader, f"{side}/layer_norm")
    tables = ("decoder/embeddings/weight", "decoder/projection/weight")
    encoders = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
    if network.share_embeddings:
        table = reader.table(*tables, *encoders)
    else:
        table = reader.table(*tables)
        state["source_embedding.weight"] = _with_zeros(reader.table(*encoders))[vocabularies[0].rows]
    state["embedding.weight"] = _with_zeros(table)[vocabularies[1].rows]
    bias = reader.optional("decoder/projection/bias")
    whole = np.zeros(len(table), np.float32) if bias is None else bias
    state["output_bias"] = np.append(whole, np.float32(0))[vocabularies[1].rows]
    reader.refuse_rest()
    return state


def _with_zeros(table: Array) -> Array:
    return np.concatenate([table, np.zeros((1, table.shape[1]), np.float32)])


def _layer(state: StateArrays, reader: TensorReader, side: str, number: int, width: int) -> None:
    ours, theirs = f"{side}.{number}", f"{side}/layer_{number}"
    joined = _linear(reader, f"{theirs}/self_attention/linear_0")
    for part, rows in (("query", slice(0, width)), ("key_value", slice(width, None))):
        for kind, array in joined.items():
            state[f"{ours}.attention.{part}.{kind}"] = array[rows]
    _put(state, f"{ours}.attention.output", _linear(reader, f"{theirs}/self_attention/linear_1"))
    _norm(state, f"{ours}.attention_frame.norm", reader, f"{theirs}/self_attention/layer_norm")
    if side == "decoder":
        for part, place in (("query", 0), ("key_value", 1), ("output", 2)):
            _put(state, f"{ours}.cross.{part}", _linear(reader, f"{theirs}/attention/linear_{place}"))
        _norm(state, f"{ours}.cross_frame.norm", reader, f"{theirs}/attention/layer_norm")
    _put(state, f"{ours}.feed_forward.inner", _linear(reader, f"{theirs}/ffn/linear_0"))
    _put(state, f"{ours}.feed_forward.outer", _linear(reader, f"{theirs}/ffn/linear_1"))
    _norm(state, f"{ours}.feed_forward_frame.norm", reader, f"{theirs}/ffn/layer_norm")


def _linear(reader: TensorReader, name: str) -> dict[str, Array]:
    """Return weight and bias; zeros where the model has no bias."""
    weight, bias = reader.take(f"{name}/weight"), reader.optional(f"{name}/bias")
    return {"weight": weight, "bias": np.zeros(len(weight), np.float32) if bias is None else bias}


def _put(state: StateArrays, name: str, arrays: Mapping[str, Array]) -> None:
    for kind, array in arrays.items():
        state[f"{name}.{kind}"] = array


def _norm(state: StateArrays, to: str, reader: TensorReader, name: str) -> None:
    state[f"{to}.weight"], state[f"{to}.bias"] = reader.take(f"{name}/gamma"), reader.take(f"{name}/beta")
