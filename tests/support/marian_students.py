"""Random students in the shape of Firefox's translation models: options, weights, and how weights become int8.

Sources: models is mozilla/firefox-translations-models, marian is marian-nmt/marian-dev, browsermt is
browsermt/marian-dev. The code is our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]
Options = Mapping[str, object]

END_BIAS = 1.8  # makes random students end a sentence now and then

# models/base-memory/ende/metadata.json; student_options sets what differs from size to size
_OPTIONS: dict[str, object] = {
    "bert-train-type-embeddings": True,
    "bert-type-vocab-size": 2,
    "dec-cell": "ssru",
    "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1,
    "dim-rnn": 1024,
    "enc-cell": "gru",
    "enc-cell-depth": 1,
    "enc-type": "bidirectional",
    "factors-combine": "sum",
    "factors-dim-emb": 0,
    "input-types": [],
    "layer-normalization": False,
    "lemma-dependency": "",
    "lemma-dim-emb": 0,
    "output-omit-bias": False,
    "right-left": False,
    "skip": False,
    "tied-embeddings-src": False,
    "transformer-aan-activation": "swish",
    "transformer-aan-depth": 2,
    "transformer-aan-nogate": False,
    "transformer-decoder-autoreg": "rnn",
    "transformer-decoder-dim-ffn": 0,
    "transformer-decoder-ffn-depth": 0,
    "transformer-dim-aan": 2048,
    "transformer-ffn-activation": "relu",
    "transformer-ffn-depth": 2,
    "transformer-guided-alignment-layer": "last",
    "transformer-no-affine": False,
    "transformer-no-bias": False,
    "transformer-no-projection": False,
    "transformer-pool": False,
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-preprocess": "",
    "transformer-rnn-projection": False,
    "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False,
    "type": "transformer",
    "ulr": False,
    "ulr-dim-emb": 0,
    "ulr-trainable-transformation": False,
    "version": "v1.12.14 2d067af 2024-02-16 11:44:13 -0500",
}


@dataclass(frozen=True)
class Student:
    """A model: weights by name, options by name, and the multipliers of the activations if it is to be int8."""

    weights: Weights
    options: Options
    alphas: Mapping[str, float] | None = None


def student_options(
    *,
    vocabularies: tuple[int, ...] = (32000,),
    width: int = 256,
    feed_forward: int = 1536,
    layers: tuple[int, int] = (6, 2),
    heads: int = 8,
    **changes: object,
) -> dict[str, object]:
    """Return the options of a student, "tiny" unless told otherwise; two vocabularies untie the source embedding."""
    sizes: dict[str, object] = {
        "dim-vocabs": [vocabularies[0], vocabularies[-1]],
        "dim-emb": width,
        "transformer-dim-ffn": feed_forward,
        "enc-depth": layers[0],
        "dec-depth": layers[1],
        "transformer-heads": heads,
        "tied-embeddings": len(vocabularies) == 2,
        "tied-embeddings-all": len(vocabularies) == 1,
    }
    return {**_OPTIONS, **sizes, **{name.replace("_", "-"): value for name, value in changes.items()}}


def number(options: Options, name: str) -> int:
    """Return a whole number of the options."""
    value = options[name]
    assert isinstance(value, int)
    return value


def vocabulary_sizes(options: Options) -> tuple[int, int]:
    """Return the sizes of the source and the target vocabulary."""
    sizes = options["dim-vocabs"]
    assert isinstance(sizes, list)
    return sizes[0], sizes[1]


def embeddings(options: Options) -> tuple[str, str]:
    """Return the names of the source and the target embeddings; the target's are the output layer, too."""
    return ("Wemb", "Wemb") if options["tied-embeddings-all"] else ("encoder_Wemb", "decoder_Wemb")


def random_student(options: Options, seed: int = 0) -> Student:
    """Return a student whose weights neither die out nor explode and which ends most sentences."""
    generator = np.random.default_rng(seed)
    shapes = sorted(weight_shapes(options).items())
    return Student({name: _random_weight(name, shape, generator) for name, shape in shapes}, options)


def quantised(array: NDArray[np.float32]) -> tuple[NDArray[np.int8], np.float32]:
    """Return an array's int8 values and their multiplier, 127 over the largest magnitude."""
    multiplier = np.float32(127) / np.abs(array).max()
    return np.clip(np.rint(array * multiplier), -127, 127).astype(np.int8), multiplier


def is_product(name: str) -> bool:
    """Tell a matrix that is stored as int8 by its name, as Marian does: "_W" and at most one letter, or "Wemb"."""
    return "Wemb" in name or 2 <= len(name) - name.find("_W") <= 3


def weight_shapes(options: Options) -> dict[str, tuple[int, int]]:
    """Return the shape of every weight by its name in the file (marian src/models/transformer.h)."""
    width, inner = number(options, "dim-emb"), number(options, "transformer-dim-ffn")
    square, row = (width, width), (1, width)
    norm = {"ln_scale": row, "ln_bias": row}
    attention = {f"W{part}": square for part in "qkvo"} | {f"b{part}": row for part in "qkvo"}
    attention |= {f"Wo_{part}": shape for part, shape in norm.items()}
    recurrent = {"W": square, "Wf": square, "bf": row} | {f"ffn_{part}": row for part in norm}
    forward = {"W1": (width, inner), "b1": (1, inner), "W2": (inner, width), "b2": row}
    forward |= {f"ffn_{part}": row for part in norm}
    sides = {"encoder": {"self": attention, "ffn": forward}}
    sides["decoder"] = {"rnn": recurrent, "context": attention, "ffn": forward}
    sizes = vocabulary_sizes(options)
    return {
        **{name: (size, width) for name, size in zip(embeddings(options), sizes, strict=True)},
        "decoder_ff_logit_out_b": (1, sizes[1]),
        **{
            f"{side}_l{layer}_{block}_{name}": shape
            for side, blocks in sides.items()
            for layer in range(1, number(options, f"{side[:3]}-depth") + 1)
            for block, shapes in blocks.items()
            for name, shape in shapes.items()
        },
    }


def _random_weight(name: str, shape: tuple[int, int], generator: np.random.Generator) -> NDArray[np.float32]:
    """Return one weight: chosen for sharp attention and varied output."""
    weight = generator.standard_normal(shape)
    if name.endswith("ln_scale"):
        weight = np.sign(weight) * (1 + 0.1 * weight)  # signs keep an input from making itself the output
    elif is_product(name):
        weight /= np.sqrt(shape[1] if "Wemb" in name else shape[0])
        weight *= 4 if name.endswith(("Wq", "Wk")) else 2 if name.endswith(("Wv", "Wo", "W2", "rnn_W")) else 1
    else:
        weight *= 0.1
    if name == "decoder_ff_logit_out_b":
        weight[0, 0] = END_BIAS
    return weight.astype(np.float32)
