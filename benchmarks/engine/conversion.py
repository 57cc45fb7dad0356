"""Builds a CTranslate2 model from the arrays of one of our bundles, so that both run the same network.

The int8 weights of the bundle are expanded to float32; CTranslate2 quantises them again with its own method.
`python -m benchmarks.engine.conversion BUNDLE FOLDER`
"""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec
from torch import Tensor

from benchmarks.engine.ctranslate2_model import vocabulary
from training.export.dequantise import dequantise_bundle, read_recipe
from training.networks.transformer import sinusoidal_positions
from training.recipe import TransformerConfig

POSITIONS = 512
NEVER = -1e4
"""Bias of the tokens that our graphs never produce: padding and <s>."""


def convert(bundle: Path, folder: Path) -> None:
    """Write the CTranslate2 model of a Transformer bundle."""
    recipe, state = read_recipe(bundle), dequantise_bundle(bundle)
    config = recipe.network
    assert isinstance(config, TransformerConfig)
    pieces = vocabulary(bundle)
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers), config.heads, pre_norm=config.norm == "pre"
    )
    for side, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        for i, layer in enumerate(part.layer):
            _put_layer(layer, state, f"{side}.{i}", side == "decoder")
        part.position_encodings.encodings = sinusoidal_positions(POSITIONS, config.width).numpy()
        if config.norm == "pre":
            _put_norm(part.layer_norm, state, f"{side}_norm")
    table = state["embedding.weight"].numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.encoder.embeddings[0].multiply_by_sqrt_depth = spec.decoder.embeddings.multiply_by_sqrt_depth = np.float32(
        math.sqrt(config.width)
    )
    bias = state["output_bias"].numpy().copy()
    bias[:2] = NEVER
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, bias
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.unk_token = pieces[0]  # the vocabulary has no unknown token: bytes spell unknown text
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def _put_layer(layer: Any, state: dict[str, Tensor], name: str, crosses: bool) -> None:
    own = layer.self_attention
    _put_norm(own.layer_norm, state, f"{name}.attention_frame.norm")
    _put_joined(own.linear[0], state, f"{name}.attention.query", f"{name}.attention.key_value")
    _put_linear(own.linear[1], state, f"{name}.attention.output")
    if crosses:
        cross = layer.attention
        _put_norm(cross.layer_norm, state, f"{name}.cross_frame.norm")
        for linear, part in zip(cross.linear, ("query", "key_value", "output"), strict=True):
            _put_linear(linear, state, f"{name}.cross.{part}")
    _put_norm(layer.ffn.layer_norm, state, f"{name}.feed_forward_frame.norm")
    _put_linear(layer.ffn.linear_0, state, f"{name}.feed_forward.inner")
    _put_linear(layer.ffn.linear_1, state, f"{name}.feed_forward.outer")


def _put_norm(spec: Any, state: dict[str, Tensor], name: str) -> None:
    spec.gamma, spec.beta = state[f"{name}.weight"].numpy(), state[f"{name}.bias"].numpy()


def _put_linear(spec: Any, state: dict[str, Tensor], name: str) -> None:
    _put_joined(spec, state, name)


def _put_joined(spec: Any, state: dict[str, Tensor], *names: str) -> None:
    spec.weight = np.concatenate([state[f"{name}.weight"].numpy() for name in names])
    spec.bias = np.concatenate([state[f"{name}.bias"].numpy() for name in names])


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
