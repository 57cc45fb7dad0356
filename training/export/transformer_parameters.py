"""Converts the parameters of the Transformer to the layout of its graphs, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from service.bundle.vocabulary import BOS, PAD
from training.export.parameters import (
    OUTPUT_BIAS,
    POSITIONS,
    Matrix,
    Parameters,
    StateArrays,
    joined,
    linear,
    put_linear,
    suppressed_bias,
)
from training.networks.transformer import sinusoidal_positions
from training.recipe import TransformerConfig

EMBEDDING = "embedding"
SOURCE_EMBEDDING = "source.embedding"
"""The source's own table, if it has one."""


def embedding_scale(config: TransformerConfig) -> float:
    """Return the factor of embeddings: √d (section 3.4) or 1."""
    return math.sqrt(config.width) if config.scale_embedding else 1.0


def norm_names(config: TransformerConfig, side: str) -> list[str]:
    """Return the LayerNorms of ``encoder`` or ``decoder`` in the order of computation."""
    layers = config.encoder_layers if side == "encoder" else config.decoder_layers
    between = ["cross_frame"] if side == "decoder" else []
    frames = ["attention_frame", *between, "feed_forward_frame"]
    names = [f"{side}.{i}.{frame}.norm" for i in range(layers) for frame in frames]
    return [*names, f"{side}_norm"] if config.norm == "pre" else names


def _blocks(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of every block with matrices."""
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for i in range(layers):
            yield "self", f"{side}.{i}.attention"
            if side == "decoder":
                yield "cross", f"{side}.{i}.cross"
            yield "feed_forward", f"{side}.{i}.feed_forward"


def transformer_parameters(config: TransformerConfig, state: StateArrays, positions: int) -> Parameters:
    """Return the parameters in the layout of the graphs: one matrix for q, k and v, embeddings times √d (section 3.4).

    ``positions``: the number of rows of the position table.
    """
    result = Parameters()
    for kind, name in _blocks(config):
        if kind == "self":
            result.matrices[f"{name}.qkv"] = joined(linear(state, f"{name}.query"), linear(state, f"{name}.key_value"))
            result.matrices[f"{name}.output"] = linear(state, f"{name}.output")
        elif kind == "cross":
            for part in ("query", "key_value", "output"):
                result.matrices[f"{name}.{part}"] = linear(state, f"{name}.{part}")
        else:
            for part in ("inner", "outer"):
                result.matrices[f"{name}.{part}"] = linear(state, f"{name}.{part}")
    for norm in norm_names(config, "encoder") + norm_names(config, "decoder"):
        for part in ("weight", "bias"):
            result.vectors[f"{norm}.{part}"] = state[f"{norm}.{part}"]
    scale = np.float32(embedding_scale(config))
    result.tables[EMBEDDING] = state["embedding.weight"] * scale
    if not config.share_embeddings:
        result.tables[SOURCE_EMBEDDING] = state["source_embedding.weight"] * scale
    result.vectors[OUTPUT_BIAS] = suppressed_bias(state["output_bias"], (PAD, BOS))
    result.vectors[POSITIONS] = sinusoidal_positions(positions, config.width, config.positions).numpy()
    return result


def transformer_state(config: TransformerConfig, parameters: Parameters) -> StateArrays:
    """Return the inverse of ``transformer_parameters``; the biases of suppressed tokens become zero."""
    state: StateArrays = {}
    width = config.width
    for kind, name in _blocks(config):
        if kind == "self":
            qkv: Matrix = parameters.matrices[f"{name}.qkv"]
            put_linear(state, f"{name}.query", qkv, slice(0, width))
            put_linear(state, f"{name}.key_value", qkv, slice(width, None))
            put_linear(state, f"{name}.output", parameters.matrices[f"{name}.output"])
        else:
            for part in ("query", "key_value", "output") if kind == "cross" else ("inner", "outer"):
                put_linear(state, f"{name}.{part}", parameters.matrices[f"{name}.{part}"])
    for norm in norm_names(config, "encoder") + norm_names(config, "decoder"):
        for part in ("weight", "bias"):
            state[f"{norm}.{part}"] = parameters.vectors[f"{norm}.{part}"]
    scale = np.float32(embedding_scale(config))
    state["embedding.weight"] = parameters.tables[EMBEDDING] / scale
    if not config.share_embeddings:
        state["source_embedding.weight"] = parameters.tables[SOURCE_EMBEDDING] / scale
    bias = parameters.vectors[OUTPUT_BIAS].copy()
    bias[[PAD, BOS]] = 0
    state["output_bias"] = bias
    return state
