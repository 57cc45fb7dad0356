"""Converts the tensors of transformers' MarianMTModel to our Transformer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from training.export.parameters import StateArrays
from training.imports.errors import ImportRefused
from training.imports.tensors import TensorReader
from training.networks.transformer import sinusoidal_positions
from training.recipe import TransformerConfig

Tensors = dict[str, Tensor]

_ATTENTION = {"attention": "self_attn", "cross": "encoder_attn"}
_PARTS = {"query": ("q_proj",), "key_value": ("k_proj", "v_proj"), "output": ("out_proj",)}


def marian_state(
    config: TransformerConfig, tensors: Tensors, rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], where: str
) -> StateArrays:
    """Return our state dict; ``rows``: the checkpoint's row of every id, of the source and of the target.

    Raises ImportRefused when a tensor is missing, has another shape than the configuration says, or is left over.
    """
    kept = _refuse_learnt_positions(tensors, where)
    reader = TensorReader({name: tensor.numpy() for name, tensor in kept.items()}, where)
    state: StateArrays = {}
    for block, ours, theirs in _blocks(config):
        if block in _ATTENTION:
            for part, names in _PARTS.items():
                _linear(state, f"{ours}.{block}.{part}", reader, [f"{theirs}.{_ATTENTION[block]}.{n}" for n in names])
            _norm(state, f"{ours}.{block}_frame.norm", reader, f"{theirs}.{_ATTENTION[block]}_layer_norm")
        else:
            _linear(state, f"{ours}.feed_forward.inner", reader, [f"{theirs}.fc1"])
            _linear(state, f"{ours}.feed_forward.outer", reader, [f"{theirs}.fc2"])
            _norm(state, f"{ours}.feed_forward_frame.norm", reader, f"{theirs}.final_layer_norm")
    _embeddings(config, state, reader, rows)
    reader.refuse_rest()
    return state


def _blocks(config: TransformerConfig) -> Iterator[tuple[str, str, str]]:
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        blocks = ["attention", "cross", "feed_forward"] if side == "decoder" else ["attention", "feed_forward"]
        for i in range(layers):
            for block in blocks:
                yield block, f"{side}.{i}", f"model.{side}.layers.{i}"


def _refuse_learnt_positions(tensors: Tensors, where: str) -> Tensors:
    """Return the tensors without position tables, which must be the usual ones."""
    tables = {name: tensor for name, tensor in tensors.items() if name.endswith("embed_positions.weight")}
    for name, table in tables.items():
        if not torch.allclose(table, sinusoidal_positions(len(table), table.shape[1], "halves"), atol=1e-3):
            raise ImportRefused(f"{where}: {name} was learnt; sinusoidal positions can be imported")
    return {name: tensor for name, tensor in tensors.items() if name not in tables}


def _linear(state: StateArrays, to: str, reader: TensorReader, names: list[str]) -> None:
    for part in ("weight", "bias"):
        state[f"{to}.{part}"] = np.concatenate([reader.take(f"{name}.{part}") for name in names])


def _norm(state: StateArrays, to: str, reader: TensorReader, name: str) -> None:
    for part in ("weight", "bias"):
        state[f"{to}.{part}"] = reader.take(f"{name}.{part}")


def _embeddings(
    config: TransformerConfig,
    state: StateArrays,
    reader: TensorReader,
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
) -> None:
    source_rows, target_rows = rows
    encoder, decoder = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    if config.share_embeddings:
        table = reader.table("model.shared.weight", encoder, decoder, "lm_head.weight")
    else:
        table = reader.table(decoder, "lm_head.weight")
        state["source_embedding.weight"] = reader.table(encoder, "model.shared.weight")[source_rows]
    state["embedding.weight"] = table[target_rows]
    bias = reader.optional("final_logits_bias")
    state["output_bias"] = np.zeros(len(target_rows), np.float32) if bias is None else bias.reshape(-1)[target_rows]
