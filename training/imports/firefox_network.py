"""The network of Firefox's translation models, in our parameters.

It is Marian's (``transformer.h``, ``cells.h``): post-norm, Marian's positions, a decoder of recurrent units, a zero
embedding in front of the target, and guided alignment in the first head of one layer.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from training.export.parameters import StateArrays
from training.imports.files import ImportRefused
from training.imports.firefox_file import MarianFile
from training.imports.tensors import Array, TensorReader
from training.imports.vocabulary import Vocabulary
from training.recipe import RecipeError, TransformerConfig, transformer_config

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
            known = " or ".join(map(repr, accepted))
            raise ImportRefused(f"{where}: {name} is {options.get(name)!r}; {known} can be imported")
    for name, other in _AS_ENCODER.items():
        if options.get(name, 0) not in (0, options.get(other)):
            raise ImportRefused(f"{where}: {name} is {options[name]!r}; 0, as in the encoder, can be imported")
    for name, value in options.items():
        if value and name not in {*_REQUIRED, *_READ, *_AS_ENCODER, *_WITHOUT_EFFECT}:
            raise ImportRefused(f"{where}: it uses {name} ({value!r}), which our Transformer does not have")
    shared = bool(options.get("tied-embeddings-all"))
    if not shared and not options.get("tied-embeddings"):
        raise ImportRefused(f"{where}: tied-embeddings is false; an output layer tied to the target's can be imported")
    missing = [name for name in (["Wemb"] if shared else ["encoder_Wemb", "decoder_Wemb"]) if name not in file.tensors]
    if missing:
        raise ImportRefused(f"{where}: the tensor {missing[0]} is missing from the network")
    try:
        return transformer_config(
            {ours: options.get(theirs) for ours, theirs in _SIZES.items()}
            | {"activation": options["transformer-ffn-activation"], "norm_epsilon": _EPSILON, "positions": "marian",
               "share_embeddings": shared, "decoder": "ssru"},
            str(where),
        )  # fmt: skip
    except RecipeError as error:
        raise ImportRefused(str(error)) from error


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


def firefox_state(
    file: MarianFile, network: TransformerConfig, vocabularies: tuple[Vocabulary, Vocabulary], where: Path
) -> StateArrays:
    """Return our state dict; raises ImportRefused if a tensor is missing, of another shape, or left over."""
    tensors, state, width = _Tensors(file.tensors, str(where)), StateArrays(), network.width
    for side, layers in (("encoder", network.encoder_layers), ("decoder", network.decoder_layers)):
        for i in range(layers):
            ours, theirs = f"{side}.{i}", f"{side}_l{i + 1}"
            if side == "decoder":
                state[f"{ours}.ssru.candidate.weight"] = tensors.matrix(f"{theirs}_rnn_W", width, width)
                _linear(state, f"{ours}.ssru.forget", tensors, [f"{theirs}_rnn_?f"], (width, width))
                _norm(state, f"{ours}.ssru_frame.norm", tensors, f"{theirs}_rnn_ffn_ln", width)
            block = "cross" if side == "decoder" else "attention"
            name = f"{theirs}_{'context' if side == 'decoder' else 'self'}"
            for part, letters in (("query", "q"), ("key_value", "kv"), ("output", "o")):
                _linear(state, f"{ours}.{block}.{part}", tensors, [f"{name}_?{letter}" for letter in letters],
                        (width, width))  # fmt: skip
            _norm(state, f"{ours}.{block}_frame.norm", tensors, f"{name}_Wo_ln", width)
            inner = network.feed_forward
            _linear(state, f"{ours}.feed_forward.inner", tensors, [f"{theirs}_ffn_?1"], (width, inner))
            _linear(state, f"{ours}.feed_forward.outer", tensors, [f"{theirs}_ffn_?2"], (inner, width))
            _norm(state, f"{ours}.feed_forward_frame.norm", tensors, f"{theirs}_ffn_ffn_ln", width)
    source, target = (each.rows for each in vocabularies)
    if not network.share_embeddings:
        state["source_embedding.weight"] = tensors.embeddings("encoder_Wemb", width)[source]
    table = tensors.embeddings("Wemb" if network.share_embeddings else "decoder_Wemb", width)
    state["embedding.weight"] = table[target]
    bias = tensors.vector("decoder_ff_logit_out_b", len(table) - 1)
    state["output_bias"] = np.append(bias, np.float32(0))[target]
    tensors.refuse_rest()
    return state


class _Tensors(TensorReader):
    """The tensors of a model that have not been read yet, with the shapes that they must have."""

    def matrix(self, name: str, inputs: int, outputs: int) -> Array:
        """Return a matrix as [outputs, inputs]."""
        return np.ascontiguousarray(self._shaped(name, (inputs, outputs)).T)

    def vector(self, name: str, size: int) -> Array:
        """Return a vector, which Marian stores as [1, size]."""
        return self._shaped(name, (1, size)).reshape(-1)

    def embeddings(self, name: str, width: int) -> Array:
        """Return embeddings and a row of zeros after them."""
        found = self.take(name)
        if found.ndim != 2 or found.shape[1] != width:
            self._refuse(name, found, f"(…, {width})")
        return np.concatenate([found, np.zeros((1, width), np.float32)])

    def _shaped(self, name: str, shape: tuple[int, int]) -> Array:
        found = self.take(name)
        if found.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
            self._refuse(name, found, str(shape))
        return found

    def _refuse(self, name: str, found: Array, wanted: str) -> NoReturn:
        raise ImportRefused(f"{self._where}: {name} has the shape {found.shape}; {wanted} is needed")


def _linear(state: StateArrays, to: str, tensors: _Tensors, names: Sequence[str], sizes: tuple[int, int]) -> None:
    """Put linear maps of one input side by side; ``?`` in a name is W for the weight and b for the bias."""
    state[f"{to}.weight"] = np.concatenate([tensors.matrix(name.replace("?", "W"), *sizes) for name in names])
    state[f"{to}.bias"] = np.concatenate([tensors.vector(name.replace("?", "b"), sizes[1]) for name in names])


def _norm(state: StateArrays, to: str, tensors: _Tensors, name: str, width: int) -> None:
    state[f"{to}.weight"], state[f"{to}.bias"] = (tensors.vector(f"{name}_{part}", width) for part in ("scale", "bias"))
