"""Where each tensor of transformers' MarianMTModel goes in our Transformer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from training.export.parameters import StateArrays
from training.imports.errors import ImportRefused
from training.networks.transformer import sinusoidal_positions
from training.recipe import TransformerConfig

Tensors = dict[str, Tensor]

_ATTENTION = {"attention": "self_attn", "cross": "encoder_attn"}


def marian_state(
    config: TransformerConfig, tensors: Tensors, rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], where: str
) -> StateArrays:
    """Return our state dict; ``rows``: the checkpoint's row of every id, of the source and of the target.

    Raises ImportRefused when a tensor is missing, has another shape than the configuration says, or is left over.
    """
    reader = _Reader(tensors, where)
    state: StateArrays = {}
    for side, block, ours, theirs in _blocks(config):
        joined = {"key_value": ("k_proj", "v_proj")} | {"query": ("q_proj",), "output": ("out_proj",)}
        if block in _ATTENTION:
            for part, names in joined.items():
                _linear(state, f"{ours}.{block}.{part}", reader, [f"{theirs}.{_ATTENTION[block]}.{n}" for n in names])
            _norm(state, f"{ours}.{block}_frame.norm", reader, f"{theirs}.{_ATTENTION[block]}_layer_norm")
        else:
            _linear(state, f"{ours}.feed_forward.inner", reader, [f"{theirs}.fc1"])
            _linear(state, f"{ours}.feed_forward.outer", reader, [f"{theirs}.fc2"])
            _norm(state, f"{ours}.feed_forward_frame.norm", reader, f"{theirs}.final_layer_norm")
        assert side
    _embeddings(config, state, reader, rows)
    reader.refuse_rest(config)
    return state


def _blocks(config: TransformerConfig) -> Iterator[tuple[str, str, str, str]]:
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        blocks = ["attention", "cross", "feed_forward"] if side == "decoder" else ["attention", "feed_forward"]
        for i in range(layers):
            for block in blocks:
                yield side, block, f"{side}.{i}", f"model.{side}.layers.{i}"


class _Reader:
    """Takes tensors out of a checkpoint, each once."""

    def __init__(self, tensors: Tensors, where: str) -> None:
        self._tensors, self._where = dict(tensors), where

    def take(self, name: str) -> npt.NDArray[np.float32]:
        """Take a tensor out; raises ImportRefused when it is missing."""
        tensor = self._tensors.pop(name, None)
        if tensor is None:
            raise ImportRefused(f"{self._where}: the tensor {name} is missing, so it is no MarianMT checkpoint")
        return tensor.numpy()

    def optional(self, name: str) -> npt.NDArray[np.float32] | None:
        """Take a tensor out if it is there."""
        return self.take(name) if name in self._tensors else None

    def table(self, *names: str) -> npt.NDArray[np.float32]:
        """Take out all copies of one table, which must be equal."""
        found = {name: array for name in names if (array := self.optional(name)) is not None}
        if not found:
            raise ImportRefused(f"{self._where}: the tensor {names[0]} is missing, so it is no MarianMT checkpoint")
        first, *others = found
        for other in others:
            if not np.array_equal(found[first], found[other]):
                raise ImportRefused(
                    f"{self._where}: {first} and {other} differ; models whose output layer is tied to the target's "
                    "embeddings can be imported"
                )
        return found[first]

    def refuse_rest(self, config: TransformerConfig) -> None:
        """Raise ImportRefused for what nothing has been done with; position tables must be the usual ones."""
        for name in [name for name in self._tensors if name.endswith("embed_positions.weight")]:
            table = self._tensors.pop(name)
            if not torch.allclose(table, sinusoidal_positions(len(table), table.shape[1], "halves"), atol=1e-3):
                raise ImportRefused(f"{self._where}: {name} was learnt; sinusoidal positions can be imported")
        if self._tensors:
            some = ", ".join(sorted(self._tensors)[:3])
            raise ImportRefused(
                f"{self._where}: {len(self._tensors)} tensors have no place in the network of {config.encoder_layers} "
                f"and {config.decoder_layers} layers that config.json describes, {some} among them"
            )


def _linear(state: StateArrays, to: str, reader: _Reader, names: list[str]) -> None:
    for part in ("weight", "bias"):
        state[f"{to}.{part}"] = np.concatenate([reader.take(f"{name}.{part}") for name in names])


def _norm(state: StateArrays, to: str, reader: _Reader, name: str) -> None:
    for part in ("weight", "bias"):
        state[f"{to}.{part}"] = reader.take(f"{name}.{part}")


def _embeddings(
    config: TransformerConfig,
    state: StateArrays,
    reader: _Reader,
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
